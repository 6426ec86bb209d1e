//! Inode numbers and what they stand for, as long as the kernel remembers them.
//!
//! A file's number is the one it has on the server, so it is the same every time and names of one
//! file are known as such. What lies on another device there, or has a number that means
//! something here, gets a number made of both; so does a directory that can be reached on two
//! paths, since the kernel lets a directory have one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trawl_call::Attributes;

use crate::tree::{is_directory, is_within};

/// The number of the top.
pub(crate) const TOP: u64 = 1;
/// Numbers that are made have this bit.
const MADE: u64 = 1 << 63;

struct Node {
    path: Arc<[u8]>,
    /// How often the kernel was told.
    lookups: u64,
}

/// Numbers that the kernel remembers.
pub(crate) struct Nodes {
    device: u64,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    nodes: HashMap<u64, Node>,
    /// The number that the kernel was told last for a path.
    numbers: HashMap<Arc<[u8]>, u64>,
}

impl Nodes {
    pub(crate) fn new(device: u64) -> Nodes {
        Nodes {
            device,
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The path of a number that the kernel was told.
    pub(crate) fn path(&self, number: u64) -> Option<Vec<u8>> {
        match number {
            TOP => Some(Vec::new()),
            number => self
                .known()
                .nodes
                .get(&number)
                .map(|node| node.path.to_vec()),
        }
    }

    /// The number of a file that the kernel is told of now.
    pub(crate) fn tell(&self, path: &[u8], attributes: &Attributes) -> u64 {
        let mut known = self.known();
        let Known { nodes, numbers } = &mut *known;
        let mut number = self.number(attributes);
        let is_another = |node: &Node| is_directory(attributes) && *node.path != *path;
        if nodes.get(&number).is_some_and(is_another) {
            number = made(attributes, path);
        }
        let node = nodes.entry(number).or_insert_with(|| Node {
            path: Arc::default(),
            lookups: 0,
        });
        if *node.path != *path {
            // A name that it had before, unless that is another's by now.
            if numbers.get(&node.path) == Some(&number) {
                numbers.remove(&node.path);
            }
            node.path = path.into();
        }
        if numbers.get(path) != Some(&number) {
            numbers.insert(Arc::clone(&node.path), number);
        }
        node.lookups = node.lookups.saturating_add(1);
        number
    }

    /// The number that a listing shows for a file of which the kernel is told nothing.
    pub(crate) fn number(&self, attributes: &Attributes) -> u64 {
        let is_plain = attributes.dev == self.device && attributes.ino > TOP;
        match is_plain && attributes.ino & MADE == 0 {
            true => attributes.ino,
            false => made(attributes, b""),
        }
    }

    /// The kernel forgets that it was told so often.
    pub(crate) fn forget(&self, number: u64, lookups: u64) {
        let mut known = self.known();
        let Known { nodes, numbers } = &mut *known;
        if let Some(node) = nodes.get_mut(&number) {
            node.lookups = node.lookups.saturating_sub(lookups);
            if node.lookups == 0 {
                if numbers.get(&node.path) == Some(&number) {
                    numbers.remove(&node.path);
                }
                nodes.remove(&number);
            }
        }
    }

    /// The number that the kernel knows a path by, if it does.
    pub(crate) fn number_at(&self, path: &[u8]) -> Option<u64> {
        match path {
            b"" => Some(TOP),
            path => self.known().numbers.get(path).copied(),
        }
    }

    /// All that the kernel knows at and below a path: numbers, and paths relative to the top.
    pub(crate) fn at_and_below(&self, top: &[u8]) -> Vec<(u64, Arc<[u8]>)> {
        let known = self.known();
        let nodes = known.nodes.iter();
        let within = nodes.filter(|(_, node)| is_within(&node.path, top));
        within
            .map(|(number, node)| (*number, Arc::clone(&node.path)))
            .collect()
    }
}

/// FNV-1a: nothing depends on nobody being able to make two numbers alike, since who could do so
/// says what the tree is anyway.
fn made(attributes: &Attributes, path: &[u8]) -> u64 {
    let numbers = [attributes.dev, attributes.ino];
    let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
    let hash = bytes
        .chain(path.iter().copied())
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    hash | MADE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(dev: u64, ino: u64, mode: u32) -> Attributes {
        Attributes {
            dev,
            ino,
            mode,
            ..Attributes::default()
        }
    }

    #[test]
    fn numbers_are_those_of_the_server_where_they_can_be() {
        let nodes = Nodes::new(5);
        let (link, dir) = (0o100_644, 0o040_755);
        assert_eq!(nodes.tell(b"a", &file(5, 100, link)), 100);
        assert_eq!(nodes.tell(b"b", &file(5, 100, link)), 100);
        assert_eq!(nodes.path(100), Some(b"b".to_vec()));
        assert_eq!(nodes.tell(b"d", &file(5, 7, dir)), 7);
        let again = nodes.tell(b"bound/d", &file(5, 7, dir));
        assert!(again > MADE && nodes.path(7) == Some(b"d".to_vec()));
        assert_eq!(nodes.tell(b"bound/d", &file(5, 7, dir)), again);
        for odd in [
            file(6, 100, link),
            file(5, 1, link),
            file(5, u64::MAX, link),
        ] {
            assert!(nodes.tell(b"odd", &odd) > MADE);
        }
        assert_eq!(nodes.number_at(b"a"), None);
        assert_eq!(nodes.number_at(b"b"), Some(100));
        assert_eq!(
            nodes.at_and_below(b"bound"),
            [(again, b"bound/d"[..].into())]
        );
        nodes.forget(100, 1);
        assert!(nodes.path(100).is_some());
        nodes.forget(100, 1);
        nodes.forget(100, 1);
        assert_eq!(nodes.path(100), None);
        assert_eq!(nodes.number_at(b"b"), None);
        assert_eq!(nodes.path(TOP), Some(Vec::new()));
    }
}
