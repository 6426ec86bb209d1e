//! What leaves ask about an entry of the index beyond its row.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use trawl_model::rows::Row;
use trawl_model::{FileType, path};
use trawl_query::{Index, Located};
use trawl_sys::CWD;
use trawl_sys::access::check;

use super::{access, row_of};
use crate::base_name::bare_name;
use crate::context::World;
use crate::lookups::{AttributeTest, Lookups};
use crate::probe::{Access, Cause, Place, Probe, Target};
use crate::reference::error_text;
use crate::resolve::{self, Resolved, resolve};
use crate::traversal::Follow;

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

/// What the live system has at the end of a path, links followed.
fn live_target(path: &[u8]) -> Target {
    match std::fs::metadata(OsStr::from_bytes(path)) {
        Ok(meta) => Target::Is(FileType::from_mode(meta.mode())),
        Err(error) => match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Target::Missing,
            _ if error_text(&error).starts_with("Too many levels") => Target::Loop,
            _ => Target::Unknown(Cause(error_text(&error))),
        },
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
        let stored = row.path();
        match resolve(self.index, b"", &stored, resolve::Follow::Last) {
            Ok(Resolved::To(Located::Found(found), _)) => {
                Target::Is(row_of(&found, b"").file_type())
            }
            Ok(Resolved::To(Located::Missing { .. } | Located::NotDirectory { .. }, _)) => {
                Target::Missing
            }
            Ok(Resolved::To(Located::Denied { .. }, _)) => {
                Target::Unknown(Cause(crate::driver::DENIED.into()))
            }
            Ok(Resolved::Loop) => Target::Loop,
            // What was there then is not known.
            _ if self.index.is_as_of().is_past() => Target::Missing,
            // What is not in the index, or not for this asker.
            _ => live_target(path::display(&stored)),
        }
    }

    fn own_type(&self, row: &Row<'_>, path: &[u8]) -> Target {
        // Of a start point that is a link, the row is that of what it leads to.
        let is_link = self.world.follow != Follow::Never
            && bare_name(path) != row.name()
            && std::fs::symlink_metadata(OsStr::from_bytes(path))
                .is_ok_and(|meta| meta.is_symlink());
        Target::Is(match is_link {
            true => FileType::Symlink,
            false => row.file_type(),
        })
    }

    fn may(&self, row: &Row<'_>, _: &[u8], access: Access) -> bool {
        if row.file_type() != FileType::Symlink {
            let file_systems = &self.world.file_systems;
            return access::admits(row, self.index.who(), access, file_systems);
        }
        if self.index.is_as_of().is_past() {
            let found = resolve(self.index, b"", &row.path(), resolve::Follow::Last);
            return matches!(found, Ok(Resolved::To(Located::Found(found), _)) if access::admits(
                &row_of(&found, b""), self.index.who(), access, &self.world.file_systems,
            ));
        }
        // What a link leads to, and what lies before that, only the kernel
        // knows for sure.
        CString::new(path::display(&row.path()))
            .is_ok_and(|path| check(CWD, &path, access.wish()).is_ok())
    }

    fn has_attribute(&self, row: &Row<'_>, _: &[u8], test: &AttributeTest) -> bool {
        self.lookups.has_attribute(test, || row.path())
    }

    fn place(&self, _: &Row<'_>, _: &[u8]) -> Option<Place<'_>> {
        None
    }
}

/// Answers of what a link leads to, whose row has the link's name.
pub(super) struct BehindLink<'p> {
    pub(super) inner: &'p IndexProbe<'p>,
    /// Where it lies itself.
    pub(super) stored: &'p [u8],
}

impl Probe for BehindLink<'_> {
    fn is_empty_directory(&self, _: &Row<'_>, _: &[u8]) -> Result<bool, Cause> {
        self.inner.lookups.empty_directories.holds(self.stored)
    }

    fn target(&self, row: &Row<'_>, _: &[u8]) -> Target {
        Target::Is(row.file_type())
    }

    fn own_type(&self, _: &Row<'_>, _: &[u8]) -> Target {
        Target::Is(FileType::Symlink)
    }

    fn may(&self, row: &Row<'_>, path: &[u8], access: Access) -> bool {
        self.inner.may(row, path, access)
    }

    fn has_attribute(&self, _: &Row<'_>, _: &[u8], test: &AttributeTest) -> bool {
        let stored = || self.stored.to_vec();
        self.inner.lookups.has_attribute(test, stored)
    }

    fn place(&self, _: &Row<'_>, _: &[u8]) -> Option<Place<'_>> {
        None
    }
}
