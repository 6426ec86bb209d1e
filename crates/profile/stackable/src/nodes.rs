//! The files that the kernel knows.
//!
//! The kernel counts its references to each file (lookups) and says when it drops some. As long as it
//! has one, the file has a node here, with a descriptor: so the file below keeps existing and keeps
//! its inode number, and hard links lead to one node. A node's number is the inode number below where
//! possible; the file systems of a source may use a number twice (subvolumes of btrfs).

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use fuser::BackingId;
use rustix::fs::Statx;

/// The number that the kernel gives the root.
pub(crate) const ROOT: u64 = 1;
/// Numbers from here on are not those of inodes.
const OURS: u64 = 1 << 63;

/// A file below: its device and its inode number there.
type Key = (u32, u32, u64);

fn key(stat: &Statx) -> Key {
    (stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino)
}

/// A file that the kernel knows.
#[derive(Debug)]
pub(crate) struct Node {
    file: OwnedFd,
    key: Key,
    pub(crate) number: u64,
    pub(crate) is_directory: bool,
    /// Number of open files.
    pub(crate) opens: AtomicUsize,
    /// The directory and the name by which it was found last.
    link: Mutex<(u64, OsString)>,
    /// The descriptor that the kernel uses for reading and writing, while the file is open.
    pub(crate) backing: Mutex<Weak<BackingId>>,
}

impl Node {
    /// Returns the inode number that programs see.
    pub(crate) fn shown(&self) -> u64 {
        match self.number {
            ROOT => self.key.2,
            number => number,
        }
    }

    pub(crate) fn link(&self) -> (u64, OsString) {
        held(&self.link).clone()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.opens.load(Ordering::Relaxed) > 0
    }
}

impl AsFd for Node {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Locks; the data are consistent between any two statements.
pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
struct Known {
    node: Arc<Node>,
    lookups: u64,
}

#[derive(Debug, Default)]
struct Table {
    by_number: HashMap<u64, Known>,
    by_key: HashMap<Key, u64>,
    /// Numbers by age. Some are of nodes that are gone.
    by_age: VecDeque<u64>,
    given: u64,
}

/// All nodes.
#[derive(Debug)]
pub(crate) struct Nodes(Mutex<Table>);

impl Nodes {
    pub(crate) fn new(root: OwnedFd, stat: &Statx) -> Nodes {
        let node = Node {
            file: root,
            key: key(stat),
            number: ROOT,
            is_directory: true,
            opens: AtomicUsize::new(0),
            link: Mutex::new((ROOT, OsString::new())),
            backing: Mutex::default(),
        };
        let mut table = Table::default();
        let known = Known {
            node: Arc::new(node),
            lookups: 1,
        };
        table.by_number.insert(ROOT, known);
        Nodes(Mutex::new(table))
    }

    pub(crate) fn get(&self, number: u64) -> Option<Arc<Node>> {
        let table = held(&self.0);
        table
            .by_number
            .get(&number)
            .map(|known| Arc::clone(&known.node))
    }

    /// Returns the number of nodes.
    pub(crate) fn count(&self) -> usize {
        held(&self.0).by_number.len()
    }

    /// Returns the node of a file that the kernel is about to hear of, and counts that.
    pub(crate) fn found(
        &self,
        file: OwnedFd,
        stat: &Statx,
        parent: u64,
        name: &OsStr,
    ) -> Arc<Node> {
        let key = key(stat);
        let link = (parent, name.to_owned());
        let mut table = held(&self.0);
        let number = table.by_key.get(&key).copied();
        if let Some(known) = number.and_then(|number| table.by_number.get_mut(&number)) {
            known.lookups += 1;
            *held(&known.node.link) = link;
            return Arc::clone(&known.node);
        }
        let number = table.number_for(stat.stx_ino);
        let node = Arc::new(Node {
            file,
            key,
            number,
            is_directory: rustix::fs::FileType::from_raw_mode(stat.stx_mode.into()).is_dir(),
            opens: AtomicUsize::new(0),
            link: Mutex::new(link),
            backing: Mutex::default(),
        });
        let known = Known {
            node: Arc::clone(&node),
            lookups: 1,
        };
        table.by_number.insert(number, known);
        table.by_key.insert(key, number);
        table.by_age.push_back(number);
        table.tidy();
        node
    }

    /// The kernel drops some of its references.
    pub(crate) fn forget(&self, number: u64, lookups: u64) {
        // The descriptor is closed without the lock.
        let _gone = held(&self.0).forget(number, lookups);
    }

    /// Returns up to `most` of the oldest nodes of files that are not open, without directories. They
    /// count as young afterwards.
    pub(crate) fn oldest(&self, most: usize) -> Vec<Arc<Node>> {
        let mut table = held(&self.0);
        let mut found = Vec::new();
        for _ in 0..table.by_age.len() {
            if found.len() >= most {
                break;
            }
            let Some(number) = table.by_age.pop_front() else {
                break;
            };
            let Some(known) = table.by_number.get(&number) else {
                continue;
            };
            if !known.node.is_directory && !known.node.is_open() {
                found.push(Arc::clone(&known.node));
            }
            table.by_age.push_back(number);
        }
        found
    }
}

impl Table {
    /// Returns a free number for a file with this inode number.
    fn number_for(&mut self, inode: u64) -> u64 {
        if inode > ROOT && inode < OURS && !self.by_number.contains_key(&inode) {
            return inode;
        }
        self.given += 1;
        OURS | self.given
    }

    fn forget(&mut self, number: u64, lookups: u64) -> Option<Known> {
        let known = self.by_number.get_mut(&number).filter(|_| number != ROOT)?;
        known.lookups = known.lookups.saturating_sub(lookups);
        if known.lookups > 0 {
            return None;
        }
        let key = known.node.key;
        self.by_key.remove(&key);
        self.by_number.remove(&number)
    }

    /// Keeps the list by age from growing with files that come and go.
    fn tidy(&mut self) {
        if self.by_age.len() > 2 * self.by_number.len() + 1024 {
            let mut seen = std::collections::HashSet::new();
            let by_number = &self.by_number;
            self.by_age
                .retain(|number| by_number.contains_key(number) && seen.insert(*number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::below::{Below, stat};

    fn find(nodes: &Nodes, directory: &std::path::Path, name: &str) -> Arc<Node> {
        let below = Below::new().unwrap();
        let source = below.source(directory).unwrap();
        let file = below.find(source.as_fd(), OsStr::new(name)).unwrap();
        let data = stat(&file).unwrap();
        nodes.found(file, &data, ROOT, OsStr::new(name))
    }

    #[test]
    fn a_node_lives_as_long_as_its_lookups_and_hard_links_share_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "x").unwrap();
        std::fs::hard_link(folder.path().join("a"), folder.path().join("b")).unwrap();
        let below = Below::new().unwrap();
        let root = below.source(folder.path()).unwrap();
        let data = stat(&root).unwrap();
        let nodes = Nodes::new(root, &data);
        let first = find(&nodes, folder.path(), "a");
        let second = find(&nodes, folder.path(), "b");
        assert_eq!(first.number, second.number);
        assert_eq!(second.link(), (ROOT, "b".into()));
        assert_eq!(nodes.count(), 2);
        nodes.forget(first.number, 1);
        assert_eq!(nodes.count(), 2);
        assert_eq!(nodes.oldest(9).len(), 1);
        nodes.forget(first.number, 1);
        assert_eq!(nodes.count(), 1);
        assert!(nodes.get(first.number).is_none() && nodes.oldest(9).is_empty());
        nodes.forget(ROOT, 100);
        assert!(nodes.get(ROOT).is_some());
    }

    #[test]
    fn a_number_that_is_taken_is_replaced() {
        let mut table = Table::default();
        assert_eq!(table.number_for(7), 7);
        assert_eq!(table.number_for(ROOT), OURS | 1);
        assert_eq!(table.number_for(u64::MAX), OURS | 2);
    }
}
