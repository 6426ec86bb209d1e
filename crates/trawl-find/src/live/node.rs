//! Directories on the way from a start point. They are opened by name from the
//! nearest directory above that is still open. The number of directories kept
//! open is limited.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use trawl_sys::directory::{AccessTime, Links, Purpose, open_below, open_path};
use trawl_sys::{CWD, Errno, Op, SysError};

use super::looker::Looked;

/// Maximum number of directories kept open.
const KEPT_MAX: usize = 512;
/// Descriptors reserved for everything else: streams, files, commands.
const SPARE: usize = 16;
/// Descriptors that a thread needs at the same time.
pub(super) const PER_THREAD: usize = 4;

/// The number of directories that may still be kept open.
#[derive(Debug)]
pub(super) struct Budget {
    left: AtomicUsize,
}

impl Budget {
    /// Returns the budget that the process's descriptor limit leaves to a
    /// search with this many threads.
    pub(super) fn of_process(threads: usize) -> Arc<Budget> {
        let limit = usize::try_from(trawl_sys::process::descriptor_limit()).unwrap_or(usize::MAX);
        let spare = SPARE.saturating_add(threads.saturating_mul(PER_THREAD));
        Arc::new(Budget {
            left: AtomicUsize::new(limit.saturating_sub(spare).min(KEPT_MAX)),
        })
    }

    fn take(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    }
}

/// An open directory that counts against the budget.
#[derive(Debug)]
struct Kept {
    fd: Arc<OwnedFd>,
    budget: Arc<Budget>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.budget.left.fetch_add(1, Ordering::Relaxed);
    }
}

/// A directory on the way from a start point.
#[derive(Debug)]
pub(super) struct Node {
    parent: Option<Arc<Node>>,
    /// Its name in the parent; for a start point, the whole path as spelled.
    name: CString,
    links: Links,
    /// Number of levels below the start point.
    pub(super) depth: usize,
    /// The device of the start point.
    pub(super) device: u64,
    /// Device and inode number, if they were read.
    id: Option<(u64, u64)>,
    kept: OnceLock<Kept>,
}

impl Node {
    /// Creates a node for a directory that is reached by its path from the
    /// working directory: the start point, or a directory `depth` levels below
    /// it.
    pub(super) fn start(
        path: CString,
        links: Links,
        looked: &Looked,
        device: u64,
        depth: usize,
    ) -> Node {
        Node {
            parent: None,
            name: path,
            links,
            depth,
            device,
            id: Some((looked.dev, looked.ino)),
            kept: OnceLock::new(),
        }
    }

    /// Creates a node for the directory `name` in `parent`.
    pub(super) fn child(
        parent: &Arc<Node>,
        name: CString,
        links: Links,
        id: Option<(u64, u64)>,
    ) -> Node {
        Node {
            depth: parent.depth + 1,
            device: parent.device,
            parent: Some(Arc::clone(parent)),
            name,
            links,
            id,
            kept: OnceLock::new(),
        }
    }

    /// Returns the depth of the directory with this device and inode number, if
    /// it is this directory or one above it.
    pub(super) fn find_above(&self, id: (u64, u64)) -> Option<usize> {
        let mut node = Some(self);
        while let Some(here) = node {
            if here.id == Some(id) {
                return Some(here.depth);
            }
            node = here.parent.as_deref();
        }
        None
    }

    /// Keeps the directory open for its subdirectories, if the budget allows
    /// it.
    pub(super) fn keep(&self, fd: &Arc<OwnedFd>, budget: &Arc<Budget>) {
        if self.kept.get().is_none() && budget.take() {
            let kept = Kept {
                fd: Arc::clone(fd),
                budget: Arc::clone(budget),
            };
            let _ = self.kept.set(kept);
        }
    }

    /// Opens the directory for listing.
    ///
    /// # Errors
    /// Those of open(2).
    pub(super) fn open(&self) -> Result<Arc<OwnedFd>, SysError> {
        let mut below = vec![self];
        let mut node = self;
        let mut from: Option<Arc<OwnedFd>> = self.kept_fd();
        while from.is_none()
            && let Some(parent) = &node.parent
        {
            node = parent;
            from = node.kept_fd();
            if from.is_none() {
                below.push(node);
            }
        }
        below.reverse();
        match (from, below.split_first()) {
            (Some(from), _) if std::ptr::eq(node, self) => Ok(from),
            (Some(from), _) => open_chain(from, &below),
            (None, Some((start, rest))) => {
                let purpose = match rest {
                    [] => LIST,
                    _ => Purpose::Pass,
                };
                let fd = open_path(CWD, &start.name, purpose, start.links)?;
                open_chain(Arc::new(fd), rest)
            }
            (None, None) => Err(SysError::new(Op::Openat, Errno::NOENT)),
        }
    }

    fn kept_fd(&self) -> Option<Arc<OwnedFd>> {
        self.kept.get().map(|kept| Arc::clone(&kept.fd))
    }
}

impl Drop for Node {
    /// Drops the directories above iteratively: a tree may be deeper than the
    /// stack.
    fn drop(&mut self) {
        let mut above = self.parent.take();
        while let Some(mut node) = above.and_then(Arc::into_inner) {
            above = node.parent.take();
        }
    }
}

const LIST: Purpose = Purpose::List(AccessTime::Update);

/// Opens a chain of nested directories, the first one in `from`, and returns
/// the last one, opened for listing.
fn open_chain(from: Arc<OwnedFd>, nodes: &[&Node]) -> Result<Arc<OwnedFd>, SysError> {
    let opened = match nodes {
        [] => return Ok(from),
        [one] => open_path(&*from, &one.name, LIST, one.links)?,
        [first, ..] => {
            let names: Vec<&[u8]> = nodes.iter().map(|node| node.name.to_bytes()).collect();
            // Names come from the kernel, and hold no NULs.
            let path = CString::new(names.join(&b'/')).unwrap_or_default();
            open_below(&*from, &path, LIST, first.links)?
        }
    };
    Ok(Arc::new(opened))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_deeper_than_the_stack_is_let_go() {
        let looked = Looked {
            is_dir: true,
            dev: 1,
            ino: 1,
            trouble: None,
        };
        let start = Node::start(c".".into(), Links::Refused, &looked, 1, 0);
        let mut node = Arc::new(start);
        for _ in 0..300_000 {
            node = Arc::new(Node::child(&node, c"x".into(), Links::Refused, None));
        }
        assert_eq!(node.depth, 300_000);
        assert_eq!(node.find_above((1, 1)), Some(0));
        drop(node);
    }

    #[test]
    fn directories_are_opened_from_the_nearest_that_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/c");
        std::fs::create_dir_all(&path).unwrap();
        let name = CString::new(folder.path().as_os_str().as_encoded_bytes()).unwrap();
        let looked = Looked {
            is_dir: true,
            dev: 0,
            ino: 0,
            trouble: None,
        };
        let start = Arc::new(Node::start(name, Links::Refused, &looked, 0, 0));
        let child = |parent, name: &std::ffi::CStr| {
            Arc::new(Node::child(parent, name.into(), Links::Refused, None))
        };
        let a = child(&start, c"a");
        let b = child(&a, c"b");
        let c = child(&b, c"c");
        let ino = |node: &Node| {
            let fd = node.open().unwrap();
            trawl_sys::stat::stat_fd(&*fd).unwrap().ino
        };
        let expected = std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap());
        assert_eq!(ino(&c), expected);
        let budget = Budget::of_process(1);
        a.keep(&a.open().unwrap(), &budget);
        assert_eq!(ino(&c), expected);
        // A link in the place of a directory is refused.
        std::fs::rename(folder.path().join("a/b"), folder.path().join("a/elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", folder.path().join("a/b")).unwrap();
        assert!(c.open().is_err());
    }
}
