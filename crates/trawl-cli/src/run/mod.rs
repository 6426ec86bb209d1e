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
use std::sync::Arc;
use std::time::Duration;

use trawl_bulk::{Haste, Known};
use trawl_bulk_index::Use;
use trawl_mount::{Asking, Keeping, Mounted, Tree};
use trawl_remote::Remote;
use trawl_remote::tls::Certificates;
use trawl_text::units::{Scale, parse_block_size};

use crate::exit::Exit;
use crate::failure::{Failure, quoted};
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

// Options of `trawl run`.
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
    /// With --sandbox: how much of files' contents is kept in memory, such as
    /// 512M or 2G. A file that has no room is not opened
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256M", requires = "sandbox")]
    sandbox_memory: u64,
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
    /// Without --remote: where names in tables come from: the file system, and
    /// the index for tables of many directories if a daemon (trawl watch) keeps it
    /// as of now (auto); the file system; or the index wherever a daemon says in
    /// time that it is as of now
    #[arg(
        long,
        value_name = "WHO",
        value_enum,
        default_value = "auto",
        conflicts_with = "remote"
    )]
    served_by: ServedBy,
    /// With --remote: let the mounts alone answer, no tables in the programs
    #[arg(long, requires = "remote")]
    no_preload: bool,
    #[command(flatten)]
    keeping: KeepingArgs,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<OsString>,
}

/// Where names in tables of this machine's trees come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ServedBy {
    Auto,
    Live,
    Index,
}

// How servers are asked, and how remote trees are kept.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct KeepingArgs {
    /// How old names and attributes may be that the command is shown
    #[arg(long, value_name = "AGE", value_parser = crate::fresh::parse_time, default_value = "10s")]
    max_age: Duration,
    /// The same of directories that the server watches, as it does where it can
    /// once the command has run for some seconds: until it says that something
    /// changed. 0s: have none watched
    #[arg(long, value_name = "AGE", value_parser = crate::fresh::parse_time, default_value = "1h")]
    watched_age: Duration,
    /// Ask the server for each name and directory by itself, as ordinary remote
    /// file systems do: to compare with
    #[arg(long)]
    call_by_call: bool,
    /// Of tls: servers: who may sign the server's certificate [default:
    /// ca.pem in ~/.config/trawl or /etc/trawl]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// For tls: servers: this client's certificate [default: cert.pem there]
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,
    /// For tls: servers: its key [default: key.pem there]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

impl RunArgs {
    /// Whether programs are to see the mounts and nothing else: also where each call is to be a
    /// question of its own, or is answered before it is done.
    fn is_mount_alone(&self) -> bool {
        self.no_preload || self.sandbox || self.keeping.call_by_call
    }

    fn wishes(&self) -> Wishes {
        Wishes {
            max_age: self.keeping.max_age,
            haste: match self.served_by {
                _ if self.eager => Haste::Eager,
                // Who wants the index is not to be left without for calls that are cheap.
                ServedBy::Index => Haste::Ready,
                _ => Haste::Patient,
            },
            is_audited: self.audit,
        }
    }

    /// Who knows names without a walk.
    fn known(&self, index: Option<PathBuf>) -> Option<Arc<dyn Known>> {
        match self.served_by {
            ServedBy::Live => None,
            ServedBy::Auto => preload::known(index, Use::Automatic),
            ServedBy::Index => preload::known(index, Use::Always),
        }
    }
}

impl KeepingArgs {
    fn keeping(&self) -> Keeping {
        Keeping {
            max_age: self.max_age,
            watched_age: self.watched_age,
            asking: match self.call_by_call {
                true => Asking::Each,
                false => Asking::Bulk,
            },
            ..Keeping::default()
        }
    }

    fn certificates(&self) -> Certificates {
        Certificates {
            ca: self.ca.clone(),
            cert: self.cert.clone(),
            key: self.key.clone(),
        }
    }

    /// The same options for another process of this program.
    fn words(&self) -> Vec<OsString> {
        let ages = [
            ("--max-age", self.max_age),
            ("--watched-age", self.watched_age),
        ];
        let ages = ages.map(|(option, age)| format!("{option}={}ms", age.as_millis()));
        let mut words = Vec::from(ages.map(OsString::from));
        if self.call_by_call {
            words.push("--call-by-call".into());
        }
        let files = [
            ("--ca", &self.ca),
            ("--cert", &self.cert),
            ("--key", &self.key),
        ];
        for (option, file) in files {
            if let Some(file) = file {
                words.extend([option.into(), file.into()]);
            }
        }
        words
    }
}

fn size(text: &str) -> Result<u64, String> {
    if let Ok(bytes) = text.parse() {
        return Ok(bytes);
    }
    match parse_block_size(text) {
        Some(Scale::Blocks(bytes)) => Ok(bytes),
        _ => Err("a number of bytes, or one with a unit such as 512M or 2G".into()),
    }
}

/// How trees are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As a file system of this program's (FUSE).
    Mount,
    /// Put in memory before a system call needs it.
    Sandbox {
        /// How much of files' contents is kept, in bytes.
        memory_bytes: u64,
    },
}

/// A tree and where it is shown.
struct Shown {
    mounted: Mounted,
    point: PathBuf,
}

impl Shown {
    fn tree(&self) -> &Tree {
        self.mounted.tree()
    }
}

fn open(place: &Place, args: &KeepingArgs) -> Result<Tree, Failure> {
    let address = place.address.clone();
    let remote = Remote::new(address.with_certificates(args.certificates()));
    let keeping = args.keeping();
    let server = place.address.to_string();
    let tell = Box::new(|text: &str| say(text));
    Ok(Tree::open(remote, &server, &place.path, keeping, tell)?)
}

/// Runs the command.
pub(crate) fn run(index: Option<PathBuf>, args: &RunArgs) -> Exit {
    let ran = prepare(args).and_then(|shown| {
        let way = match args.sandbox {
            true => Way::Sandbox {
                memory_bytes: args.sandbox_memory,
            },
            false => Way::Mount,
        };
        let preload = || match args.remote.is_empty() {
            true => Preload::start(&args.cover, args.wishes(), args.known(index)),
            false if args.is_mount_alone() => None,
            false => Preload::of_mounts(&shown, args.wishes()),
        };
        let exit = child::run(&args.command, &shown, way, preload)?;
        let failed = shown.iter().find(|shown| shown.tree().has_failed());
        match failed {
            // It may have taken what was missing for nothing.
            Some(failed) if exit == Exit::Command(0) => {
                let name = failed.tree().name();
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
    let mut shown: Vec<Shown> = Vec::new();
    for text in &args.remote {
        let (place, point) = place::with_point(text)?;
        let point = std::fs::canonicalize(&point).map_err(|source| Failure::File {
            action: "mount on",
            path: point,
            source,
        })?;
        if shown.iter().any(|shown| shown.point == point) {
            let point = quoted(point.as_os_str().as_encoded_bytes());
            return Err(Failure::Usage(format!(
                "cannot show two directories at {point}: give each --remote a directory of its own"
            )));
        }
        let tree = open(&place, &args.keeping)?;
        let mounted = Mounted::new(tree);
        shown.push(Shown { mounted, point });
    }
    Ok(shown)
}
