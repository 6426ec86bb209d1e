//! `trawl run`, `trawl mount`, `trawl unmount`: trees of other machines, and bulk answers, for
//! programs that do not know about either.
//!
//! Invariants: nobody else sees the mounts of `run`, and they disappear with the command. This
//! program ends as the command does, unless the server could not be asked and the command did not
//! notice.

mod groups;
mod learning;
mod mount;

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use trawl_run::{
    Asking, Certificates, Ended, Haste, Keeping, Program, Tell, TreeOptions, Use, Way, Wishes,
};
use trawl_text::units::{Scale, parse_block_size};

use crate::commands::{Class, Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::say;

pub(crate) use mount::{MountArgs, UnmountArgs};

/// Exit code if this program failed and not the command, as in env(1) and timeout(1).
const FAILED: Exit = Exit::Command(125);

/// Number of arguments from which on files are fetched ahead. With fewer, the program itself is as
/// fast.
const FILES_MIN: u32 = 8;

const EXAMPLES: &str = "\
Examples:
  trawl run -- find . -name '*.c'         answer calls about the working
                                          directory from tables
  trawl run --remote host:/srv/src=/mnt -- make -C /mnt
                                          show host's /srv/src at /mnt, through
                                          trawld and ssh
  trawl run --remote unix:/run/trawl/search:/data=/mnt -- bash
                                          open a shell in which /mnt is /data
  trawl run --learn -- make               record what is built from what, for
                                          trawl related
  trawl run --fetch-groups -- ./report    fetch whole projects and albums once
                                          one of their files is opened

Exit codes: the command's own, 128 plus the number of the signal that ended it,
127 if the command does not exist, 126 if it cannot be run, 125 if trawl itself
failed.";

// Options of `trawl run`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// Show the command a server's directory PATH at POINT
    ///
    /// May be given several times. SERVER is an address as for trawl search --remote, or a host for
    /// ssh.
    #[arg(long, value_name = "SERVER:/PATH=/POINT")]
    remote: Vec<OsString>,
    /// Intercept the command's system calls instead of mounting
    ///
    /// Works where there is no /dev/fuse.
    #[arg(long, requires = "remote")]
    sandbox: bool,
    /// Keep up to SIZE of file contents in memory with --sandbox
    ///
    /// SIZE is a number such as 512M or 2G. A file that does not fit cannot be opened.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256M", requires = "sandbox")]
    sandbox_memory: u64,
    /// Answer calls about files below DIRECTORY from tables
    ///
    /// The default is the working directory. The programs must be dynamically linked. May be given
    /// several times; not with --remote.
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "remote")]
    cover: Vec<PathBuf>,
    /// Answer the dynamic loader's search for libraries, too
    ///
    /// This is automatic if LD_LIBRARY_PATH has 32 directories or more. With fewer, the loader's
    /// own search is as fast, unless system calls are expensive. Not with --remote.
    #[arg(long, conflicts_with = "remote")]
    audit: bool,
    /// Let programs ask at their first look, not only after several
    ///
    /// Useful where each system call is expensive. Not with --remote.
    #[arg(long, conflicts_with = "remote")]
    eager: bool,
    /// Fetch files ahead for programs with N arguments or more
    ///
    /// The arguments that are regular files, and the files in lists such as tar's -T, are read into
    /// the kernel's cache before the program opens them, in their order and a bounded distance
    /// ahead. Options do not count. 0 fetches nothing. Not with --remote.
    #[arg(
        long,
        value_name = "N",
        default_value_t = FILES_MIN,
        conflicts_with = "remote"
    )]
    fetch_ahead: u32,
    /// Take the names in tables from this source
    ///
    /// auto uses the file system, and for tables of many directories the index, if a daemon (trawl
    /// watch) keeps it up to date. live uses the file system only. index uses the index wherever a
    /// daemon confirms in time that it is up to date. Not with --remote.
    #[arg(
        long,
        value_name = "WHO",
        value_enum,
        default_value = "auto",
        conflicts_with = "remote"
    )]
    served_by: ServedBy,
    /// Record which files the command's programs open, read and write
    ///
    /// trawl related and learnt groups use the record. It is yours alone:
    /// $XDG_STATE_HOME/trawl/accesses. Programs that gain rights when they are run (sudo) do not
    /// gain them. Ends when all programs that the command started have ended.
    #[arg(
        long,
        conflicts_with_all = ["remote", "cover", "audit", "eager", "fetch_ahead", "served_by"]
    )]
    learn: bool,
    /// Fetch the rest of a file's group once a program opens the file
    ///
    /// The files of the same package, project, album, event or directory (trawl groups) are read
    /// into the kernel's cache, the next ones first: at most 512 files, up to 1 MiB of each, and 32
    /// MiB. Groups of more than 4,096 files are left alone. Groups are those of the index.
    #[arg(
        long,
        conflicts_with_all = ["remote", "cover", "audit", "eager", "fetch_ahead", "served_by", "learn"]
    )]
    fetch_groups: bool,
    /// With --remote, use only the mounts, without tables in programs
    #[arg(long, requires = "remote")]
    no_preload: bool,
    #[command(flatten)]
    keeping: KeepingArgs,
    /// Run this command with these arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<OsString>,
}

impl Spec for RunArgs {
    const ABOUT: &'static str = "Run a command that sees directories of other machines as its own";
    const CLASS: Class = Class::Server;
    const SEE_ALSO: &'static [&'static str] = &["trawl-mount(1)", "trawl-serve(1)", "ld.so(8)"];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        Ok(match (self.learn, self.fetch_groups) {
            (true, _) => learning::run(self),
            (false, true) => groups::run(setting.index, self),
            (false, false) => run(setting.index, self),
        })
    }
}

/// Source of the names in tables of this machine's trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ServedBy {
    Auto,
    Live,
    Index,
}

// Options about asking servers and caching remote trees.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct KeepingArgs {
    /// Show names and attributes up to AGE old
    #[arg(long, value_name = "AGE", value_parser = crate::fresh::parse_time, default_value = "10s")]
    max_age: Duration,
    /// Show names and attributes up to AGE old in watched directories
    ///
    /// Where it can, the server watches directories once the command has run for some seconds. A
    /// change that it reports ends the AGE early. 0s watches none.
    #[arg(long, value_name = "AGE", value_parser = crate::fresh::parse_time, default_value = "1h")]
    watched_age: Duration,
    /// Ask the server separately for each name and directory
    ///
    /// Ordinary remote file systems do this; the option is for comparisons.
    #[arg(long)]
    call_by_call: bool,
    /// For tls: servers, trust certificates signed by the CA in FILE
    ///
    /// Defaults to ca.pem in ~/.config/trawl or /etc/trawl.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// For tls: servers, use the client certificate in FILE
    ///
    /// Defaults to cert.pem in ~/.config/trawl or /etc/trawl.
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,
    /// For tls: servers, use the client key in FILE
    ///
    /// Defaults to key.pem in ~/.config/trawl or /etc/trawl.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

impl RunArgs {
    /// Returns true if programs are to see only the mounts, without tables. This is also so if each
    /// call must be a question of its own, or is intercepted before it is done.
    fn is_mount_alone(&self) -> bool {
        self.no_preload || self.sandbox || self.keeping.call_by_call
    }

    fn wishes(&self) -> Wishes {
        Wishes {
            max_age: self.keeping.max_age,
            haste: match self.served_by {
                _ if self.eager => Haste::Eager,
                // With `--served-by index`, programs ask even if their calls are cheap.
                ServedBy::Index => Haste::Ready,
                _ => Haste::Patient,
            },
            is_audited: self.audit,
            files_min: NonZeroU32::new(self.fetch_ahead),
        }
    }

    /// Returns the command and what it sees.
    fn program(&self, index: Option<PathBuf>) -> Program {
        Program {
            words: self.command.clone(),
            remotes: self.remote.clone(),
            options: self.keeping.options(),
            way: match self.sandbox {
                true => Way::Sandbox {
                    memory_bytes: self.sandbox_memory,
                },
                false => Way::Mount,
            },
            is_mount_alone: self.is_mount_alone(),
            covered: self.cover.clone(),
            wishes: self.wishes(),
            names: match self.served_by {
                ServedBy::Live => None,
                ServedBy::Auto => Some(Use::Automatic),
                ServedBy::Index => Some(Use::Always),
            },
            index,
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

    fn options(&self) -> TreeOptions {
        TreeOptions {
            keeping: self.keeping(),
            certificates: self.certificates(),
        }
    }

    fn certificates(&self) -> Certificates {
        Certificates {
            ca: self.ca.clone(),
            cert: self.cert.clone(),
            key: self.key.clone(),
        }
    }

    /// Returns these options as words for another process of this program.
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
        _ => Err("use a number of bytes, or one with a unit such as 512M or 2G".into()),
    }
}

/// Returns a listener that prints messages on standard error.
pub(crate) fn teller() -> Tell {
    Arc::new(|notice| say(notice))
}

/// Runs the command.
pub(crate) fn run(index: Option<PathBuf>, args: &RunArgs) -> Exit {
    match trawl_run::run(&args.program(index), &teller()) {
        Ok(Ended::Code(code)) => Exit::Command(code),
        Ok(_) => FAILED,
        Err(error) => {
            say(error);
            FAILED
        }
    }
}
