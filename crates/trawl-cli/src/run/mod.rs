//! `trawl run`, `trawl mount`, `trawl unmount`: trees of other machines, and bulk answers, for
//! programs that know of neither.
//!
//! Invariant: what `run` mounts nobody else sees, and it is gone with the command; the command's
//! end is this program's, unless the server could not be asked and the command did not notice.

mod child;
mod mount;
mod place;
mod preload;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use trawl_bulk::Haste;
use trawl_mount::{Keeping, Tree};
use trawl_remote::Remote;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::say;
use place::Place;
use preload::{Preload, Wishes};

pub(crate) use mount::{MountArgs, UnmountArgs, mount, unmount};

/// Ends with this where not the command but this program failed, as env(1) and timeout(1) do.
const FAILED: Exit = Exit::Command(125);

const EXAMPLES: &str = "\
Examples:
  trawl run -- find . -name '*.c'         what it asks of the working directory
                                          is answered from tables
  trawl run --remote host:/srv/src=/mnt -- make -C /mnt
                                          what the command asks below /mnt,
                                          host's trawld answers, through ssh
  trawl run --remote unix:/run/trawl/search:/data=/mnt -- bash
                                          a shell in which /mnt is /data

The command ends as it would without: with its exit code, 128 and the signal
that ended it, 127 if there is no such command, 126 if it cannot be run. 125
says that trawl could not do its part.";

/// Options of `trawl run`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// Show the command a directory of a server at this directory; can be
    /// given again. The server is what trawl search --remote takes, or a host
    /// for ssh
    #[arg(long, value_name = "SERVER:/PATH=/POINT")]
    remote: Vec<OsString>,
    /// Ask about the command's system calls instead of mounting: where there is
    /// no /dev/fuse
    #[arg(long, requires = "remote")]
    sandbox: bool,
    /// Without --remote: answer from tables what dynamically linked programs
    /// ask about files below this directory, instead of below the working
    /// directory; can be given again
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "remote")]
    cover: Vec<PathBuf>,
    /// Without --remote: answer the dynamic loader's search for libraries, too.
    /// That is so by itself where LD_LIBRARY_PATH has 32 directories or more;
    /// with fewer the loader's own search is as fast, unless each call is dear
    #[arg(long, conflicts_with = "remote")]
    audit: bool,
    /// Without --remote: programs ask at their first look, not after some: where
    /// each system call is dear
    #[arg(long, conflicts_with = "remote")]
    eager: bool,
    #[command(flatten)]
    keeping: KeepingArgs,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<OsString>,
}

/// How remote trees are kept.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct KeepingArgs {
    /// How old names and attributes may be that the command is shown
    #[arg(long, value_name = "AGE", value_parser = crate::fresh::parse_time, default_value = "10s")]
    max_age: Duration,
}

impl RunArgs {
    fn wishes(&self) -> Wishes {
        Wishes {
            max_age: self.keeping.max_age,
            haste: match self.eager {
                true => Haste::Eager,
                false => Haste::Patient,
            },
            is_audited: self.audit,
        }
    }
}

impl KeepingArgs {
    fn keeping(self) -> Keeping {
        Keeping {
            max_age: self.max_age,
            ..Keeping::default()
        }
    }
}

/// How trees are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As a file system of this program's (FUSE).
    Mount,
    /// Put in memory before a system call needs it.
    Sandbox,
}

/// A tree and where it is shown.
struct Shown {
    tree: Tree,
    point: PathBuf,
}

fn open(place: &Place, keeping: Keeping) -> Result<Tree, Failure> {
    let remote = Remote::new(place.address.clone());
    let server = place.address.to_string();
    let tell = Box::new(|text: &str| say(text));
    Ok(Tree::open(remote, &server, &place.path, keeping, tell)?)
}

/// Runs the command.
pub(crate) fn run(args: &RunArgs) -> Exit {
    let ran = prepare(args).and_then(|shown| {
        let way = match args.sandbox {
            true => Way::Sandbox,
            false => Way::Mount,
        };
        let preload = match args.remote.is_empty() {
            true => Preload::start(&args.cover, args.wishes()),
            false => None,
        };
        let exit = child::run(&args.command, &shown, way, preload.as_ref())?;
        let failed = shown.iter().find(|shown| shown.tree.has_failed());
        match failed {
            // It may have taken what was missing for nothing.
            Some(failed) if exit == Exit::Command(0) => {
                let name = failed.tree.name();
                say(format_args!(
                    "the command was not shown all of {name}, and did not say so"
                ));
                Ok(FAILED)
            }
            _ => Ok(exit),
        }
    });
    ran.unwrap_or_else(|failure| {
        say(failure);
        FAILED
    })
}

fn prepare(args: &RunArgs) -> Result<Vec<Shown>, Failure> {
    let mut shown = Vec::new();
    for text in &args.remote {
        let (place, point) = place::with_point(text)?;
        let point = std::fs::canonicalize(&point).map_err(|source| Failure::File {
            action: "mount on",
            path: point,
            source,
        })?;
        let tree = open(&place, args.keeping.keeping())?;
        shown.push(Shown { tree, point });
    }
    Ok(shown)
}
