//! The directories between a root and a visited directory. A directory is opened by name in the
//! nearest ancestor that is still open.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use trawl_sys::SysError;
use trawl_sys::directory::{Links, Purpose, open_below, open_path};

use crate::budget::{Budget, Kept};

/// A directory on the way from a root, with the facts that a walk knows about it.
#[derive(Debug)]
pub struct Node<T> {
    parent: Option<Arc<Node<T>>>,
    /// Name in the parent directory; for a root, its whole path.
    name: CString,
    links: Links,
    depth: usize,
    kept: OnceLock<Kept>,
    /// The facts that the walk knows about the directory.
    pub facts: T,
}

/// How a walk opens directories that are not simply names in their parents.
pub trait Facts: Sized {
    /// Opens a root.
    ///
    /// # Errors
    /// Those of open(2).
    fn open_root(root: &Node<Self>, purpose: Purpose) -> Result<OwnedFd, SysError>;

    /// Opens the last directory of a chain, each of which lies in the one before and the first in
    /// `from`. At least one of them may be reached through a symbolic link.
    ///
    /// # Errors
    /// Those of open(2).
    fn open_followed(
        from: BorrowedFd<'_>,
        chain: &[&Node<Self>],
        purpose: Purpose,
    ) -> Result<OwnedFd, SysError> {
        open_names(from, chain, purpose, Links::Followed)
    }
}

impl<T> Node<T> {
    /// Creates a root that is `depth` levels below the start of the search. A symbolic link at the
    /// end of its path is treated as `links` says.
    pub fn root(path: CString, links: Links, depth: usize, facts: T) -> Node<T> {
        Node {
            parent: None,
            name: path,
            links,
            depth,
            kept: OnceLock::new(),
            facts,
        }
    }

    /// Creates the directory `name` in `parent`.
    pub fn child(parent: &Arc<Node<T>>, name: CString, links: Links, facts: T) -> Node<T> {
        Node {
            depth: parent.depth + 1,
            parent: Some(Arc::clone(parent)),
            name,
            links,
            kept: OnceLock::new(),
            facts,
        }
    }

    /// The name in the parent directory; for a root, its whole path.
    pub fn name(&self) -> &CStr {
        &self.name
    }

    /// Whether the name may be a symbolic link.
    pub fn links(&self) -> Links {
        self.links
    }

    /// Number of levels below the start of the search.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Returns whether it is a root.
    pub fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// Returns the directory itself and its ancestors, up to the root.
    pub fn ancestry(&self) -> impl Iterator<Item = &Node<T>> {
        std::iter::successors(Some(self), |node| node.parent.as_deref())
    }

    /// Returns the directory's path below the root.
    pub fn path(&self) -> Vec<u8> {
        let below_root = self.ancestry().take_while(|node| !node.is_root());
        let mut names: Vec<&[u8]> = below_root.map(|node| node.name.to_bytes()).collect();
        names.reverse();
        names.join(&b'/')
    }

    /// Keeps the directory open for its subdirectories, if the budget allows it.
    pub fn keep(&self, fd: &Arc<OwnedFd>, budget: &Arc<Budget>) {
        if self.kept.get().is_none()
            && let Some(kept) = Kept::within(budget, fd)
        {
            let _ = self.kept.set(kept);
        }
    }

    /// Returns the descriptor by which the directory was kept open, if it was.
    pub fn kept(&self) -> Option<&Arc<OwnedFd>> {
        self.kept.get().map(|kept| &kept.fd)
    }
}

impl<T: Facts> Node<T> {
    /// Opens the directory.
    ///
    /// # Errors
    /// Those of open(2).
    pub fn open(&self, purpose: Purpose) -> Result<OwnedFd, SysError> {
        let mut chain = vec![self];
        let mut node = self;
        let mut from = None;
        while let Some(parent) = &node.parent {
            from = parent.kept().map(Arc::clone);
            if from.is_some() {
                break;
            }
            chain.push(parent);
            node = parent;
        }
        let from = match (from, chain.len()) {
            (Some(from), _) => from,
            (None, 1) => return T::open_root(self, purpose),
            (None, _) => {
                chain.pop();
                Arc::new(T::open_root(node, Purpose::Pass)?)
            }
        };
        chain.reverse();
        if chain.iter().any(|node| node.links == Links::Followed) {
            return T::open_followed(from.as_fd(), &chain, purpose);
        }
        open_names(from.as_fd(), &chain, purpose, Links::Refused)
    }
}

/// Opens the directory at the end of a chain of names with as few calls as possible.
fn open_names<T>(
    from: BorrowedFd<'_>,
    chain: &[&Node<T>],
    purpose: Purpose,
    links: Links,
) -> Result<OwnedFd, SysError> {
    if let [one] = chain {
        // It refuses a link by itself, and costs less than `open_below`.
        return open_path(from, &one.name, purpose, links);
    }
    let names: Vec<&[u8]> = chain.iter().map(|node| node.name.to_bytes()).collect();
    // Names contain no NUL bytes: the kernel returned them, or they were checked.
    let path = CString::new(names.join(&b'/')).unwrap_or_default();
    open_below(from, &path, purpose, links)
}

impl<T> Drop for Node<T> {
    /// Drops the ancestors one by one: recursion could exhaust the stack in a deep tree.
    fn drop(&mut self) {
        let mut above = self.parent.take();
        while let Some(mut node) = above.and_then(Arc::into_inner) {
            above = node.parent.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use trawl_sys::CWD;
    use trawl_sys::directory::AccessTime;
    use trawl_sys::stat::stat_fd;

    const LIST: Purpose = Purpose::List(AccessTime::Update);

    #[derive(Debug)]
    struct Plain;

    impl Facts for Plain {
        fn open_root(root: &Node<Self>, purpose: Purpose) -> Result<OwnedFd, SysError> {
            open_path(CWD, root.name(), purpose, root.links())
        }
    }

    fn root(path: &Path) -> Arc<Node<Plain>> {
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        Arc::new(Node::root(name, Links::Refused, 0, Plain))
    }

    fn child(parent: &Arc<Node<Plain>>, name: &CStr, links: Links) -> Arc<Node<Plain>> {
        Arc::new(Node::child(parent, name.into(), links, Plain))
    }

    fn ino(node: &Node<Plain>) -> Result<u64, SysError> {
        Ok(stat_fd(&node.open(LIST)?)?.ino)
    }

    #[test]
    fn a_chain_deeper_than_the_stack_is_let_go() {
        let mut node = root(Path::new("."));
        for _ in 0..300_000 {
            node = child(&node, c"x", Links::Refused);
        }
        assert_eq!(node.depth(), 300_000);
        assert_eq!(node.ancestry().count(), 300_001);
        drop(node);
    }

    #[test]
    fn directories_are_opened_from_the_nearest_that_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        std::fs::create_dir_all(top.join("a/b/c")).unwrap();
        let a = child(&root(top), c"a", Links::Refused);
        let b = child(&a, c"b", Links::Refused);
        let c = child(&b, c"c", Links::Refused);
        let expected = std::os::unix::fs::MetadataExt::ino(&top.join("a/b/c").metadata().unwrap());
        assert_eq!(ino(&c), Ok(expected));
        assert_eq!(c.path(), b"a/b/c");
        let budget = Budget::of_program(1);
        a.keep(&Arc::new(a.open(LIST).unwrap()), &budget);
        assert_eq!(ino(&c), Ok(expected));
        // A link in the place of a directory is refused.
        std::fs::rename(top.join("a/b"), top.join("a/elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", top.join("a/b")).unwrap();
        assert!(ino(&c).is_err());
        let b = child(&a, c"b", Links::Followed);
        assert_eq!(ino(&child(&b, c"c", Links::Refused)), Ok(expected));
    }
}
