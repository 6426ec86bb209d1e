//! Directories on the way down from a root, and how to open them: by name in the nearest directory
//! above that is still open. How many stay open is limited.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use trawl_sys::directory::{AccessTime, Links, Purpose, open_below, open_path};
use trawl_sys::{CWD, SysError};

use crate::confined::Confined;

/// The most directories that are kept open.
const KEPT_MAX: usize = 256;
/// Descriptors that are left to the rest of the program.
const SPARE: usize = 64;

/// Opens a directory to list it.
pub(super) const LIST: Purpose = Purpose::List(AccessTime::Update);

/// How many directories may be kept open.
#[derive(Debug)]
pub(super) struct Budget {
    left: AtomicUsize,
}

impl Budget {
    /// What the process's limit leaves, of which a program in which this is a library wants most.
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

/// Device and inode.
pub(super) type ObjectId = (u64, u64);

/// A directory.
#[derive(Debug)]
pub(super) struct Node {
    parent: Option<Arc<Node>>,
    /// In the parent; of a root its whole path.
    name: CString,
    links: Links,
    /// How many levels it lies below the root.
    pub(super) depth: usize,
    /// Device and inode, once it was looked at.
    id: OnceLock<ObjectId>,
    kept: OnceLock<Kept>,
    /// Of a root: where it is, if nothing may lead out of there.
    confined: Option<Confined>,
}

impl Node {
    /// A root, whose path may lead through links.
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

    /// The directory `name` in `parent`.
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

    /// Whether it is a root.
    pub(super) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// Notes what it is.
    pub(super) fn identify(&self, id: ObjectId) {
        let _ = self.id.set(id);
    }

    /// Whether one of the directories above is the object with this id.
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

    /// Its path below the root.
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

    /// Keeps the directory open for what is below it, if that may be.
    pub(super) fn keep(&self, fd: &Arc<OwnedFd>, budget: &Arc<Budget>) {
        if self.kept.get().is_none() && budget.take() {
            let kept = Kept {
                fd: Arc::clone(fd),
                budget: Arc::clone(budget),
            };
            let _ = self.kept.set(kept);
        }
    }

    /// Opens it.
    ///
    /// # Errors
    /// Those of open(2).
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
        // Each name as it was found: some are links, others must be none.
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

    /// Opens it in the directory above.
    fn open_in(&self, parent: BorrowedFd<'_>, purpose: Purpose) -> Result<OwnedFd, SysError> {
        match (self.links, self.confined()) {
            (Links::Followed, Some(confined)) => confined.open(&self.path(), purpose),
            (links, _) => open_path(parent, &self.name, purpose, links),
        }
    }

    /// Where the root is, if nothing may lead out of there.
    fn confined(&self) -> Option<&Confined> {
        let mut node = self;
        while let Some(parent) = &node.parent {
            node = parent;
        }
        node.confined.as_ref()
    }
}

impl Drop for Node {
    /// Lets go of the directories above one by one: a tree may be deeper than the stack.
    fn drop(&mut self) {
        let mut above = self.parent.take();
        while let Some(mut node) = above.and_then(Arc::into_inner) {
            above = node.parent.take();
        }
    }
}

/// Opens directories that lie one in the other.
fn open_names(
    from: impl AsFd,
    names: &[&[u8]],
    purpose: Purpose,
    links: Links,
) -> Result<OwnedFd, SysError> {
    // Names have no NULs: they come from the kernel, or were checked.
    let path = CString::new(names.join(&b'/')).unwrap_or_default();
    match names {
        // Refuses a link by itself, and costs less.
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

    /// Directories above may not be kept open: then the way to them is gone again.
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
        // One that is not to be followed is refused.
        let to = child(&d, c"to", Links::Refused);
        assert!(to.open(LIST).is_err());
        assert!(child(&to, c"c", Links::Refused).open(LIST).is_err());
        assert_eq!(c.path(), b"d/to/c");
    }
}
