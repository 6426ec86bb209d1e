//! Bulk answers for programs in trees of this machine: a library that is loaded into them, and
//! who answers it.
//!
//! Invariant: a command that cannot have this runs without, and the user is told why.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use trawl_bulk::{Config, Running, Service};

use crate::output::say;

/// The library where `make install` puts it, from the program's directory, and where cargo does.
const LIBRARIES: [&str; 2] = ["../lib/trawl/libtrawl-preload.so", "libtrawl_preload.so"];

/// What answers programs, until it is dropped.
pub(super) struct Preload {
    running: Running,
    library: PathBuf,
}

impl Preload {
    /// Begins to answer for what lies below these directories; `None` where that cannot be.
    pub(super) fn start(directories: &[PathBuf], max_age: Duration) -> Option<Preload> {
        let without = |why: &dyn std::fmt::Display| {
            say(format_args!("{why}: the command runs without tables"));
        };
        let Some(library) = library() else {
            without(&"libtrawl-preload.so is not where trawl is");
            return None;
        };
        match start(directories, max_age) {
            Ok(running) => Some(Preload { running, library }),
            Err(error) => {
                without(&error);
                None
            }
        }
    }

    /// Lets a command, and all that it runs, ask.
    pub(super) fn lend_to(&self, command: &mut Command) {
        let (name, value) = Running::preload(&self.library);
        command.envs(self.running.environment()).env(name, value);
    }
}

fn start(directories: &[PathBuf], max_age: Duration) -> Result<Running, String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let directories = match directories {
        [] => vec![std::env::current_dir().map_err(|error| words(&error))?],
        some => some.to_vec(),
    };
    let mut config = Config::local(directories);
    config.age = config.age.min(max_age);
    let running = Service::start(config).map_err(|error| words(&error))?;
    // What the command writes there it writes to a file that it did not open itself.
    let (input, output, errors) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let lent: [BorrowedFd<'_>; 3] = [input.as_fd(), output.as_fd(), errors.as_fd()];
    for file in lent {
        // One that is closed is written to by nobody.
        let _ = running.written(file);
    }
    Ok(running)
}

fn library() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let beside = program.parent()?;
    let places = LIBRARIES.map(|name| beside.join(name));
    let found = places.into_iter().find(|place| is_readable(place))?;
    // A loader splits at spaces and colons, and relative parts mean nothing to it.
    let found = found.canonicalize().ok()?;
    let is_plain = |text: &str| !text.contains([' ', ':']);
    found.to_str().is_some_and(is_plain).then_some(found)
}

fn is_readable(place: &Path) -> bool {
    File::open(place).is_ok_and(|file| file.metadata().is_ok_and(|meta| meta.is_file()))
}
