//! Mounting a tree, and serving a mount until it is gone.

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

/// Threads that answer the kernel: one that waits for the server holds up none of the others.
const THREADS: usize = 8;
/// What the type of such a mount is called: `fuse.trawl`.
pub const SUBTYPE: &str = "trawl";

/// A tree with the numbers that its files have where it is mounted.
#[derive(Clone)]
pub struct Mounted {
    pub(crate) tree: Tree,
    pub(crate) nodes: Arc<Nodes>,
    /// See [`Mounted::be_probed`].
    pub(crate) is_probed: Arc<AtomicBool>,
}

impl std::fmt::Debug for Mounted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Mounted").field(&self.tree).finish()
    }
}

impl Mounted {
    /// A tree that is to be mounted once; no number was told yet.
    pub fn new(tree: Tree) -> Mounted {
        let nodes = Arc::new(Nodes::new(tree.device()));
        Mounted {
            tree,
            nodes,
            is_probed: Arc::default(),
        }
    }

    /// From now on until [`Mounted::was_probed`] the kernel is told of the top that it has no
    /// extended attribute, without asking the server: who mounts it finds out what the kernel makes
    /// of that. Nobody else may see the mount meanwhile.
    pub fn be_probed(&self) {
        self.is_probed.store(true, Ordering::SeqCst);
    }

    /// From now on the kernel is told what is so.
    pub fn was_probed(&self) {
        self.is_probed.store(false, Ordering::SeqCst);
    }

    /// The tree.
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
    /// If the kernel can no longer be asked what it wants.
    pub fn wait(self) -> io::Result<()> {
        match self.thread.join() {
            Ok(ended) => ended,
            Err(_) => Err(io::Error::other("a thread ended early")),
        }
    }

    /// Whether it is still served.
    pub fn is_served(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Unmounts what [`mount`] mounted, and waits.
    ///
    /// # Errors
    /// If it cannot be unmounted: it is in use, say.
    pub fn end(mut self) -> io::Result<()> {
        self.unmounter.unmount()?;
        self.wait()
    }

    /// Unmounts what [`mount`] mounted; it is served until nobody uses it.
    ///
    /// # Errors
    /// If it cannot be unmounted: it is in use, say.
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
    let thread = thread.spawn(move || session.run());
    Ok(Serving {
        thread: thread.map_err(MountError::Thread)?,
        unmounter,
    })
}

/// Serves a mount of which this is the kernel's end (`/dev/fuse`); `None` if it is gone already.
///
/// # Errors
/// If the kernel does not speak to it, or no thread can be started.
pub fn serve(mounted: &Mounted, device: OwnedFd) -> Result<Option<Serving>, MountError> {
    let files = RemoteFiles::new(mounted);
    let open = Arc::clone(files.files());
    match Session::from_fd(files, device, SessionACL::All, config()) {
        Ok(session) => start(session, &open, mounted).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(None),
        Err(error) => Err(MountError::Thread(error)),
    }
}

/// Mounts a tree, for all users if the superuser does, else for this user through fusermount3(1).
///
/// # Errors
/// If it cannot be mounted there.
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
