//! Directories on the way from a start point.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use trawl_sys::directory::{AccessTime, Links, Purpose, open_path};
use trawl_sys::{CWD, SysError};
use trawl_walk::Facts;

use super::looker::Looked;

/// A directory on the way from a start point. A start point is reached by its
/// path from the working directory, as spelled.
pub(super) type Node = trawl_walk::Node<Directory>;

/// The facts known about a directory.
#[derive(Debug)]
pub(super) struct Directory {
    /// The device of the start point.
    pub(super) device: u64,
    /// Device and inode number, if they were read.
    id: Option<(u64, u64)>,
}

impl Facts for Directory {
    fn open_root(root: &Node, purpose: Purpose) -> Result<OwnedFd, SysError> {
        open_path(CWD, root.name(), purpose, root.links())
    }
}

/// Creates a node for a directory that is reached by its path from the working
/// directory: the start point, or a directory `depth` levels below it.
pub(super) fn start(
    path: CString,
    links: Links,
    looked: &Looked,
    device: u64,
    depth: usize,
) -> Node {
    let id = Some((looked.dev, looked.ino));
    Node::root(path, links, depth, Directory { device, id })
}

/// Creates a node for the directory `name` in `parent`.
pub(super) fn child(
    parent: &Arc<Node>,
    name: CString,
    links: Links,
    id: Option<(u64, u64)>,
) -> Node {
    let device = parent.facts.device;
    Node::child(parent, name, links, Directory { device, id })
}

/// Returns the depth of the directory with this device and inode number, if it
/// is `node` or one above it.
pub(super) fn find_above(node: &Node, id: (u64, u64)) -> Option<usize> {
    let mut above = node.ancestry();
    above
        .find(|above| above.facts.id == Some(id))
        .map(Node::depth)
}

/// Opens a directory for listing, unless it was kept open.
///
/// # Errors
/// Those of open(2).
pub(super) fn open(node: &Node) -> Result<Arc<OwnedFd>, SysError> {
    match node.kept() {
        Some(fd) => Ok(Arc::clone(fd)),
        None => node.open(Purpose::List(AccessTime::Update)).map(Arc::new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_above_are_found() {
        let looked = Looked {
            is_dir: true,
            dev: 1,
            ino: 1,
            trouble: None,
        };
        let start = start(c".".into(), Links::Refused, &looked, 1, 3);
        let a = Arc::new(child(&Arc::new(start), c"a".into(), Links::Refused, None));
        let b = child(&a, c"b".into(), Links::Refused, Some((1, 7)));
        assert_eq!(find_above(&b, (1, 1)), Some(3));
        assert_eq!(find_above(&b, (1, 7)), Some(5));
        assert_eq!(find_above(&a, (1, 7)), None);
    }
}
