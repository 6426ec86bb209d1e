//! A directory with its entries, as sources of groups see it.

use trawl_model::Timestamp;

/// An entry of a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Name.
    pub name: Vec<u8>,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Apparent size in bytes.
    pub size_bytes: u64,
    /// Allocated space in units of 512 bytes.
    pub blocks: u64,
    /// Last change of the content.
    pub mtime: Timestamp,
    /// Last access.
    pub atime: Timestamp,
    /// Last change of the inode.
    pub ctime: Timestamp,
}

/// A directory and all of its entries that the asking user can see, sorted by name.
#[derive(Clone, Copy, Debug)]
pub struct Directory<'a> {
    /// Path as stored: absolute, without a trailing slash; empty for `/`.
    pub path: &'a [u8],
    /// Entries.
    pub entries: &'a [Entry],
}

impl Directory<'_> {
    /// Returns the entry of this name.
    #[must_use]
    pub fn entry(&self, name: &[u8]) -> Option<&Entry> {
        let at = self
            .entries
            .binary_search_by(|entry| entry.name[..].cmp(name));
        at.ok().map(|at| &self.entries[at])
    }
}

/// Values that belong to the directories on the way down to the current one.
#[derive(Debug)]
pub(crate) struct Trail<T> {
    above: Vec<(Vec<u8>, T)>,
}

impl<T> Default for Trail<T> {
    fn default() -> Trail<T> {
        Trail { above: Vec::new() }
    }
}

impl<T> Trail<T> {
    /// Forgets all directories.
    pub(crate) fn clear(&mut self) {
        self.above.clear();
    }

    /// Returns the value of the nearest directory that is this one or lies above it. Directories
    /// that do not lie above it are forgotten.
    pub(crate) fn nearest(&mut self, path: &[u8]) -> Option<&T> {
        let is_above = |(dir, _): &(Vec<u8>, T)| trawl_model::path::is_within(path, dir);
        while self.above.last().is_some_and(|last| !is_above(last)) {
            self.above.pop();
        }
        self.above.last().map(|(_, value)| value)
    }

    /// Adds the value of a directory below the nearest one.
    pub(crate) fn push(&mut self, path: &[u8], value: T) {
        self.above.push((path.to_vec(), value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trail_knows_the_way_down() {
        let mut trail = Trail::default();
        assert_eq!(trail.nearest(b"/a"), None);
        trail.push(b"/a", 1);
        assert_eq!(trail.nearest(b"/a/b"), Some(&1));
        trail.push(b"/a/b", 2);
        assert_eq!(trail.nearest(b"/a/b/c/d"), Some(&2));
        assert_eq!(trail.nearest(b"/a/bc"), Some(&1));
        assert_eq!(trail.nearest(b"/ab"), None);
    }
}
