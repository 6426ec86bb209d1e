//! The directories between a root and a visited directory. Some may be reached through symbolic
//! links, and in a confined tree no link may lead out of it.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use trawl_sys::directory::{AccessTime, Links, Purpose, open_below, open_path};
use trawl_sys::{CWD, SysError};
use trawl_walk::Facts;

use crate::confined::Confined;

/// How directories are opened for listing.
pub(super) const LIST: Purpose = Purpose::List(AccessTime::Update);

/// Device and inode number.
pub(super) type ObjectId = (u64, u64);

/// A directory on the way from a root. A root's path may pass through symbolic links.
pub(super) type Node = trawl_walk::Node<Directory>;

/// The facts known about a directory.
#[derive(Debug, Default)]
pub(super) struct Directory {
    id: OnceLock<ObjectId>,
    /// For a root: its place in a tree that no path may leave, if it is confined.
    confined: Option<Confined>,
}

/// Creates a root.
pub(super) fn root(path: CString, confined: Option<Confined>) -> Node {
    let facts = Directory {
        id: OnceLock::new(),
        confined,
    };
    Node::root(path, Links::Followed, 0, facts)
}

/// Creates the directory `name` in `parent`.
pub(super) fn child(parent: &Arc<Node>, name: CString, links: Links) -> Node {
    Node::child(parent, name, links, Directory::default())
}

/// Records a directory's device and inode number.
pub(super) fn identify(node: &Node, id: ObjectId) {
    let _ = node.facts.id.set(id);
}

/// Returns whether an ancestor is the object with this id.
pub(super) fn is_below(node: &Node, id: ObjectId) -> bool {
    let mut above = node.ancestry().skip(1);
    above.any(|above| above.facts.id.get() == Some(&id))
}

impl Facts for Directory {
    fn open_root(root: &Node, purpose: Purpose) -> Result<OwnedFd, SysError> {
        match &root.facts.confined {
            Some(confined) => confined.open(b"", purpose),
            None => open_below(CWD, root.name(), purpose, Links::Followed),
        }
    }

    /// Opens each name as it was found: some must be followed as links, others must not be links.
    fn open_followed(
        from: BorrowedFd<'_>,
        chain: &[&Node],
        purpose: Purpose,
    ) -> Result<OwnedFd, SysError> {
        let Some((last, above)) = chain.split_last() else {
            return open_path(from, c".", purpose, Links::Refused);
        };
        let mut parent: Option<OwnedFd> = None;
        for node in above {
            let from = parent.as_ref().map_or(from, AsFd::as_fd);
            parent = Some(open_in(node, from, Purpose::Pass)?);
        }
        open_in(last, parent.as_ref().map_or(from, AsFd::as_fd), purpose)
    }
}

/// Opens a directory in its parent.
fn open_in(node: &Node, parent: BorrowedFd<'_>, purpose: Purpose) -> Result<OwnedFd, SysError> {
    match (node.links(), confined(node)) {
        (Links::Followed, Some(confined)) => confined.open(&node.path(), purpose),
        (links, _) => open_path(parent, node.name(), purpose, links),
    }
}

/// Returns the root's place in a tree that no path may leave, if the root is confined.
fn confined(node: &Node) -> Option<&Confined> {
    node.ancestry().last()?.facts.confined.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;
    use trawl_walk::Budget;

    /// When no ancestor may be kept open, each open goes the whole way from the root again.
    #[test]
    fn directories_are_opened_from_wherever_one_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        std::fs::create_dir_all(top.join("a/b/c")).unwrap();
        std::fs::create_dir_all(top.join("d")).unwrap();
        std::os::unix::fs::symlink("../a/b", top.join("d/to")).unwrap();
        let name = CString::new(top.as_os_str().as_encoded_bytes()).unwrap();
        let root = Arc::new(root(name, None));
        let child = |parent, name: &CStr, links| Arc::new(super::child(parent, name.into(), links));
        let d = child(&root, c"d", Links::Refused);
        let to = child(&d, c"to", Links::Followed);
        let c = child(&to, c"c", Links::Refused);
        let ino = |fd: OwnedFd| trawl_sys::stat::stat_fd(&fd).unwrap().ino;
        let expected = std::os::unix::fs::MetadataExt::ino(&top.join("a/b/c").metadata().unwrap());
        assert_eq!(ino(c.open(LIST).unwrap()), expected);
        let budget = Budget::of_library();
        d.keep(&Arc::new(d.open(LIST).unwrap()), &budget);
        assert_eq!(ino(c.open(LIST).unwrap()), expected);
        // A link that is not to be followed is refused.
        let to = child(&d, c"to", Links::Refused);
        assert!(to.open(LIST).is_err());
        assert!(child(&to, c"c", Links::Refused).open(LIST).is_err());
        assert_eq!(c.path(), b"d/to/c");
    }
}
