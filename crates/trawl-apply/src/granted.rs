//! What the index says of who may do what in directories, as far as that was
//! looked up: kept from round to round, since the way to what changes is
//! mostly the same.
//!
//! Only what was read in the index is noted, and it is forgotten when the row
//! that says so is written again. So what is here is what the index says,
//! whether or not a round is published.

use std::collections::BTreeMap;

use trawl_model::DirAccess;

use crate::known::Known;

/// Directories that are remembered, at most.
const MOST: usize = 1 << 16;

/// By path, in byte order: what is below a directory lies together.
#[derive(Debug, Default)]
pub(crate) struct Granted(BTreeMap<Vec<u8>, Known>);

impl Granted {
    /// True if it is known that the index's row of `path` lets do as `now`.
    pub(crate) fn lets_do_as(&self, path: &[u8], now: &DirAccess) -> bool {
        let known = self.0.get(path);
        known.is_some_and(|known| known.lets_do_as(now))
    }

    /// The index has a row of `path` that says so.
    pub(crate) fn note(&mut self, path: Vec<u8>, known: Known) {
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert(path, known);
    }

    /// The row of `path` is written again.
    pub(crate) fn forget(&mut self, path: &[u8]) {
        self.0.remove(path);
    }

    /// So is all below `dir`.
    pub(crate) fn forget_below(&mut self, dir: &[u8]) {
        if self.0.is_empty() {
            return;
        }
        let below = [dir, b"/"].concat();
        // What begins with another byte than the slash comes after.
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
        let known = || Known::of_entry(&DirBatch::default(), &Entry::default());
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
