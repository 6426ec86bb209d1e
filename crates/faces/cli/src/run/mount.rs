//! `trawl mount` and `trawl unmount`: a tree of another machine for all users who may see the
//! mount.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use trawl_sys::mount_table::{self, Mount};
use trawl_sys::signal::StopSignals;
use trawl_sys::wait::readable;

use super::child::shown_path;
use super::place::Place;
use super::{KeepingArgs, open};
use crate::commands::{Class, IndexOption, Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::say;

/// Interval at which the process checks whether somebody else has unmounted the tree.
const LOOK: Duration = Duration::from_millis(200);
/// Message of a process in the background when the mount is ready.
const READY: &[u8] = b"ready\n";

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
    if is_taken(&args.point) {
        let point = shown_path(&args.point);
        return Err(Failure::Usage(format!(
            "cannot mount on {point}: a tree is mounted there already; take another directory, \
             or run trawl unmount {point} first"
        )));
    }
    match args.foreground {
        true => foreground(args),
        false => background(args),
    }
}

/// Returns true if a tree is already mounted there, which another mount would hide.
fn is_taken(point: &Path) -> bool {
    let Ok(point) = point.canonicalize() else {
        return false;
    };
    let mounts = mount_table::read().unwrap_or_default();
    // The superuser mounts without fusermount3(1), and then the kernel does not know the subtype.
    let ours = [&b"fuse"[..], b"fuse.trawl"];
    let is_ours = |mount: &Mount| {
        mount.point == point.as_os_str().as_bytes() && ours.contains(&&mount.kind[..])
    };
    mounts.iter().any(is_ours)
}

fn foreground(args: &MountArgs) -> Result<Exit, Failure> {
    let tree = open(&Place::parse(args.place.as_bytes())?, &args.keeping)?;
    let stop = StopSignals::take().map_err(|error| Failure::Usage(error.to_string()))?;
    let mut serving = trawl_mount::mount(tree, &args.point)?;
    if args.ready {
        // If this cannot be written, nobody waits for it any more.
        let _ = std::io::stdout().write_all(READY);
    }
    while serving.is_served() {
        let ready = readable([stop.as_fd()], Some(LOOK));
        if ready.is_ok_and(|[is_asked]| is_asked) {
            stop.stop();
            if let Err(source) = serving.unmount() {
                let path = args.point.clone();
                let action = "unmount";
                return Err(Failure::File {
                    action,
                    path,
                    source,
                });
            }
            break;
        }
    }
    let ended = serving.wait();
    ended.map_err(|source| Failure::File {
        action: "serve",
        path: args.point.clone(),
        source,
    })?;
    Ok(Exit::Complete)
}

/// Starts this program again in the background, and waits until the mount is ready.
fn background(args: &MountArgs) -> Result<Exit, Failure> {
    let failed = |source| Failure::File {
        action: "start a process for",
        path: args.point.clone(),
        source,
    };
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(["mount", "--foreground", "--ready"]);
    command.args(args.keeping.words());
    command.arg("--").arg(&args.place).arg(&args.point);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    trawl_sys::command::own_session(&mut command);
    let mut child = command.spawn().map_err(failed)?;
    let mut said = vec![0; READY.len()];
    let output = child.stdout.take();
    let is_ready = output.is_some_and(|mut output| output.read_exact(&mut said).is_ok());
    if is_ready && said == READY {
        return Ok(Exit::Complete);
    }
    // The process has reported the reason itself.
    let _ = child.wait();
    Ok(Exit::Fatal)
}

/// Unmounts trees.
fn unmount(args: &UnmountArgs) -> Result<Exit, Failure> {
    let mut exit = Exit::Complete;
    for point in &args.points {
        if let Err(error) = unmount_one(point) {
            let (point, cause) = (shown_path(point), crate::failure::cause(&error));
            say(format_args!("cannot unmount {point}: {cause}"));
            exit = Exit::Fatal;
        }
    }
    Ok(exit)
}

fn unmount_one(point: &std::path::Path) -> std::io::Result<()> {
    let unmounted = trawl_sys::mount::unmount(point);
    match unmounted {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            let mut command = Command::new("fusermount3");
            match command.arg("-u").arg("--").arg(point).status() {
                Ok(status) if status.success() => Ok(()),
                _ => Err(error),
            }
        }
        other => other,
    }
}
