//! Inode numbers and the files that they stand for, as long as the kernel remembers them.
//!
//! A file has its inode number on the server, so the number is stable, and hard links are
//! recognizable. A number is made up instead in these cases:
//!
//! - The file lies on another device on the server, or its number is reserved here: the number is
//!   made of device and inode number.
//! - A directory can be reached by two paths: the kernel allows a directory one path only.
//! - A file's number belongs to a different file that is still open here but gone on the server:
//!   the kernel asks by number, and each file must get its own answers.
//! - The kernel still knows the file's number by another name, because the file was renamed or has
//!   the number of one that is gone: opening does not tell the name, so the kernel has to forget
//!   the old name first. This lasts for a moment only.
//!
//! Tables tell inode numbers, too, and the kernel must later tell the same ones: once a table has
//! told a directory's number, the number stays with the directory's path.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard};

use trawl_call::Attributes;
use trawl_model::relative_path::is_within;
use trawl_model::sync::lock;

use crate::tree::is_directory;

/// Inode number of the top.
pub(crate) const TOP: u64 = 1;
/// The bit that is set in numbers that are made up.
const MADE: u64 = 1 << 63;

struct Node {
    path: Arc<[u8]>,
    /// The kernel's lookup count.
    lookups: u64,
}

/// Maximum number of directories that tables may tell.
const CLAIMS_MAX: usize = 1 << 20;

#[derive(Default)]
struct ToldDirectories {
    nodes: HashMap<u64, Node>,
    /// For each path, the number that the kernel was last told.
    numbers: HashMap<Arc<[u8]>, u64>,
    /// For each directory number told by a table, the hash of the path that the number stays with.
    claims: HashMap<u64, u64>,
    /// How often the number of an open file that is gone was assigned to another file, keyed by the
    /// number that the first one has.
    reused: HashMap<u64, u64>,
    /// Numbers for which the kernel is about to forget a name.
    parting: HashSet<u64>,
}

impl ToldDirectories {
    /// Returns the path by which the kernel knows a number.
    fn name_of(&self, number: u64) -> Option<Arc<[u8]>> {
        let path = &self.nodes.get(&number)?.path;
        (self.numbers.get(path) == Some(&number)).then(|| Arc::clone(path))
    }

    /// Returns whether a directory's number belongs to a path other than this one.
    fn is_anothers(&self, number: u64, path: &[u8]) -> bool {
        let node = self.nodes.get(&number);
        let claim = self.claims.get(&number);
        node.is_some_and(|node| *node.path != *path) || claim.is_some_and(|of| *of != hash(path))
    }
}

/// A name that the kernel has to forget, and the number by which it knows the name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stale {
    pub(crate) number: u64,
    pub(crate) path: Arc<[u8]>,
}

/// The numbers that the kernel remembers and those that tables have told.
pub(crate) struct Nodes {
    device: u64,
    told: Mutex<ToldDirectories>,
}

impl Nodes {
    pub(crate) fn new(device: u64) -> Nodes {
        Nodes {
            device,
            told: Mutex::default(),
        }
    }

    fn told(&self) -> MutexGuard<'_, ToldDirectories> {
        lock(&self.told)
    }

    /// Returns the path for a number that the kernel was told.
    pub(crate) fn path(&self, number: u64) -> Option<Vec<u8>> {
        match number {
            TOP => Some(Vec::new()),
            number => self
                .told()
                .nodes
                .get(&number)
                .map(|node| node.path.to_vec()),
        }
    }

    /// Returns the number for a file that is now told to the kernel, and counts the lookup. Also
    /// returns a name that the kernel has to forget because of it, see [`Nodes::parted`].
    pub(crate) fn tell(&self, path: &[u8], attributes: &Attributes) -> (u64, Option<Stale>) {
        let mut told = self.told();
        let mut number = self.number_now(&told, attributes);
        let mut stale = None;
        if is_directory(attributes) {
            if told.is_anothers(number, path) {
                number = made(attributes, path);
            }
        } else if attributes.nlink < 2 && number != TOP {
            let before = told.name_of(number).filter(|before| **before != *path);
            if before.is_some() || told.parting.contains(&number) {
                let before = before.filter(|_| told.parting.insert(number));
                stale = before.map(|path| Stale { number, path });
                number = apart(number, path);
            }
        }
        let ToldDirectories { nodes, numbers, .. } = &mut *told;
        let node = nodes.entry(number).or_insert_with(|| Node {
            path: Arc::default(),
            lookups: 0,
        });
        if *node.path != *path {
            // Removes the number's former path, unless that path has another number by now.
            if numbers.get(&node.path) == Some(&number) {
                numbers.remove(&node.path);
            }
            node.path = path.into();
        }
        if numbers.get(path) != Some(&number) {
            numbers.insert(Arc::clone(&node.path), number);
        }
        node.lookups = node.lookups.saturating_add(1);
        (number, stale)
    }

    /// Records that the kernel has forgotten a name, so that its number may be told under another
    /// one.
    pub(crate) fn parted(&self, stale: &Stale) {
        let mut told = self.told();
        told.parting.remove(&stale.number);
        if told.numbers.get(&stale.path) == Some(&stale.number) {
            told.numbers.remove(&stale.path);
        }
    }

    /// Returns whether a number that the kernel was told for a path belongs to the file with these
    /// attributes.
    pub(crate) fn is_of(&self, number: u64, path: &[u8], attributes: &Attributes) -> bool {
        let now = self.number(attributes);
        number == now || number == apart(now, path)
    }

    /// Makes the file with these attributes get a new number, because its own belongs to a
    /// different open file.
    pub(crate) fn reuse(&self, attributes: &Attributes) {
        let mut told = self.told();
        let times = told.reused.entry(self.first(attributes)).or_default();
        *times = times.wrapping_add(1);
    }

    /// Returns the number for a file that a table tells now and that the kernel will be told later;
    /// `None` if there are too many directories to remember.
    pub(crate) fn claim(&self, path: &[u8], attributes: &Attributes) -> Option<u64> {
        let mut told = self.told();
        let number = self.number_now(&told, attributes);
        if !is_directory(attributes) {
            return Some(number);
        }
        let is_anothers = told.is_anothers(number, path);
        if !told.claims.contains_key(&number) {
            if told.claims.len() >= CLAIMS_MAX {
                return None;
            }
            // The current owner keeps the number, even after the kernel forgets it.
            let owner = told.nodes.get(&number);
            let owner = hash(owner.map_or(path, |node| &node.path));
            told.claims.insert(number, owner);
        }
        Some(match is_anothers {
            true => made(attributes, path),
            false => number,
        })
    }

    /// Returns the number that a listing shows for a file that is not told to the kernel.
    pub(crate) fn number(&self, attributes: &Attributes) -> u64 {
        self.number_now(&self.told(), attributes)
    }

    fn number_now(&self, told: &ToldDirectories, attributes: &Attributes) -> u64 {
        let first = self.first(attributes);
        match told.reused.get(&first) {
            // No path begins with a slash, so this cannot collide with a path.
            Some(times) => made(attributes, &[b"/", &times.to_le_bytes()[..]].concat()),
            None => first,
        }
    }

    /// Returns the number of the first file that had this device and inode number on the server.
    fn first(&self, attributes: &Attributes) -> u64 {
        let is_plain = attributes.dev == self.device && attributes.ino > TOP;
        match is_plain && attributes.ino & MADE == 0 {
            true => attributes.ino,
            false => made(attributes, b""),
        }
    }

    /// Decreases the kernel's lookup count by `lookups`.
    pub(crate) fn forget(&self, number: u64, lookups: u64) {
        let mut told = self.told();
        let ToldDirectories { nodes, numbers, .. } = &mut *told;
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

    /// Returns the number by which the kernel knows a path, if it does.
    pub(crate) fn number_at(&self, path: &[u8]) -> Option<u64> {
        match path {
            b"" => Some(TOP),
            path => self.told().numbers.get(path).copied(),
        }
    }

    /// Returns everything that the kernel knows at and below a path, as numbers and paths relative
    /// to the top.
    pub(crate) fn at_and_below(&self, top: &[u8]) -> Vec<(u64, Arc<[u8]>)> {
        let told = self.told();
        let nodes = told.nodes.iter();
        let within = nodes.filter(|(_, node)| is_within(&node.path, top));
        within
            .map(|(number, node)| (*number, Arc::clone(&node.path)))
            .collect()
    }
}

fn hash(path: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

/// Makes a number by FNV-1a. It need not resist collisions: only those who control the tree could
/// construct one.
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

/// Returns the number for a file at a path while the kernel knows the file's own number by another
/// path.
fn apart(number: u64, path: &[u8]) -> u64 {
    let bytes = [&number.to_le_bytes()[..], path].concat();
    hash(&bytes) | MADE
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

    fn tell(nodes: &Nodes, path: &[u8], attributes: &Attributes) -> u64 {
        let (number, stale) = nodes.tell(path, attributes);
        assert_eq!(stale, None);
        number
    }

    #[test]
    fn a_number_has_one_name_in_the_kernel() {
        let nodes = Nodes::new(5);
        let of = file(5, 100, 0o100_644);
        assert_eq!(tell(&nodes, b"a", &of), 100);
        let (apart, stale) = nodes.tell(b"b", &of);
        let stale = stale.expect("a name to forget");
        assert!(apart > MADE && (stale.number, &*stale.path) == (100, b"a"));
        // Opening the file at `a` must not open the file at `b`.
        assert_eq!(nodes.path(100), Some(b"a".to_vec()));
        assert_eq!(nodes.path(apart), Some(b"b".to_vec()));
        assert!(nodes.is_of(apart, b"b", &of) && !nodes.is_of(apart, b"a", &of));
        assert_eq!(tell(&nodes, b"b", &of), apart);
        assert!(tell(&nodes, b"a", &of) > MADE);
        nodes.parted(&stale);
        assert_eq!(tell(&nodes, b"b", &of), 100);
        assert_eq!(nodes.path(100), Some(b"b".to_vec()));
        assert_eq!(nodes.number_at(b"b"), Some(100));
    }

    #[test]
    fn numbers_are_those_of_the_server_where_they_can_be() {
        let nodes = Nodes::new(5);
        let (link, dir) = (0o100_644, 0o040_755);
        let linked = Attributes {
            nlink: 2,
            ..file(5, 100, link)
        };
        assert_eq!(tell(&nodes, b"a", &linked), 100);
        assert_eq!(tell(&nodes, b"b", &linked), 100);
        assert_eq!(nodes.path(100), Some(b"b".to_vec()));
        assert_eq!(tell(&nodes, b"d", &file(5, 7, dir)), 7);
        let again = tell(&nodes, b"bound/d", &file(5, 7, dir));
        assert!(again > MADE && nodes.path(7) == Some(b"d".to_vec()));
        assert_eq!(tell(&nodes, b"bound/d", &file(5, 7, dir)), again);
        for odd in [
            file(6, 100, link),
            file(5, 1, link),
            file(5, u64::MAX, link),
        ] {
            assert!(tell(&nodes, b"odd", &odd) > MADE);
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

    #[test]
    fn a_number_that_is_open_as_another_file_is_given_to_none() {
        let nodes = Nodes::new(5);
        let of = file(5, 100, 0o100_644);
        let mut numbers = vec![tell(&nodes, b"a", &of)];
        for _ in 0..3 {
            nodes.reuse(&of);
            let number = tell(&nodes, b"a", &of);
            assert!(number > MADE && !numbers.contains(&number));
            assert_eq!(nodes.claim(b"a", &of), Some(number));
            assert_eq!(nodes.number_at(b"a"), Some(number));
            numbers.push(number);
        }
        assert_eq!(nodes.path(100), Some(b"a".to_vec()));
        nodes.forget(100, 1);
        assert_eq!(nodes.number_at(b"a"), numbers.last().copied());
        assert_eq!(nodes.number(&file(5, 101, 0o100_644)), 101);
    }

    #[test]
    fn the_kernel_is_told_what_tables_told_and_the_other_way_round() {
        let nodes = Nodes::new(5);
        let dir = |ino| file(5, ino, 0o040_755);
        // The table tells the number first.
        assert_eq!(nodes.claim(b"a", &dir(7)), Some(7));
        let other = nodes.claim(b"b", &dir(7)).unwrap();
        assert!(other > MADE);
        assert_eq!(tell(&nodes, b"b", &dir(7)), other);
        assert_eq!(tell(&nodes, b"a", &dir(7)), 7);
        // The kernel is told first, and then forgets.
        assert_eq!(tell(&nodes, b"c", &dir(8)), 8);
        let other = nodes.claim(b"d", &dir(8)).unwrap();
        nodes.forget(8, 1);
        assert_eq!(tell(&nodes, b"d", &dir(8)), other);
        assert_eq!(nodes.claim(b"c", &dir(8)), Some(8));
        // Hard links have the same number.
        let link = file(5, 9, 0o100_644);
        assert_eq!(nodes.claim(b"x", &link), nodes.claim(b"y", &link));
    }
}
