//! Objects of which a name is dirty: whether they have others, which are dirty
//! then, too.
//!
//! Most have one name. What is found under a dirty name says so by itself: an
//! object with the number of the dirty one, and one link, is it, or came after
//! it. So only those are asked for by their handles that were not found like
//! that.

use std::collections::HashSet;

use trawl_live::Places;
use trawl_model::{Dev, DirBatch, FileType};
use trawl_scan::Extent;

use crate::error::Result;
use crate::targets::{Named, Targets};

/// Those of a round, and who can be asked.
pub(crate) struct Unsettled<'p> {
    pub(super) named: Named,
    pub(super) places: Option<&'p mut dyn Places>,
}

/// What was found of them.
pub(super) struct Settling {
    /// Those that were not, by number.
    left: HashSet<u64>,
    /// Numbers are told apart by file system; this is theirs.
    dev: Dev,
}

impl Settling {
    pub(super) fn new(named: &Named, dev: Dev) -> Settling {
        let left = named.keys().copied().collect();
        Settling { left, dev }
    }

    /// Notes what is there now.
    pub(super) fn note(&mut self, batch: &DirBatch, extent: Extent) {
        if self.left.is_empty() {
            return;
        }
        for entry in &batch.entries {
            let meta = &entry.meta;
            let is_whole = match meta.file_type() {
                // What is in it is read, too.
                FileType::Directory => extent == Extent::Subtree,
                _ => meta.nlink == 1,
            };
            if is_whole {
                self.settle(meta.dev, meta.ino);
            }
        }
    }

    /// Notes that all names of an object are taken care of; true if it was one
    /// of these.
    pub(super) fn settle(&mut self, dev: Dev, ino: u64) -> bool {
        dev == self.dev && self.left.remove(&ino)
    }

    pub(super) fn into_left(self) -> HashSet<u64> {
        self.left
    }
}

impl Unsettled<'_> {
    /// There are none.
    pub(crate) fn none() -> Unsettled<'static> {
        Unsettled {
            named: Named::new(),
            places: None,
        }
    }

    /// Adds what is dirty of those that are left; true if that is something.
    /// None of them is asked for again.
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
                more.add_if_several(object, root, places)?;
            }
        }
        let has_more = !more.is_empty() || !more.objects.is_empty();
        targets.add_all(more);
        Ok(has_more)
    }
}
