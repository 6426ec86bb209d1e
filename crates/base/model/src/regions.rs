//! A set of directories: single ones, and whole subtrees.
//!
//! Invariant: a look-up costs no more than the depth of the path, however many directories there
//! are.

use std::collections::HashSet;

use crate::path;

/// Directories, each by itself or with everything below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Regions {
    dirs: HashSet<Vec<u8>>,
    /// Directories that stand for everything below, too.
    tops: HashSet<Vec<u8>>,
}

impl Regions {
    /// Adds a directory, without those below it.
    pub fn add(&mut self, dir: &[u8]) {
        if !self.dirs.contains(dir) {
            self.dirs.insert(dir.to_vec());
        }
    }

    /// Adds a directory with everything below it.
    pub fn add_below(&mut self, top: &[u8]) {
        if !self.tops.contains(top) {
            self.tops.insert(top.to_vec());
        }
    }

    /// Adds the directories above those of the set, each by itself.
    pub fn add_those_above(&mut self) {
        let all: Vec<Vec<u8>> = self.dirs.union(&self.tops).cloned().collect();
        for dir in all {
            let mut dir = &dir[..];
            while let Some((above, _)) = path::split(dir) {
                self.add(above);
                dir = above;
            }
        }
    }

    /// Adds another set.
    pub fn add_all(&mut self, other: &Regions) {
        self.dirs.extend(other.dirs.iter().cloned());
        self.tops.extend(other.tops.iter().cloned());
    }

    /// Returns whether there are no directories in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.dirs.is_empty() && self.tops.is_empty()
    }

    /// Returns whether a directory, given by its path as stored, is in the set.
    #[must_use]
    pub fn contains(&self, dir: &[u8]) -> bool {
        if self.dirs.contains(dir) {
            return true;
        }
        let mut dir = (!self.tops.is_empty()).then_some(dir);
        while let Some(one) = dir {
            if self.tops.contains(one) {
                return true;
            }
            dir = path::split(one).map(|(above, _)| above);
        }
        false
    }
}

impl Extend<Vec<u8>> for Regions {
    /// Adds directories, without those below them.
    fn extend<I: IntoIterator<Item = Vec<u8>>>(&mut self, dirs: I) {
        self.dirs.extend(dirs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_told_from_subtrees() {
        let mut regions = Regions::default();
        assert!(regions.is_empty() && !regions.contains(b""));
        regions.add(b"/a/b");
        regions.add_below(b"/c");
        for (dir, expected) in [
            (&b"/a/b"[..], true),
            (b"/a/b/x", false),
            (b"/a", false),
            (b"", false),
            (b"/c", true),
            (b"/c/x/y", true),
            (b"/cc", false),
        ] {
            assert_eq!(regions.contains(dir), expected, "{}", dir.escape_ascii());
        }
        // "/a/b" needs "/a" and "/"; a directory that is already there does not hide those above it.
        regions.add_those_above();
        assert!(regions.contains(b"/a") && regions.contains(b"") && !regions.contains(b"/x"));
    }

    #[test]
    fn the_root_as_a_subtree_has_everything() {
        let mut regions = Regions::default();
        regions.add_below(b"");
        assert!(regions.contains(b"") && regions.contains(b"/a/b"));
    }
}
