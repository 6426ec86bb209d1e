//! `trawl mount` and `trawl unmount`: a tree of another machine for all users who may see the
//! mount.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_run::mount::{self as mounts, Mounting};

use super::{KeepingArgs, teller};
use crate::commands::{Class, IndexOption, Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, cause, quoted};
use crate::output::say;

// Options of `trawl mount`.
#[derive(Debug, clap::Args)]
pub(crate) struct MountArgs {
    /// Mount directory PATH of SERVER
    ///
    /// SERVER is an address as for trawl search --remote, or a host for ssh.
    #[arg(value_name = "SERVER:/PATH")]
    place: OsString,
    /// Mount on this empty directory
    #[arg(value_name = "POINT")]
    point: PathBuf,
    /// Serve in the foreground until unmounted or stopped by a signal
    #[arg(short, long)]
    foreground: bool,
    #[command(flatten)]
    keeping: KeepingArgs,
    /// Report on standard output when the mount is ready.
    #[arg(long, hide = true, requires = "foreground")]
    ready: bool,
}

impl Spec for MountArgs {
    const ABOUT: &'static str = "Mount a directory of another machine, read-only";
    const CLASS: Class = Class::Server;
    const INDEX: IndexOption = IndexOption::None;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        (
            "trawl mount host:/srv/data /mnt",
            "mount host's /srv/data, through ssh",
        ),
        ("trawl unmount /mnt", ""),
    ];
    const SEE_ALSO: &'static [&'static str] = &[
        "trawl-unmount(1)",
        "trawl-run(1)",
        "trawl-serve(1)",
        "mount(8)",
    ];

    fn run(&self, _: Setting<'_>) -> Result<Exit, Failure> {
        mount(self)
    }
}

// Options of `trawl unmount`.
#[derive(Debug, clap::Args)]
pub(crate) struct UnmountArgs {
    /// Unmount the trees that are mounted here
    #[arg(value_name = "POINT", required = true)]
    points: Vec<PathBuf>,
}

impl Spec for UnmountArgs {
    const ABOUT: &'static str = "Unmount directories that trawl mount has mounted";
    const CLASS: Class = Class::Other;
    const INDEX: IndexOption = IndexOption::None;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[("trawl unmount /mnt", "")];
    const SEE_ALSO: &'static [&'static str] = &["trawl-mount(1)", "umount(8)"];

    fn run(&self, _: Setting<'_>) -> Result<Exit, Failure> {
        unmount(self)
    }
}

/// Mounts a tree, and serves the mount.
fn mount(args: &MountArgs) -> Result<Exit, Failure> {
    mounts::check(&args.point)?;
    if !args.foreground {
        let is_ready = mounts::background(&words(args), &args.point)?;
        return Ok(match is_ready {
            true => Exit::Complete,
            false => Exit::Fatal,
        });
    }
    let mounting = Mounting {
        place: args.place.clone(),
        point: args.point.clone(),
        options: args.keeping.options(),
    };
    let mut stdout = std::io::stdout();
    let waiting = args.ready.then_some(&mut stdout as &mut dyn Write);
    mounts::foreground(&mounting, waiting, &teller())?;
    Ok(Exit::Complete)
}

/// Returns the words with which this program mounts the tree in another process.
fn words(args: &MountArgs) -> Vec<OsString> {
    let mut words: Vec<OsString> = ["mount", "--foreground", "--ready"].map(Into::into).into();
    words.extend(args.keeping.words());
    words.extend(["--".into(), args.place.clone(), args.point.clone().into()]);
    words
}

/// Unmounts trees.
fn unmount(args: &UnmountArgs) -> Result<Exit, Failure> {
    let mut exit = Exit::Complete;
    for point in &args.points {
        if let Err(error) = mounts::unmount(point) {
            let (point, cause) = (quoted(point.as_os_str().as_bytes()), cause(&error));
            say(format_args!("cannot unmount {point}: {cause}"));
            exit = Exit::Fatal;
        }
    }
    Ok(exit)
}
