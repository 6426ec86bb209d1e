//! Tracks files that other processes have open for writing: they are dirty at each barrier, unless
//! they are unchanged since they were last applied.

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
    applied: HashMap<ObjectKey, Stamp>,
}

/// Result of a search for files open for writing.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    /// Files that may have changed since they were applied.
    pub(crate) dirty: Vec<ObjectKey>,
    /// Stamps of files that count as applied until the next search, once `dirty` is applied.
    stamps: HashMap<ObjectKey, Stamp>,
    /// Why some files may be missing.
    pub(crate) doubt: Option<String>,
}

impl OpenFiles {
    /// Starts with no file applied.
    pub(crate) fn new(search: WriterSearch) -> OpenFiles {
        OpenFiles {
            search,
            applied: HashMap::new(),
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
                ..Looked::default()
            },
        }
    }

    fn compare(&self, files: Vec<OpenFile>, now: Timestamp) -> Looked {
        let mut looked = Looked::default();
        for file in files {
            if self.applied.get(&file.object) != Some(&file.stamp) {
                looked.dirty.push(file.object.clone());
            }
            // A later change in the same tick would leave the stamp as it is.
            let age = now.as_nanos() - file.stamp.changed.as_nanos();
            if age > TICK_NS {
                looked.stamps.insert(file.object, file.stamp);
            }
        }
        looked
    }

    /// Records that the files of `looked` are applied.
    pub(crate) fn applied(&mut self, looked: Looked) {
        self.applied = looked.stamps;
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
}
