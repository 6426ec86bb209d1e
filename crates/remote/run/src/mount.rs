//! A tree of another machine for all users who may see its mount.

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

use crate::child::shown_path;
use crate::error::RunError;
use crate::notice::Tell;
use crate::place::Place;
use crate::trees::{TreeOptions, open};

/// Interval at which the process checks whether somebody else has unmounted the tree.
pub const LOOK: Duration = Duration::from_millis(200);
/// Message of a process in the background when the mount is ready.
const READY: &[u8] = b"ready\n";

/// A directory of a server, and where it is mounted.
#[derive(Clone, Debug)]
pub struct Mounting {
    /// The directory, as `SERVER:/PATH`.
    pub place: OsString,
    /// The empty directory at which it is mounted.
    pub point: PathBuf,
    /// How the server is asked.
    pub options: TreeOptions,
}

/// Checks that no tree is mounted there, which another mount would hide.
///
/// # Errors
/// Fails if there is one.
pub fn check(point: &Path) -> Result<(), RunError> {
    if is_taken(point) {
        let point = shown_path(point);
        return Err(RunError::Usage(format!(
            "cannot mount on {point}: a tree is mounted there already; take another directory, \
             or run trawl unmount {point} first"
        )));
    }
    Ok(())
}

/// Checks that a directory is empty: a mount would hide what is in it.
///
/// # Errors
/// Fails if something is in it.
pub fn check_empty(point: &Path) -> Result<(), RunError> {
    // The kernel says what is wrong with a directory that cannot be listed.
    let entries = std::fs::read_dir(point).into_iter().flatten();
    match entries.flatten().next() {
        Some(entry) => Err(RunError::Usage(format!(
            "cannot mount on {}: the directory is not empty, and a mount would hide {}; take an \
             empty directory",
            shown_path(point),
            shown_path(&entry.path())
        ))),
        None => Ok(()),
    }
}

/// Returns true if a tree is already mounted there, which another mount would hide.
fn is_taken(point: &Path) -> bool {
    let Ok(point) = point.canonicalize() else {
        return false;
    };
    let mounts = mount_table::read().unwrap_or_default();
    // The superuser mounts without fusermount3(1), and then the kernel does not know the subtype.
    let ours = [&b"fuse"[..], b"fuse.trawl", b"fuse.trawl-views"];
    let is_ours = |mount: &Mount| {
        mount.point == point.as_os_str().as_bytes() && ours.contains(&&mount.kind[..])
    };
    mounts.iter().any(is_ours)
}

/// Mounts a tree, and serves the mount until it is unmounted or a signal asks to stop. Tells
/// `waiting` when the mount is ready: the process that called [`background`].
///
/// # Errors
/// Fails if the server cannot be asked, or the tree cannot be mounted, served or unmounted.
pub fn foreground(
    args: &Mounting,
    waiting: Option<&mut dyn Write>,
    tell: &Tell,
) -> Result<(), RunError> {
    let tree = open(&Place::parse(args.place.as_bytes())?, &args.options, tell)?;
    let stop = StopSignals::take().map_err(|error| RunError::Usage(error.to_string()))?;
    let mut serving = trawl_mount::mount(tree, &args.point)?;
    if let Some(waiting) = waiting {
        tell_ready(waiting);
    }
    while serving.is_served() {
        let ready = readable([stop.as_fd()], Some(LOOK));
        if ready.is_ok_and(|[is_asked]| is_asked) {
            stop.stop();
            if let Err(source) = serving.unmount() {
                let path = args.point.clone();
                let action = "unmount";
                return Err(RunError::File {
                    action,
                    path,
                    source,
                });
            }
            break;
        }
    }
    let ended = serving.wait();
    ended.map_err(|source| RunError::File {
        action: "serve",
        path: args.point.clone(),
        source,
    })
}

/// Tells the process that called [`background`] that the mount is ready.
pub fn tell_ready(waiting: &mut dyn Write) {
    // If this cannot be written, nobody waits for it any more.
    let _ = waiting.write_all(READY).and_then(|()| waiting.flush());
}

/// Starts this program again in the background with these words, which must make it call
/// [`foreground`], and waits until the mount is ready. Returns false if the process ended instead.
/// It has then reported the reason itself.
///
/// # Errors
/// Fails if the process cannot be started.
pub fn background(words: &[OsString], point: &Path) -> Result<bool, RunError> {
    let failed = |source| RunError::File {
        action: "start a process for",
        path: point.to_owned(),
        source,
    };
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    trawl_sys::command::own_session(&mut command);
    let mut child = command.spawn().map_err(failed)?;
    let mut said = vec![0; READY.len()];
    let output = child.stdout.take();
    let is_ready = output.is_some_and(|mut output| output.read_exact(&mut said).is_ok());
    if is_ready && said == READY {
        return Ok(true);
    }
    let _ = child.wait();
    Ok(false)
}

/// Unmounts the tree that is mounted here.
///
/// # Errors
/// Fails if it cannot be unmounted.
pub fn unmount(point: &Path) -> std::io::Result<()> {
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
