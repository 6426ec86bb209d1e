//! What the kernel knows: the root, views, members and notes, each as long as the kernel counts
//! lookups of it.
//!
//! Numbers are computed from what they stand for, so that a member has the same inode number each
//! time. A name that means another member for another user, or later, has another number: the kernel
//! never shows one user what it was told for another.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fuser::FileType;
use xxhash_rust::xxh3::xxh3_64;

use crate::question::Question;

/// Number of the root.
pub(crate) const ROOT: u64 = 1;

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// The directory of views.
    Root,
    /// A view's directory.
    View(Question),
    /// A link to a member with this path.
    Link(Vec<u8>),
    /// A file with this text.
    Note(Arc<Vec<u8>>),
}

/// A node.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) number: u64,
    pub(crate) parent: u64,
    pub(crate) name: Vec<u8>,
    pub(crate) content: Content,
}

impl Content {
    pub(crate) fn kind(&self) -> FileType {
        match self {
            Content::Root | Content::View(_) => FileType::Directory,
            Content::Link(_) => FileType::Symlink,
            Content::Note(_) => FileType::RegularFile,
        }
    }
}

impl Node {
    pub(crate) fn name(&self) -> &OsStr {
        OsStr::from_bytes(&self.name)
    }
}

/// Returns the number of a node, unless another one has it.
pub(crate) fn number(parent: u64, name: &[u8], content: &Content) -> u64 {
    let (kind, rest) = match content {
        Content::Root => return ROOT,
        Content::View(question) => (b'v', question.words().join(&0)),
        Content::Link(path) => (b'l', path.clone()),
        Content::Note(text) => (b'n', text.to_vec()),
    };
    let key = [&parent.to_le_bytes()[..], name, &[0, kind], &rest].concat();
    (xxh3_64(&key) >> 1).max(ROOT + 1)
}

#[derive(Debug)]
struct Known {
    node: Arc<Node>,
    lookups: u64,
}

#[derive(Debug, Default)]
struct Table {
    by_number: HashMap<u64, Known>,
    /// Numbers by age. Some are of nodes that are gone.
    by_age: VecDeque<u64>,
}

/// All nodes.
#[derive(Debug)]
pub(crate) struct Nodes(Mutex<Table>);

impl Nodes {
    pub(crate) fn new() -> Nodes {
        let node = Node {
            number: ROOT,
            parent: ROOT,
            name: Vec::new(),
            content: Content::Root,
        };
        let known = Known {
            node: Arc::new(node),
            lookups: 1,
        };
        let mut table = Table::default();
        table.by_number.insert(ROOT, known);
        Nodes(Mutex::new(table))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, number: u64) -> Option<Arc<Node>> {
        let table = self.table();
        let known = table.by_number.get(&number)?;
        Some(Arc::clone(&known.node))
    }

    /// Returns the number of nodes.
    pub(crate) fn count(&self) -> usize {
        self.table().by_number.len()
    }

    /// Returns the node that the kernel is about to hear of, and counts that.
    pub(crate) fn found(&self, parent: u64, name: &[u8], content: Content) -> Arc<Node> {
        let mut table = self.table();
        let mut number = number(parent, name, &content);
        loop {
            match table.by_number.get_mut(&number) {
                Some(Known { node, lookups })
                    if (node.parent, &node.name[..]) == (parent, name)
                        && node.content == content =>
                {
                    *lookups += 1;
                    return Arc::clone(node);
                }
                // Another node has the number by chance.
                Some(_) => number = number.wrapping_add(1).max(ROOT + 1),
                None => break,
            }
        }
        let node = Arc::new(Node {
            number,
            parent,
            name: name.to_vec(),
            content,
        });
        let known = Known {
            node: Arc::clone(&node),
            lookups: 1,
        };
        table.by_number.insert(number, known);
        table.by_age.push_back(number);
        node
    }

    /// The kernel drops some of its references.
    pub(crate) fn forget(&self, number: u64, lookups: u64) {
        let mut table = self.table();
        if let Some(known) = table.by_number.get_mut(&number)
            && number != ROOT
        {
            known.lookups = known.lookups.saturating_sub(lookups);
            if known.lookups == 0 {
                table.by_number.remove(&number);
            }
        }
    }

    /// Returns up to `most` of the oldest nodes, which count as young afterwards.
    pub(crate) fn oldest(&self, most: usize) -> Vec<Arc<Node>> {
        let mut table = self.table();
        let mut found = Vec::new();
        for _ in 0..table.by_age.len() {
            let Some(number) = table.by_age.pop_front().filter(|_| found.len() < most) else {
                break;
            };
            if let Some(known) = table.by_number.get(&number) {
                found.push(Arc::clone(&known.node));
            }
        }
        table.by_age.extend(found.iter().map(|node| node.number));
        found
    }

    /// Keeps the list by age from growing with nodes that come and go.
    pub(crate) fn tidy(&self) {
        let mut table = self.table();
        let Table { by_number, by_age } = &mut *table;
        if by_age.len() > 2 * by_number.len() + 1024 {
            by_age.retain(|number| by_number.contains_key(number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_lives_as_long_as_its_lookups() {
        let nodes = Nodes::new();
        let link = || Content::Link(b"/srv/a".to_vec());
        let first = nodes.found(2, b"a", link());
        assert_eq!(nodes.found(2, b"a", link()).number, first.number);
        let other = nodes.found(2, b"a", Content::Link(b"/srv/b/a".to_vec()));
        assert_ne!(other.number, first.number);
        assert_eq!((nodes.count(), nodes.oldest(9).len()), (3, 2));
        nodes.forget(first.number, 1);
        assert!(nodes.get(first.number).is_some());
        nodes.forget(first.number, 1);
        assert!(nodes.get(first.number).is_none());
        assert_eq!(nodes.oldest(9).len(), 1);
        nodes.forget(ROOT, 5);
        assert!(nodes.get(ROOT).is_some());
    }
}
