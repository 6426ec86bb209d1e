//! Bulk answers for programs in trees of this machine: a library that is loaded into them, and
//! who answers it.
//!
//! Invariant: a command that cannot have this runs without, and the user is told why.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use trawl_bulk::{Config, Haste, Running, Service};

use crate::output::say;

/// The library where `make install` puts it, from the program's directory, and where cargo does.
const LIBRARIES: [&str; 2] = ["../lib/trawl/libtrawl-preload.so", "libtrawl_preload.so"];
/// The one for the loader.
const AUDIT_LIBRARIES: [&str; 2] = ["../lib/trawl/libtrawl-audit.so", "libtrawl_audit.so"];

/// From so many directories in `LD_LIBRARY_PATH` on the loader is answered without being told to:
/// with fewer its own search is as fast.
const AUDIT_DIRECTORIES: usize = 32;

/// What is asked of this besides the directories.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wishes {
    /// How old an answer may be at most.
    pub(super) max_age: Duration,
    /// When programs ask.
    pub(super) haste: Haste,
    /// Whether the loader is to be answered in any case.
    pub(super) is_audited: bool,
}

/// What answers programs, until it is dropped.
pub(super) struct Preload {
    running: Running,
    library: PathBuf,
    /// What answers the loader.
    audit: Option<PathBuf>,
}

impl Preload {
    /// Begins to answer for what lies below these directories; `None` where that cannot be.
    pub(super) fn start(directories: &[PathBuf], wishes: Wishes) -> Option<Preload> {
        let without = |why: &dyn std::fmt::Display| {
            say(format_args!("{why}: the command runs without tables"));
        };
        let Some(library) = library(&LIBRARIES) else {
            without(&"libtrawl-preload.so is not where trawl is");
            return None;
        };
        let audit = library_for_loader(wishes);
        match start(directories, wishes) {
            Ok(running) => Some(Preload {
                running,
                library,
                audit,
            }),
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
        if let Some(audit) = &self.audit {
            let (name, value) = Running::audit(audit);
            command.env(name, value);
        }
    }
}

fn start(directories: &[PathBuf], wishes: Wishes) -> Result<Running, String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let directories = match directories {
        [] => vec![std::env::current_dir().map_err(|error| words(&error))?],
        some => some.to_vec(),
    };
    let mut config = Config::local(directories);
    config.age = config.age.min(wishes.max_age);
    config.haste = wishes.haste;
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

/// The library that answers the loader, if it is wanted.
fn library_for_loader(wishes: Wishes) -> Option<PathBuf> {
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let directories = std::env::split_paths(&path).count();
    if !wishes.is_audited && directories < AUDIT_DIRECTORIES {
        return None;
    }
    let library = library(&AUDIT_LIBRARIES);
    if library.is_none() && wishes.is_audited {
        say("libtrawl-audit.so is not where trawl is: the loader looks for libraries itself");
    }
    library
}

fn library(names: &[&str; 2]) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let beside = program.parent()?;
    let places = names.map(|name| beside.join(name));
    let found = places.into_iter().find(|place| is_readable(place))?;
    // A loader splits at spaces and colons, and relative parts mean nothing to it.
    let found = found.canonicalize().ok()?;
    let is_plain = |text: &str| !text.contains([' ', ':']);
    found.to_str().is_some_and(is_plain).then_some(found)
}

fn is_readable(place: &Path) -> bool {
    File::open(place).is_ok_and(|file| file.metadata().is_ok_and(|meta| meta.is_file()))
}
