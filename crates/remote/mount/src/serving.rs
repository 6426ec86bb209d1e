//! Mounts a tree, and serves a mount until it is gone.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use fuser::{Config, MountOption, Session, SessionACL, SessionUnmounter};

use crate::error::MountError;
use crate::file_system::RemoteFiles;
use crate::files::Files;
use crate::nodes::Nodes;
use crate::notices::Notices;
use crate::tree::Tree;

/// Number of threads that answer the kernel, so that a request that waits for the server does not
/// block others.
const THREADS: usize = 32;
/// Subtype of these mounts: their file system type is `fuse.trawl`.
pub const SUBTYPE: &str = "trawl";

/// A tree, with the inode numbers that its files have where it is mounted.
#[derive(Clone)]
pub struct Mounted {
    pub(crate) tree: Tree,
    pub(crate) nodes: Arc<Nodes>,
    /// Whether the mount is being probed, see [`Mounted::be_probed`].
    pub(crate) is_probed: Arc<AtomicBool>,
}

impl std::fmt::Debug for Mounted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Mounted").field(&self.tree).finish()
    }
}

impl Mounted {
    /// Wraps a tree that is to be mounted once; no inode number has been assigned yet.
    pub fn new(tree: Tree) -> Mounted {
        let nodes = Arc::new(Nodes::new(tree.device()));
        Mounted {
            tree,
            nodes,
            is_probed: Arc::default(),
        }
    }

    /// Until [`Mounted::was_probed`], answers the kernel without asking the server that the top has
    /// no extended attributes. The mounting process thereby finds out how the kernel treats that
    /// answer. No other process may see the mount meanwhile.
    pub fn be_probed(&self) {
        self.is_probed.store(true, Ordering::SeqCst);
    }

    /// Ends the probing: the kernel gets true answers from now on.
    pub fn was_probed(&self) {
        self.is_probed.store(false, Ordering::SeqCst);
    }

    /// Returns the tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }
}

/// A mount that is served.
#[derive(Debug)]
pub struct Serving {
    thread: JoinHandle<io::Result<()>>,
    unmounter: SessionUnmounter,
}

impl Serving {
    /// Waits until it is unmounted.
    ///
    /// # Errors
    /// Fails if the kernel's requests can no longer be read.
    pub fn wait(self) -> io::Result<()> {
        match self.thread.join() {
            Ok(ended) => ended,
            Err(_) => Err(io::Error::other("a thread ended early")),
        }
    }

    /// Returns whether it is still served.
    pub fn is_served(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Unmounts a mount made by [`mount`], and waits for its end.
    ///
    /// # Errors
    /// Fails if it cannot be unmounted, for example because it is in use.
    pub fn end(mut self) -> io::Result<()> {
        self.unmounter.unmount()?;
        self.wait()
    }

    /// Unmounts a mount made by [`mount`]; it is served until nobody uses it.
    ///
    /// # Errors
    /// Fails if it cannot be unmounted, for example because it is in use.
    pub fn unmount(&mut self) -> io::Result<()> {
        self.unmounter.unmount()
    }
}

fn config() -> Config {
    let mut config = Config::default();
    config.n_threads = Some(THREADS);
    config
}

fn start(
    mut session: Session<RemoteFiles>,
    files: &Arc<Files>,
    mounted: &Mounted,
) -> Result<Serving, MountError> {
    let nodes = Arc::clone(&mounted.nodes);
    let ours = Arc::downgrade(files);
    files
        .start(session.notifier())
        .map_err(MountError::Thread)?;
    let notices = Notices::start(session.notifier(), nodes, ours).map_err(MountError::Thread)?;
    mounted.tree.watch(Box::new(move |news| notices.give(news)));
    let unmounter = session.unmount_callable();
    let thread = std::thread::Builder::new().name("mount".into());
    let thread = thread.spawn(move || trawl_sys::mount::ended(session.run()));
    Ok(Serving {
        thread: thread.map_err(MountError::Thread)?,
        unmounter,
    })
}

/// Serves the mount of this kernel connection (`/dev/fuse`); `None` if the mount is already gone.
///
/// # Errors
/// Fails if the kernel rejects the session, or no thread can be started.
pub fn serve(mounted: &Mounted, device: OwnedFd) -> Result<Option<Serving>, MountError> {
    let files = RemoteFiles::new(mounted);
    let open = Arc::clone(files.files());
    match Session::from_fd(files, device, SessionACL::All, config()) {
        Ok(session) => start(session, &open, mounted).map(Some),
        Err(error) if trawl_sys::mount::is_gone(&error) => Ok(None),
        Err(error) => Err(MountError::Thread(error)),
    }
}

/// Mounts a tree: for all users if the superuser calls it, otherwise for this user, through
/// fusermount3(1).
///
/// # Errors
/// Fails if it cannot be mounted there.
pub fn mount(tree: Tree, point: &Path) -> Result<Serving, MountError> {
    let mut config = config();
    config.mount_options = vec![
        MountOption::RO,
        MountOption::NoSuid,
        MountOption::NoDev,
        MountOption::DefaultPermissions,
        MountOption::FSName(tree.name().replace(',', "\\054")),
        MountOption::Subtype(SUBTYPE.into()),
    ];
    if trawl_sys::identity::effective_uid() == 0 {
        config.acl = SessionACL::All;
    }
    let mounted = Mounted::new(tree);
    let files = RemoteFiles::new(&mounted);
    let open = Arc::clone(files.files());
    let session = Session::new(files, point, &config);
    let session = session.map_err(|source| MountError::Point {
        point: point.to_owned(),
        source,
        advice: "; only the superuser and fusermount3 can mount, trawl run needs neither",
    })?;
    start(session, &open, &mounted)
}
