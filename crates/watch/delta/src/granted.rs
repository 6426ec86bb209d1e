//! Caches who may list and pass directories according to the index. The cache lives from round to
//! round, since most changes lie on the same paths.
//!
//! An entry is added only after it was read from the index, and removed when its row is rewritten.
//! So the cache agrees with the index whether or not a round is published.

use std::collections::BTreeMap;

use trawl_model::DirAccess;

use crate::known::KnownEntry;

/// Maximum number of cached directories.
const MOST: usize = 1 << 16;

/// Cached directories by path, in byte order: those below one directory are adjacent.
#[derive(Debug, Default)]
pub(crate) struct Granted(BTreeMap<Vec<u8>, KnownEntry>);

impl Granted {
    /// Returns true if the cached row of `path` is known to grant the same access as `now`.
    pub(crate) fn lets_do_as(&self, path: &[u8], now: &DirAccess) -> bool {
        let known = self.0.get(path);
        known.is_some_and(|known| known.lets_do_as(now))
    }

    /// Adds the index's row of `path`.
    pub(crate) fn note(&mut self, path: Vec<u8>, known: KnownEntry) {
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert(path, known);
    }

    /// Removes `path`, whose row is rewritten.
    pub(crate) fn forget(&mut self, path: &[u8]) {
        self.0.remove(path);
    }

    /// Removes everything below `dir`.
    pub(crate) fn forget_below(&mut self, dir: &[u8]) {
        if self.0.is_empty() {
            return;
        }
        let below = [dir, b"/"].concat();
        // `0` is the byte after the slash.
        let after = [dir, b"0"].concat();
        let below = self.0.range(below..after);
        let gone: Vec<Vec<u8>> = below.map(|(path, _)| path.clone()).collect();
        for path in gone {
            self.0.remove(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::{DirBatch, Entry};

    #[test]
    fn what_is_written_again_is_forgotten() {
        let known = || KnownEntry::of_entry(&DirBatch::default(), &Entry::default());
        let now = DirAccess::default();
        let mut granted = Granted::default();
        for path in ["/a", "/a/b", "/a/b/c", "/a-b", "/a0", "/b"] {
            granted.note(path.into(), known());
        }
        granted.forget_below(b"/a");
        granted.forget(b"/b");
        let left: Vec<&str> = ["/a", "/a/b", "/a/b/c", "/a-b", "/a0", "/b"]
            .into_iter()
            .filter(|path| granted.lets_do_as(path.as_bytes(), &now))
            .collect();
        assert_eq!(left, ["/a", "/a-b", "/a0"]);
    }
}
