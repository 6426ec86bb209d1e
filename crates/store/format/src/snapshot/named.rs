//! Files of named indices: where they lie, and what guards them.

use std::fs::File;
use std::path::{Path, PathBuf};

use trawl_model::guard::Element;

use super::{Shard, Snapshot};
use crate::error::{IndexError, Result};
use crate::id::SegmentId;
use crate::layout;
use crate::manifest::GuardStep;
use crate::store::Dir;

impl Snapshot {
    /// Returns the text of the definitions of the source's named indices; `None` if it has none, or
    /// they cannot be read.
    pub fn index_definitions(&self) -> Option<Vec<u8>> {
        let top = self.files.place.indices.as_ref()?;
        top.read(layout::INDICES_SETTINGS).ok()
    }
}

impl Shard {
    /// Opens the file of a named index for a segment. `definition` is the definition's number. The
    /// file is derived from the segment's tables: a reader that cannot use it reads those.
    ///
    /// # Errors
    /// If it is not there, or may not be opened.
    pub fn open_index(&self, segment: SegmentId, definition: u64) -> Result<File> {
        let name = layout::index_file(segment, definition);
        let (Some(top), Some(guard)) = (&self.place.indices, self.guard_of_indices()) else {
            let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(IndexError::io("open", self.dir_path().join(name), missing));
        };
        top.open_below(&layout::data_components(&guard))?
            .open_file(&name)
    }

    /// Returns the path of the file of a named index, for messages.
    pub fn index_path(&self, segment: SegmentId, definition: u64) -> PathBuf {
        let guard = self.guard_of_indices().unwrap_or_default();
        let below = layout::display_path(&layout::data_components(&guard));
        let top = self.place.indices.as_ref().map_or(Path::new(""), Dir::path);
        top.join(below)
            .join(layout::index_file(segment, definition))
    }

    /// Returns what guards the files of named indices of the shard's segments; `None` if the
    /// manifest's text of the guard is invalid.
    pub fn guard_of_indices(&self) -> Option<Vec<Element>> {
        let guard = GuardStep::to_guard(&self.manifest.guard)?;
        Some(layout::guard_of_packs(&guard.0))
    }
}
