//! Mounts the views, and serves the mount until it is gone.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fuser::{Config, INodeNo, MountOption, Notifier, Session, SessionACL};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use trawl_sys::identity::effective_uid;

use crate::error::ViewError;
use crate::file_system::{Shared, Views};
use crate::store::Store;

/// Number of threads that read the kernel's requests; those that wait have threads of their own.
const THREADS: usize = 4;
/// Subtype of these mounts: their file system type is `fuse.trawl-views`.
pub const SUBTYPE: &str = "trawl-views";
/// Source of these mounts in the kernel's table.
pub(crate) const SOURCE: &str = "views";
/// Number of nodes above which the kernel is asked to forget names.
const NODES_MAX: usize = 1 << 16;
/// The most names that the kernel is told to forget at a time.
const BATCH: usize = 1 << 14;
/// How often that is looked at, and names that are too old are dropped.
const SWEEP: Duration = Duration::from_millis(250);

/// The users who may use a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visible {
    /// The user who makes it.
    #[default]
    Owner,
    /// Everybody, each with their own answers; only root can mount so.
    All,
}

/// What is mounted, and where.
#[derive(Clone, Debug)]
pub struct Mounting {
    /// The empty directory, as an absolute path without links.
    pub point: PathBuf,
    /// The definitions that are shown.
    pub store: Store,
    /// The indexes that are asked.
    pub indexes: Vec<PathBuf>,
    /// Start points of questions in the short form that name none.
    pub starts: Vec<Vec<u8>>,
    /// The program that answers questions: `trawl`.
    pub program: PathBuf,
    /// The users who may use it.
    pub visible: Visible,
}

/// A mount that is served.
#[derive(Debug)]
pub struct Serving {
    thread: JoinHandle<io::Result<()>>,
    shared: Arc<Shared>,
}

/// Mounts the views.
///
/// # Errors
/// If the kernel or fusermount3(1) refuses, or if another user than root mounts for all.
pub fn mount(mounting: Mounting) -> Result<Serving, ViewError> {
    let point = mounting.point.clone();
    let failed = |source| ViewError::File {
        action: "mount on",
        path: point.clone(),
        source,
        advice: "; it must be a directory, and only root and fusermount3 can mount",
    };
    let mut config = Config::default();
    config.n_threads = Some(THREADS);
    config.mount_options = vec![
        MountOption::RO,
        MountOption::NoSuid,
        MountOption::NoDev,
        MountOption::NoExec,
        MountOption::DefaultPermissions,
        MountOption::FSName(SOURCE.into()),
        MountOption::Subtype(SUBTYPE.into()),
    ];
    if mounting.visible == Visible::All {
        if effective_uid() != 0 {
            // Only root can ask as others.
            return Err(failed(Errno::PERM.into()));
        }
        config.acl = SessionACL::All;
    }
    let shared = Arc::new(Shared::new(mounting));
    let session = Session::new(Views(Arc::clone(&shared)), &point, &config);
    let session = session.map_err(|error| failed(without_newline(error)))?;
    sweep(&shared, session.notifier()).map_err(failed)?;
    let thread = std::thread::Builder::new().name("views".into());
    let thread = thread
        .spawn(move || trawl_sys::mount::ended(session.run()))
        .map_err(failed)?;
    Ok(Serving { thread, shared })
}

/// Returns the error without the newline of what fusermount3 said.
fn without_newline(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(_) => error,
        None => io::Error::new(error.kind(), error.to_string().trim_end().to_owned()),
    }
}

/// Starts the thread that bounds memory. The kernel locks a directory while it asks for a name in it,
/// and again when it is told to forget one: so it answers no request.
fn sweep(shared: &Arc<Shared>, notifier: Notifier) -> io::Result<()> {
    let shared: Weak<Shared> = Arc::downgrade(shared);
    let work = move || {
        while let Some(shared) = shared.upgrade() {
            shared.recents.sweep(Instant::now());
            let excess = shared.nodes.count().saturating_sub(NODES_MAX);
            for node in shared.nodes.oldest(excess.min(BATCH)) {
                // The name may have been forgotten meanwhile.
                let _ = notifier.inval_entry(INodeNo(node.parent), node.name());
            }
            shared.nodes.tidy();
            drop(shared);
            // The kernel forgets in its own time: a thread that insists would only hold it up.
            std::thread::sleep(SWEEP);
        }
    };
    let thread = std::thread::Builder::new().name("sweep".into());
    thread.spawn(work)?;
    Ok(())
}

impl Serving {
    /// Returns whether it is still mounted.
    pub fn is_served(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Unmounts, and ends the processes that answer. Directories that are open give errors from now on.
    ///
    /// # Errors
    /// If it cannot be unmounted.
    pub fn end(self) -> Result<(), ViewError> {
        let point = self.shared.mounting.point.clone();
        let ended = detach(&point);
        self.shared.end();
        ended.map_err(|source| ViewError::file("unmount", point, source))
    }

    /// Waits until it is unmounted.
    ///
    /// # Errors
    /// If the kernel's requests can no longer be read.
    pub fn wait(self) -> Result<(), ViewError> {
        let ended = match self.thread.join() {
            Ok(ended) => ended,
            Err(_) => Err(io::Error::other("a thread ended early")),
        };
        self.shared.end();
        ended.map_err(|source| ViewError::file("serve", &self.shared.mounting.point, source))
    }
}

/// Unmounts, even while it is in use.
fn detach(point: &Path) -> io::Result<()> {
    match rustix::mount::unmount(point, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
        Err(Errno::PERM) => {
            let mut command = Command::new("fusermount3");
            match command.args(["-u", "-q", "-z", "--"]).arg(point).status() {
                Ok(status) if status.success() => Ok(()),
                _ => Err(Errno::PERM.into()),
            }
        }
        // Somebody else has unmounted it.
        Err(Errno::INVAL) => Ok(()),
        other => Ok(other?),
    }
}
