//! Tracks files that other processes have open for writing: they are dirty at each barrier, unless
//! they are unchanged since they were last applied. One that is no longer found is dirty once more: if
//! another process looks at a descriptor while it is closed, the kernel reports the close late.

use std::collections::HashMap;

use trawl_changes::{ObjectKey, OpenFile, Searched, Stamp, WriterSearch};
use trawl_model::Timestamp;

/// Two changes less than this apart may have the same time: a tick of the kernel's clock, with a
/// margin.
const TICK_NS: i128 = 20_000_000;

/// Searches for files open for writing and remembers their stamps as last applied.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    search: WriterSearch,
    /// The files of the last search that was applied.
    applied: Found,
}

/// Files that were found open, each with the stamp that counts as applied, if one does.
type Found = HashMap<ObjectKey, Option<Stamp>>;

/// Result of a search for files open for writing.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    /// Files that may have changed since they were applied.
    pub(crate) dirty: Vec<ObjectKey>,
    /// What counts as applied until the next search, once `dirty` is applied.
    found: Found,
    /// Why some files may be missing.
    pub(crate) doubt: Option<String>,
}

impl OpenFiles {
    /// Starts with no file applied.
    pub(crate) fn new(search: WriterSearch) -> OpenFiles {
        OpenFiles {
            search,
            applied: Found::new(),
        }
    }

    /// Searches for open files. Must be called before the barrier of the source.
    pub(crate) fn look(&mut self, searched: &[Searched], now: Timestamp) -> Looked {
        match self.search.look(searched) {
            Ok(found) => {
                let mut looked = self.compare(found.files, now);
                looked.doubt = match found.hidden.len() {
                    0 => None,
                    count => Some(format!(
                        "files that {count} processes of others have open for writing may be newer"
                    )),
                };
                looked
            }
            Err(error) => Looked {
                doubt: Some(format!(
                    "files that are open for writing may be newer: {error}"
                )),
                found: self
                    .applied
                    .keys()
                    .map(|file| (file.clone(), None))
                    .collect(),
                ..Looked::default()
            },
        }
    }

    fn compare(&self, files: Vec<OpenFile>, now: Timestamp) -> Looked {
        let mut looked = Looked::default();
        for file in files {
            let applied = self.applied.get(&file.object).and_then(Option::as_ref);
            if applied != Some(&file.stamp) {
                looked.dirty.push(file.object.clone());
            }
            // A later change in the same tick would leave the stamp as it is.
            let age = now.as_nanos() - file.stamp.changed.as_nanos();
            let stamp = (age > TICK_NS).then_some(file.stamp);
            looked.found.insert(file.object, stamp);
        }
        let closed = self.applied.keys();
        let closed = closed.filter(|file| !looked.found.contains_key(*file));
        looked.dirty.extend(closed.cloned());
        looked
    }

    /// Records that the files of `looked` are applied.
    pub(crate) fn applied(&mut self, looked: Looked) {
        self.applied = looked.found;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_changes::{FileSystemId, OpenHow};

    fn file(changed: i64) -> OpenFile {
        let changed = Timestamp {
            secs: changed,
            nanos: 0,
        };
        OpenFile {
            object: ObjectKey::new(FileSystemId::default(), 1, b"x"),
            process: 1,
            how: OpenHow::Descriptor,
            stamp: Stamp {
                size_bytes: 1,
                blocks: 8,
                modified: changed,
                changed,
            },
        }
    }

    #[test]
    fn a_file_is_dirty_until_it_stays_as_it_was_applied() {
        let at = |secs| Timestamp { secs, nanos: 0 };
        let mut open = OpenFiles::new(WriterSearch::through_proc());
        let mut is_dirty = |changed, now| {
            let looked = open.compare(vec![file(changed)], at(now));
            let is_dirty = !looked.dirty.is_empty();
            open.applied(looked);
            is_dirty
        };
        assert!(is_dirty(5, 5), "seen for the first time");
        assert!(is_dirty(5, 6), "it changed in the tick of the look");
        assert!(!is_dirty(5, 7));
        assert!(is_dirty(8, 9));
        assert!(!is_dirty(8, 10));
    }

    #[test]
    fn a_file_is_dirty_once_more_when_it_is_no_longer_open() {
        let mut open = OpenFiles::new(WriterSearch::through_proc());
        let now = Timestamp { secs: 9, nanos: 0 };
        let mut dirty = |files: Vec<OpenFile>, is_applied: bool| {
            let looked = open.compare(files, now);
            let count = looked.dirty.len();
            if is_applied {
                open.applied(looked);
            }
            count
        };
        assert_eq!(dirty(vec![file(5)], true), 1);
        assert_eq!(dirty(vec![file(5)], true), 0);
        assert_eq!(dirty(Vec::new(), false), 1, "it was closed");
        assert_eq!(dirty(Vec::new(), true), 1, "that was not applied");
        assert_eq!(dirty(Vec::new(), true), 0);
    }
}
