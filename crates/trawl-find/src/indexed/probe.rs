//! What leaves ask about an entry of the index beyond its row.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use trawl_model::FileType;
use trawl_model::rows::Row;
use trawl_query::Index;

use crate::context::World;
use crate::lookups::{AttributeTest, Lookups};
use crate::probe::{Access, Cause, Place, Probe, Target};
use crate::reference::error_text;

/// Answers from the index.
pub(super) struct IndexProbe<'p> {
    index: &'p Index,
    world: &'p World,
    pub(super) lookups: Lookups,
}

impl<'p> IndexProbe<'p> {
    pub(super) fn new(index: &'p Index, world: &'p World) -> IndexProbe<'p> {
        IndexProbe {
            index,
            world,
            lookups: Lookups::default(),
        }
    }
}

impl Probe for IndexProbe<'_> {
    fn is_empty_directory(&self, row: &Row<'_>, _: &[u8]) -> Result<bool, Cause> {
        self.lookups.empty_directories.holds(&row.path())
    }

    fn target(&self, row: &Row<'_>, _: &[u8]) -> Target {
        if row.file_type() != FileType::Symlink {
            return Target::Is(row.file_type());
        }
        let path = row.path();
        match std::fs::metadata(OsStr::from_bytes(&path)) {
            Ok(meta) => Target::Is(FileType::from_mode(meta.mode())),
            Err(error) => match error.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Target::Missing,
                _ if error_text(&error).starts_with("Too many levels") => Target::Loop,
                _ => Target::Unknown(Cause(error_text(&error))),
            },
        }
    }

    fn own_type(&self, row: &Row<'_>, _: &[u8]) -> Target {
        Target::Is(row.file_type())
    }

    fn may(&self, _: &Row<'_>, _: &[u8], _: Access) -> bool {
        let _ = (self.index, self.world);
        false
    }

    fn has_attribute(&self, row: &Row<'_>, _: &[u8], test: &AttributeTest) -> bool {
        self.lookups.has_attribute(test, || row.path())
    }

    fn place(&self, _: &Row<'_>, _: &[u8]) -> Option<Place<'_>> {
        None
    }
}
