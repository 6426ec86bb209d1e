//! A source with one mark on a whole file system, for root: every change in it is an event.
//!
//! Only types of file systems on which this has been verified are accepted. The kernel would accept
//! a mark on a network file system or FUSE, but it would report only changes made on this machine.

mod report;
mod superblock;

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use trawl_model::change::{Change, Doubt, FileSystemId, ObjectRef, Receiver, SubtreeCause};
use trawl_sys::directory::{Purpose, open_at};
use trawl_sys::fanotify::{Events, Group, Mask, QueueSize, READ_BYTES_MIN, Scope};
use trawl_sys::handle::{self, Use};
use trawl_sys::{CWD, Errno, Op, SysError, filesystem};

use crate::choice::{Begun, Tree, Watch};
use crate::error::{About, LiveError, Result};
use crate::resolver::Resolver;
use crate::source::{AsOf, Barrier, ChangeSource, Description, Drained, KeyResolver, Remainder};

pub(crate) use report::report;
pub(crate) use superblock::check_local;
use superblock::{Kind, Superblock};

/// The requested events.
pub(crate) const MASK: Mask = Mask::CREATE
    .with(Mask::DELETE)
    .with(Mask::RENAME)
    .with(Mask::MODIFY)
    .with(Mask::ATTRIB)
    .with(Mask::CLOSE_WRITE)
    .with(Mask::ONDIR);

/// Maximum bytes of events that one read returns.
pub(crate) const BUFFER_BYTES: usize = 1 << 16;

/// Minimum size in bytes of an event: its head, and a record with a handle.
pub(crate) const EVENT_BYTES_MIN: u64 = 52;

/// Watches a file system, or the part of it below a root; see the module documentation.
#[derive(Debug)]
pub struct Fanotify {
    group: Group,
    kind: Kind,
    file_system: FileSystemId,
    root: Root,
    resolver: Resolver,
    buffer: Vec<u8>,
}

/// The watched directory, with its identity.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    device_and_inode: (u64, u64),
}

impl Root {
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let read = |source| LiveError::Read {
            path: path.as_os_str().as_bytes().to_vec(),
            source,
        };
        let path = path.canonicalize().map_err(read)?;
        let found = path.symlink_metadata().map_err(read)?;
        Ok(Root {
            device_and_inode: (found.dev(), found.ino()),
            path,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path as in the index: without a trailing slash.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let path = self.path.as_os_str().as_bytes();
        path.strip_suffix(b"/").unwrap_or(path).to_vec()
    }

    /// Opens the root as a starting point for names below it.
    pub(crate) fn open(&self) -> Result<OwnedFd> {
        let name = CString::new(self.path.as_os_str().as_bytes()).unwrap_or_default();
        open_at(CWD, &name, Purpose::Pass).about("open", &self.bytes())
    }

    /// Checks that the root's path still leads to the same directory.
    pub(crate) fn check(&self) -> Result<()> {
        let found = self.path.symlink_metadata();
        if found.is_ok_and(|found| (found.dev(), found.ino()) == self.device_and_inode) {
            return Ok(());
        }
        Err(LiveError::RootGone { path: self.bytes() })
    }
}

impl Fanotify {
    /// Watches the file system that contains `root`. Paths are available for objects below `root`;
    /// changes elsewhere in the file system are also reported, and are [`ResolvedDirectory::Outside`].
    ///
    /// While this value exists, the file system can be unmounted, but the kernel keeps it in use.
    ///
    /// [`ResolvedDirectory::Outside`]: crate::ResolvedDirectory::Outside
    ///
    /// # Errors
    /// Fails if the file system cannot be watched; the error contains advice.
    pub fn open(root: &Path, queue: QueueSize) -> Result<Self> {
        let root = Root::new(root)?;
        let superblock = Superblock::of(root.path())?;
        let group = Group::new(queue)
            .map_err(|source| refused(source, &root.bytes(), superblock.kind.name()))?;
        Self::with_group(root, superblock, group)
    }

    /// Takes over the queue of a source that another process had opened and whose descriptor it
    /// passed on; events from the time in between are reported. The caller must know that the queue
    /// watches the same file system. Returns `None` if the descriptor is not a queue.
    ///
    /// # Errors
    /// Returns the errors of [`Fanotify::open`].
    pub fn take_over(root: &Path, queue: OwnedFd) -> Result<Option<Self>> {
        let Some(group) = Group::from_passed(queue) else {
            return Ok(None);
        };
        let root = Root::new(root)?;
        let superblock = Superblock::of(root.path())?;
        Self::with_group(root, superblock, group).map(Some)
    }

    /// Marks the file system (again, if the group already has the mark).
    fn with_group(root: Root, superblock: Superblock, group: Group) -> Result<Self> {
        let path = root.bytes();
        let refused = |source: SysError| refused(source, &path, superblock.kind.name());
        group
            .mark(&superblock.mount, Scope::FileSystem, MASK)
            .map_err(refused)?;
        let id = filesystem::id_of_fd(&superblock.mount).about("get the id of", &path)?;
        let file_system = FileSystemId(id);
        let anchor = handle::of_fd(&superblock.anchor, Use::Open).map_err(refused)?;
        let resolver = Resolver::new(
            superblock.mount,
            file_system,
            &anchor,
            superblock.anchor_path,
            path.clone(),
        )
        .about("open by its handle", &path)?;
        Ok(Fanotify {
            group,
            kind: superblock.kind,
            file_system,
            root,
            resolver,
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// Returns the file system's id, with which all keys begin.
    #[must_use]
    pub fn file_system(&self) -> FileSystemId {
        self.file_system
    }

    /// Reads at least `wanted` events, unless there are fewer.
    fn read(&mut self, wanted: u64, into: &mut dyn Receiver) -> Result<Drained> {
        let mut events = 0;
        while events < wanted {
            // The buffer is so small that it cannot hold many more events than wanted.
            let room = (wanted - events).saturating_mul(EVENT_BYTES_MIN);
            let room = usize::try_from(room).unwrap_or(BUFFER_BYTES);
            let room = room.clamp(READ_BYTES_MIN, BUFFER_BYTES);
            let bytes = self.group.read(&mut self.buffer[..room]);
            let bytes = bytes.about("read the events of", self.root.path.as_os_str().as_bytes())?;
            if bytes.is_empty() {
                let left = Remainder::Nothing;
                return Ok(Drained { events, left });
            }
            let context = (self.kind, self.file_system);
            events += take(bytes, context, &mut self.resolver, into);
        }
        let left = Remainder::More;
        Ok(Drained { events, left })
    }
}

/// Reports the events in `bytes`; returns their number.
fn take(
    bytes: &[u8],
    (kind, file_system): (Kind, FileSystemId),
    resolver: &mut Resolver,
    into: &mut dyn Receiver,
) -> u64 {
    let mut count = 0;
    for event in Events::new(bytes) {
        count += 1;
        let Ok(event) = event else {
            resolver.forget_all();
            let cause = Doubt::Malformed;
            into.change(Change::Everything { file_system, cause });
            continue;
        };
        if event.mask.has(Mask::QUEUE_OVERFLOW) {
            resolver.forget_all();
        }
        report(&event, file_system, into);
        let Some(object) = event.object.and_then(ObjectRef::parse) else {
            continue;
        };
        if !event.mask.has(Mask::ONDIR) {
            continue;
        }
        if event.mask.has(Mask::RENAME.with(Mask::DELETE)) {
            resolver.forget(object);
        }
        if event.mask.has(Mask::CREATE) && kind.begins_with_content(object) {
            into.change(Change::Subtree {
                directory: object,
                cause: SubtreeCause::New,
            });
        }
    }
    count
}

/// Converts the refusal of a group or a mark into an error with advice.
pub(crate) fn refused(source: SysError, path: &[u8], kind: &str) -> LiveError {
    let path = path.to_vec();
    let (why, advice) = match (source.op, source.errno) {
        (_, Errno::PERM) => return LiveError::Privilege { path, source },
        (Op::FanotifyInit, Errno::NOSYS) => ("the kernel has no fanotify", "scan it at intervals"),
        (Op::FanotifyInit, Errno::INVAL) => {
            ("it needs Linux 5.17 or newer", "scan it at intervals")
        }
        (Op::FanotifyInit, Errno::MFILE) => (
            "the user has too many fanotify groups",
            "raise /proc/sys/fs/fanotify/max_user_groups",
        ),
        (_, Errno::NOTSUP) => ("it has no file handles", "scan it at intervals"),
        (_, Errno::NODEV | Errno::XDEV) => ("it has no id of its own", "scan it at intervals"),
        _ => {
            return LiveError::System {
                doing: "watch",
                path,
                source,
            };
        }
    };
    LiveError::Unwatchable {
        path,
        file_system: kind.to_owned(),
        why,
        advice,
    }
}

impl Watch for Fanotify {
    const NAME: &'static str = "Fanotify";
    const USED_FOR: &'static str = "ext4, xfs, btrfs, tmpfs, overlay";
    const METHOD: &'static str = "fanotify, one mark on the file system";

    fn watch(tree: &Tree<'_>, queue: Option<OwnedFd>) -> Result<Begun<Fanotify>> {
        let over = queue.map(|queue| Fanotify::take_over(tree.root, queue));
        // A kept queue may not fit the present file system; then a new one is opened.
        let over = over.and_then(|over| over.ok().flatten());
        let is_taken_over = over.is_some();
        let source = match over {
            Some(source) => source,
            None => Fanotify::open(tree.root, QueueSize::Unlimited)?,
        };
        Ok(Begun {
            file_system: Some(source.file_system()),
            queue: source.as_fd().try_clone_to_owned().ok(),
            source,
            is_taken_over,
        })
    }
}

impl AsFd for Fanotify {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.group.as_fd()
    }
}

impl ChangeSource for Fanotify {
    fn describe(&self) -> Description {
        Description {
            root: self.root.bytes(),
            file_system: self.kind.name().to_owned(),
            how: Self::METHOD,
            interval: None,
            unseen: self.kind.unseen().to_vec(),
            uncovered: 0,
            unwatched: Vec::new(),
        }
    }

    fn drain(&mut self, limit: usize, into: &mut dyn Receiver) -> Result<Drained> {
        self.root.check()?;
        self.read(limit as u64, into)
    }

    fn barrier(&mut self, into: &mut dyn Receiver) -> Result<Barrier> {
        self.root.check()?;
        let queued = self.group.queued_events();
        let waiting = queued.about(
            "count the queued events of",
            self.root.path.as_os_str().as_bytes(),
        )?;
        let events = self.read(waiting, into)?.events;
        Ok(Barrier {
            waiting,
            events,
            as_of: AsOf::Now,
        })
    }

    fn places(&mut self) -> &mut dyn KeyResolver {
        &mut self.resolver
    }

    fn handles(&self) -> Option<FileSystemId> {
        // Paths in an overlay differ from those in its upper directory.
        (self.kind != Kind::OverlayUpper).then_some(self.file_system)
    }
}
