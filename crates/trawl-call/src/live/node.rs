//! The directories between a root and a visited directory, and how to open them: by name in the
//! nearest ancestor that is still open. The number of directories kept open is bounded.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use trawl_sys::directory::{AccessTime, Links, Purpose, open_below, open_path};
use trawl_sys::{CWD, SysError};

use crate::confined::Confined;

/// Maximum number of directories that are kept open.
const KEPT_MAX: usize = 256;
/// Number of descriptors that are left to the rest of the program.
const SPARE: usize = 64;

/// How directories are opened for listing.
pub(super) const LIST: Purpose = Purpose::List(AccessTime::Update);

/// The number of directories that may still be kept open.
#[derive(Debug)]
pub(super) struct Budget {
    left: AtomicUsize,
}

impl Budget {
    /// Returns a quarter of the descriptors that the process's limit allows beyond [`SPARE`], at
    /// most [`KEPT_MAX`]: a program that uses this library needs most descriptors itself.
    pub(super) fn of_process() -> Arc<Budget> {
        let limit = usize::try_from(trawl_sys::process::descriptor_limit()).unwrap_or(usize::MAX);
        let left = limit.saturating_sub(SPARE) / 4;
        Arc::new(Budget {
            left: AtomicUsize::new(left.min(KEPT_MAX)),
        })
    }

    fn take(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.is_ok()
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

/// Device and inode number.
pub(super) type ObjectId = (u64, u64);

/// A directory on the way from a root.
#[derive(Debug)]
pub(super) struct Node {
    parent: Option<Arc<Node>>,
    /// Name in the parent directory; for a root, its whole path.
    name: CString,
    links: Links,
    /// Number of levels below the root.
    pub(super) depth: usize,
    /// Device and inode number, once known.
    id: OnceLock<ObjectId>,
    kept: OnceLock<Kept>,
    /// For a root: its place in a tree that no path may leave, if it is confined.
    confined: Option<Confined>,
}

impl Node {
    /// Creates a root. Its path may pass through symbolic links.
    pub(super) fn root(path: CString, confined: Option<Confined>) -> Node {
        Node {
            parent: None,
            name: path,
            links: Links::Followed,
            depth: 0,
            id: OnceLock::new(),
            kept: OnceLock::new(),
            confined,
        }
    }

    /// Creates the directory `name` in `parent`.
    pub(super) fn child(parent: &Arc<Node>, name: &CStr, links: Links) -> Node {
        Node {
            depth: parent.depth + 1,
            parent: Some(Arc::clone(parent)),
            name: name.to_owned(),
            links,
            id: OnceLock::new(),
            kept: OnceLock::new(),
            confined: None,
        }
    }

    /// Returns whether it is a root.
    pub(super) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// Records the directory's device and inode number.
    pub(super) fn identify(&self, id: ObjectId) {
        let _ = self.id.set(id);
    }

    /// Returns whether an ancestor is the object with this id.
    pub(super) fn is_below(&self, id: ObjectId) -> bool {
        let mut node = self.parent.as_deref();
        while let Some(above) = node {
            if above.id.get() == Some(&id) {
                return true;
            }
            node = above.parent.as_deref();
        }
        false
    }

    /// Returns the directory's path below the root.
    pub(super) fn path(&self) -> Vec<u8> {
        let mut names = Vec::with_capacity(self.depth);
        let mut node = self;
        while let Some(parent) = &node.parent {
            names.push(node.name.to_bytes());
            node = parent;
        }
        names.reverse();
        names.join(&b'/')
    }

    /// Keeps the directory open for its subdirectories, if the budget allows it.
    pub(super) fn keep(&self, fd: &Arc<OwnedFd>, budget: &Arc<Budget>) {
        if self.kept.get().is_none() && budget.take() {
            let kept = Kept {
                fd: Arc::clone(fd),
                budget: Arc::clone(budget),
            };
            let _ = self.kept.set(kept);
        }
    }

    /// Opens the directory.
    ///
    /// # Errors
    /// Fails with the errors of open(2).
    pub(super) fn open(&self, purpose: Purpose) -> Result<OwnedFd, SysError> {
        let mut chain = vec![self];
        let mut node = self;
        let mut from = None;
        while let Some(parent) = &node.parent {
            from = parent.kept.get().map(|kept| Arc::clone(&kept.fd));
            if from.is_some() {
                break;
            }
            chain.push(parent);
            node = parent;
        }
        chain.reverse();
        let from = match (from, &chain[..]) {
            (Some(from), _) => from,
            (None, [root]) => return root.open_root(purpose),
            (None, _) => {
                let root = chain.remove(0);
                Arc::new(root.open_root(Purpose::Pass)?)
            }
        };
        if chain.iter().all(|node| node.links == Links::Refused) {
            let names: Vec<&[u8]> = chain.iter().map(|node| node.name.to_bytes()).collect();
            return open_names(from.as_fd(), &names, purpose, Links::Refused);
        }
        // Opens each name as it was found: some must be followed as links, others must not be
        // links.
        let mut from = from;
        for node in &chain[..chain.len() - 1] {
            from = Arc::new(node.open_in(from.as_fd(), Purpose::Pass)?);
        }
        self.open_in(from.as_fd(), purpose)
    }

    fn open_root(&self, purpose: Purpose) -> Result<OwnedFd, SysError> {
        match &self.confined {
            Some(confined) => confined.open(b"", purpose),
            None => open_names(CWD, &[self.name.to_bytes()], purpose, Links::Followed),
        }
    }

    /// Opens the directory in its parent.
    fn open_in(&self, parent: BorrowedFd<'_>, purpose: Purpose) -> Result<OwnedFd, SysError> {
        match (self.links, self.confined()) {
            (Links::Followed, Some(confined)) => confined.open(&self.path(), purpose),
            (links, _) => open_path(parent, &self.name, purpose, links),
        }
    }

    /// Returns the root's place in a tree that no path may leave, if the root is confined.
    fn confined(&self) -> Option<&Confined> {
        let mut node = self;
        while let Some(parent) = &node.parent {
            node = parent;
        }
        node.confined.as_ref()
    }
}

impl Drop for Node {
    /// Drops the ancestors one by one: recursion could exhaust the stack in a deep tree.
    fn drop(&mut self) {
        let mut above = self.parent.take();
        while let Some(mut node) = above.and_then(Arc::into_inner) {
            above = node.parent.take();
        }
    }
}

/// Opens the directory at the end of a chain of names, each in the one before.
fn open_names(
    from: impl AsFd,
    names: &[&[u8]],
    purpose: Purpose,
    links: Links,
) -> Result<OwnedFd, SysError> {
    // Names contain no NUL bytes: the kernel returned them, or they were checked.
    let path = CString::new(names.join(&b'/')).unwrap_or_default();
    match names {
        // `open_path` refuses a link by itself, and costs less.
        [one] if !one.contains(&b'/') => open_path(from, &path, purpose, links),
        _ => open_below(from, &path, purpose, links),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_deeper_than_the_stack_is_let_go() {
        let mut node = Arc::new(Node::root(c".".into(), None));
        for _ in 0..300_000 {
            node = Arc::new(Node::child(&node, c"x", Links::Refused));
        }
        assert_eq!(node.depth, 300_000);
        drop(node);
    }

    /// When no ancestor may be kept open, each open goes the whole way from the root again.
    #[test]
    fn directories_are_opened_from_wherever_one_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        std::fs::create_dir_all(top.join("a/b/c")).unwrap();
        std::fs::create_dir_all(top.join("d")).unwrap();
        std::os::unix::fs::symlink("../a/b", top.join("d/to")).unwrap();
        let name = CString::new(top.as_os_str().as_encoded_bytes()).unwrap();
        let root = Arc::new(Node::root(name, None));
        let child = |parent, name: &CStr, links| Arc::new(Node::child(parent, name, links));
        let d = child(&root, c"d", Links::Refused);
        let to = child(&d, c"to", Links::Followed);
        let c = child(&to, c"c", Links::Refused);
        let ino = |fd: OwnedFd| trawl_sys::stat::stat_fd(&fd).unwrap().ino;
        let expected = std::os::unix::fs::MetadataExt::ino(&top.join("a/b/c").metadata().unwrap());
        assert_eq!(ino(c.open(LIST).unwrap()), expected);
        let budget = Budget::of_process();
        d.keep(&Arc::new(d.open(LIST).unwrap()), &budget);
        assert_eq!(ino(c.open(LIST).unwrap()), expected);
        // A link that is not to be followed is refused.
        let to = child(&d, c"to", Links::Refused);
        assert!(to.open(LIST).is_err());
        assert!(child(&to, c"c", Links::Refused).open(LIST).is_err());
        assert_eq!(c.path(), b"d/to/c");
    }
}
