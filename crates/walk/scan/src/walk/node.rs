//! A directory of the walk: its identity and its chain of ancestors.
//!
//! Paths are not stored (in a deep tree they would take quadratic space). They are built from the
//! chain when a batch or an issue needs one.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use trawl_model::DirId;
use trawl_sys::device::DeviceNumber;
use trawl_sys::stat::Stat;

/// One directory, shared by its descendants.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: DirId,
    pub(crate) parent: Option<Arc<Node>>,
    /// Name in the parent; the whole path for the root.
    name: CString,
    path_len: usize,
    pub(crate) depth: usize,
    pub(crate) identity: Identity,
}

/// Properties by which a directory is recognised when it is opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) dev: DeviceNumber,
    pub(crate) ino: u64,
    pub(crate) mnt_id: u64,
}

impl From<&Stat> for Identity {
    fn from(stat: &Stat) -> Self {
        Identity {
            dev: stat.dev,
            ino: stat.ino,
            mnt_id: stat.mnt_id,
        }
    }
}

impl Node {
    /// Makes the walk's root at `path` (absolute, empty for `/`).
    pub(crate) fn root(id: DirId, path: CString, stat: &Stat) -> Arc<Node> {
        let path_len = path.to_bytes().len();
        Arc::new(Node {
            id,
            parent: None,
            name: path,
            path_len,
            depth: 0,
            identity: stat.into(),
        })
    }

    /// Makes the directory `name` of `parent`.
    pub(crate) fn child(parent: &Arc<Node>, id: DirId, name: CString, stat: &Stat) -> Arc<Node> {
        Arc::new(Node {
            id,
            path_len: parent.path_len + 1 + name.to_bytes().len(),
            depth: parent.depth + 1,
            parent: Some(Arc::clone(parent)),
            name,
            identity: stat.into(),
        })
    }

    /// Returns the name in the parent; the whole path for the root.
    pub(crate) fn name(&self) -> &CStr {
        &self.name
    }

    /// Returns the absolute path, empty for `/`.
    pub(crate) fn path(&self) -> Vec<u8> {
        let mut path = vec![0; self.path_len];
        let mut end = self.path_len;
        let mut node = self;
        while let Some(parent) = &node.parent {
            end = put_before(&mut path, end, node.name.to_bytes());
            end = put_before(&mut path, end, b"/");
            node = parent;
        }
        put_before(&mut path, end, node.name.to_bytes());
        path
    }

    /// Returns the nodes from this one up to the root.
    pub(crate) fn ancestry(self: &Arc<Self>) -> impl Iterator<Item = &Arc<Node>> {
        std::iter::successors(Some(self), |node| node.parent.as_ref())
    }
}

/// Copies `part` so that it ends at `end`; returns its start.
fn put_before(path: &mut [u8], end: usize, part: &[u8]) -> usize {
    let start = end.saturating_sub(part.len());
    if let Some(place) = path.get_mut(start..end) {
        place.copy_from_slice(part);
    }
    start
}

impl Drop for Node {
    /// Releases the chain in a loop: the compiler's default would recurse once a level.
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(node) = next {
            next = Arc::into_inner(node).and_then(|mut node| node.parent.take());
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn any_stat() -> Stat {
        trawl_sys::stat::stat_fd(std::fs::File::open("/").unwrap()).unwrap()
    }

    #[test]
    fn paths_come_from_the_chain() {
        let stat = any_stat();
        for (root, want) in [(c"", &b"/a/b"[..]), (c"/srv", b"/srv/a/b")] {
            let root = Node::root(DirId(0), root.into(), &stat);
            let a = Node::child(&root, DirId(1), c"a".into(), &stat);
            assert_eq!(Node::child(&a, DirId(2), c"b".into(), &stat).path(), want);
        }
    }

    #[test]
    fn a_very_deep_chain_is_dropped_without_recursion() {
        let stat = any_stat();
        let mut node = Node::root(DirId(0), c"".into(), &stat);
        for i in 0..1_000_000 {
            node = Node::child(&node, DirId(i), c"d".into(), &stat);
        }
        assert_eq!(node.depth, 1_000_000);
        drop(node);
    }
}
