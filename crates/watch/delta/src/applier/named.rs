//! Determines whether objects with a dirty name have further names, which are then dirty, too.
//!
//! Most objects have one name, and the entry found under the dirty name shows that: if it has the
//! object's inode number and a link count of 1, it is the object or its successor. The same holds for
//! the entry that the index has under the dirty name: an object that had no other name is gone. Only
//! objects that were not found like that are looked up by their handles. A process may write an object by a
//! name that was removed long before: the object is then found under the name that is left.

use std::collections::HashSet;

use trawl_changes::KeyResolver;
use trawl_model::rows::Row;
use trawl_model::{Dev, DirBatch, FileType};
use trawl_scan::Extent;

use crate::error::Result;
use crate::targets::{Named, Targets};

/// The undecided objects of a round, and the interface to look them up.
pub(crate) struct Unsettled<'p> {
    pub(super) named: Named,
    pub(super) places: Option<&'p mut dyn KeyResolver>,
}

/// The findings about them.
pub(super) struct Settling {
    /// Inode numbers of objects that were not found yet.
    left: HashSet<u64>,
    /// The file system whose inode numbers these are.
    dev: Dev,
}

impl Settling {
    pub(super) fn new(named: &Named, dev: Dev) -> Settling {
        let left = named.keys().copied().collect();
        Settling { left, dev }
    }

    /// Notes the entries found now.
    pub(super) fn note(&mut self, batch: &DirBatch, extent: Extent) {
        if self.left.is_empty() {
            return;
        }
        for entry in &batch.entries {
            let meta = &entry.meta;
            let is_whole = match meta.file_type() {
                // The directory's content is read, too.
                FileType::Directory => extent == Extent::Subtree,
                _ => meta.nlink == 1,
            };
            if is_whole {
                self.settle(meta.dev, meta.ino);
            }
        }
    }

    /// Notes an entry that the index has under a dirty name, or in a directory that is listed as a
    /// whole. If that was the object's only name, others were made since, and are dirty themselves: it
    /// may also be gone.
    pub(super) fn note_known(&mut self, row: &Row<'_>) {
        let has_one_name = row.file_type() != FileType::Directory && row.nlink() == 1;
        if has_one_name && !self.left.is_empty() {
            self.settle(row.dev(), row.ino());
        }
    }

    /// Returns true if all objects are decided.
    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Notes that all names of an object are taken care of; returns true if it was undecided.
    pub(super) fn settle(&mut self, dev: Dev, ino: u64) -> bool {
        dev == self.dev && self.left.remove(&ino)
    }

    pub(super) fn into_left(self) -> HashSet<u64> {
        self.left
    }
}

impl Unsettled<'_> {
    /// Returns an empty set.
    pub(crate) fn none() -> Unsettled<'static> {
        Unsettled {
            named: Named::new(),
            places: None,
        }
    }

    /// Adds the dirty names of the remaining objects; returns true if there are any. Each object is
    /// looked up once only.
    pub(super) fn add_to(
        &mut self,
        targets: &mut Targets,
        left: &HashSet<u64>,
        root: &[u8],
    ) -> Result<bool> {
        let named = std::mem::take(&mut self.named);
        let Some(places) = self.places.as_deref_mut() else {
            return Ok(false);
        };
        let mut more = Targets::default();
        for (ino, object) in &named {
            if left.contains(ino) {
                more.add_all_names(object, root, places)?;
            }
        }
        let has_more = !more.is_empty() || !more.objects.is_empty();
        targets.add_all(more);
        Ok(has_more)
    }
}
