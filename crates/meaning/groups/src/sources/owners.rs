//! Which package lists a path: hundreds of thousands of paths, read for every question.
//!
//! Invariant: paths are told apart by all of their bytes. A hash finds a path; paths that share their
//! hash with another one lie in a table of their own.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

/// Packages that list a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Position of the first.
    pub(crate) first: u32,
    pub(crate) is_shared: bool,
}

/// Paths with their packages.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    /// The paths, one after the other.
    bytes: Vec<u8>,
    by_hash: HashMap<u64, (Range<usize>, Owner), ByPath>,
    collided: HashMap<Vec<u8>, Owner>,
}

/// Hashes paths. Lists of packages are the administrator's, so nobody chooses paths that collide.
#[derive(Debug, Default)]
pub(crate) struct PathHasher(u64);

/// Makes [`PathHasher`]s.
pub(crate) type ByPath = BuildHasherDefault<PathHasher>;

impl Hasher for PathHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = self.0.rotate_left(1) ^ xxh3_64(bytes);
    }

    /// Takes a number that is a hash already.
    fn write_u64(&mut self, hash: u64) {
        self.0 = self.0.rotate_left(1) ^ hash;
    }

    /// Lengths come before bytes, which differ where they matter.
    fn write_usize(&mut self, _: usize) {}
}

impl Owners {
    /// Makes room for paths of so many bytes.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve(bytes);
    }

    /// Adds a path that a package lists. Packages come in order.
    pub(crate) fn add(&mut self, path: &[u8], package: u32) {
        let new = Owner {
            first: package,
            is_shared: false,
        };
        let hash = xxh3_64(path);
        let owner = match self.by_hash.get_mut(&hash) {
            Some((at, owner)) if self.bytes.get(at.clone()) == Some(path) => owner,
            Some(_) => self.collided.entry(path.to_vec()).or_insert(new),
            None => {
                let at = self.bytes.len();
                self.bytes.extend_from_slice(path);
                self.by_hash.insert(hash, (at..self.bytes.len(), new));
                return;
            }
        };
        owner.is_shared |= owner.first != package;
    }

    /// Returns the packages that list a path.
    pub(crate) fn get(&self, path: &[u8]) -> Option<Owner> {
        let (at, owner) = self.by_hash.get(&xxh3_64(path))?;
        match self.bytes.get(at.clone()) == Some(path) {
            true => Some(*owner),
            false => self.collided.get(path).copied(),
        }
    }

    /// Returns all paths, in any order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], Owner)> {
        let hashed = self.by_hash.values().filter_map(|(at, owner)| {
            let path = self.bytes.get(at.clone())?;
            Some((path, *owner))
        });
        let collided = self.collided.iter();
        hashed.chain(collided.map(|(path, owner)| (&path[..], *owner)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_package_has_a_path_and_others_share_it() {
        let mut owners = Owners::default();
        owners.reserve(10);
        for (path, package) in [(&b"/a"[..], 0), (b"/a", 0), (b"/b", 1), (b"/a", 2)] {
            owners.add(path, package);
        }
        let owner = |path: &[u8]| owners.get(path).map(|owner| (owner.first, owner.is_shared));
        assert_eq!(owner(b"/a"), Some((0, true)));
        assert_eq!(owner(b"/b"), Some((1, false)));
        assert_eq!(owner(b"/c"), None);
        assert_eq!(owners.iter().count(), 2);
    }
}
