//! Answers questions that leaves ask about an entry of the index beyond its
//! row.

use std::fs::File;
use std::sync::Arc;

use trawl_model::rows::Row;
use trawl_model::{Dev, FileType, path};
use trawl_query::{Asker, Index, Located, View, asker};
use trawl_sys::{Errno, far};

use super::access::Mounts;
use super::{access, row_of};
use crate::base_name::bare_name;
use crate::context::World;
use crate::left_out::told_apart;
use crate::live;
use crate::lookups::{AttributeTest, Lookups};
use crate::probe::{Access, Cause, NameInDirectory, Probe, Target};
use crate::questions::{OF_THEN, open_now};
use crate::resolve::{self, PathSource, Resolved, is_recorded, resolve};
use crate::traversal::Follow;

/// Answers from the index, and from the live file system where the index does
/// not know.
pub(super) struct IndexProbe<'p> {
    index: &'p Index,
    world: &'p World,
    /// The snapshot that is searched.
    view: Arc<View>,
    pub(super) lookups: Lookups,
}

/// Prefix of the snapshot options that left entries out of it.
const EXCLUDED: &str = "exclude";

impl<'p> IndexProbe<'p> {
    pub(super) fn new(index: &'p Index, world: &'p World, view: &Arc<View>) -> IndexProbe<'p> {
        IndexProbe {
            index,
            world,
            view: Arc::clone(view),
            lookups: Lookups::default(),
        }
    }

    /// Returns whether the directory with this stored path, on the device
    /// `dev`, has no entries.
    fn is_empty(&self, stored: &[u8], dev: Dev) -> Result<bool, Cause> {
        let is_empty = self.lookups.empty_directories.holds(stored)?;
        let is_elsewhere = self
            .lookups
            .empty_directories
            .device
            .is_some_and(|own| own != dev);
        let has_left_out =
            || (self.view.info().options.keys()).any(|option| option.starts_with(EXCLUDED));
        // The index knows nothing about entries that it left out, nor about
        // other file systems.
        match is_elsewhere || is_empty && has_left_out() {
            true if is_recorded(&self.view) => Err(Cause(UNKNOWN.into())),
            true => live_emptiness(path::display(stored)),
            false => Ok(is_empty),
        }
    }

    /// Opens the file with this stored path.
    fn open(&self, stored: &[u8]) -> Result<File, Cause> {
        if is_recorded(&self.view) {
            return Err(Cause(OF_THEN.into()));
        }
        open_now(stored)
    }

    /// Returns the index.
    pub(super) fn index(&self) -> &'p Index {
        self.index
    }

    /// Returns where the link with this stored path leads.
    pub(super) fn target_of(&self, places: &impl PathSource, stored: &[u8]) -> Target {
        let resolved = resolve(places, b"", stored, resolve::Follow::Last);
        match resolved.and_then(|resolved| told_apart(self.index, resolved)) {
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
            // The state of the live file system at that time is not known.
            _ if is_recorded(&self.view) => Target::Missing,
            // The target is not in the index, or is hidden from this user.
            _ => live_target(path::display(stored)),
        }
    }

    /// Returns whether the current user has the access to an entry with this
    /// stored path, which must not be a link.
    fn admits(&self, row: &Row<'_>, stored: impl Fn() -> Vec<u8>, access: Access) -> bool {
        if asker() != Asker::Known && !is_recorded(&self.view) {
            return far::may(path::display(&stored()), access.wish()).is_ok();
        }
        let mounts = Mounts {
            file_systems: &self.world.file_systems,
            stored: &stored,
        };
        access::admits(row, self.index.who(), access, &mounts)
    }
}

/// Cause for a directory of which some entries were left out.
const UNKNOWN: &str = "not known to be empty, since entries were excluded from the index";

/// Returns whether a directory of the live file system has no entries.
fn live_emptiness(path: &[u8]) -> Result<bool, Cause> {
    let empty = far::is_empty_directory(path);
    empty.map_err(|error| live::probe::cause(&error))
}

/// Returns the type at a path of the live file system, after following links.
fn live_target(path: &[u8]) -> Target {
    match far::stat(path) {
        Ok(stat) => Target::Is(FileType::from_mode(stat.mode)),
        Err(error) => match error.errno {
            Errno::NOENT | Errno::NOTDIR => Target::Missing,
            Errno::LOOP => Target::Loop,
            _ => Target::Unknown(live::probe::cause(&error)),
        },
    }
}

impl Probe for IndexProbe<'_> {
    fn is_empty_directory(&self, row: &Row<'_>, _: &[u8]) -> Result<bool, Cause> {
        self.is_empty(&row.path(), row.dev())
    }

    fn target(&self, row: &Row<'_>, _: &[u8]) -> Target {
        match row.file_type() {
            FileType::Symlink => self.target_of(self.index, &row.path()),
            other => Target::Is(other),
        }
    }

    fn own_type(&self, row: &Row<'_>, path: &[u8]) -> Target {
        // If a start point is a link, the row is that of its target.
        let is_link = self.world.follow != Follow::Never
            && bare_name(path) != row.name()
            && far::stat_itself(path).is_ok_and(|stat| stat.is_symlink());
        Target::Is(match is_link {
            true => FileType::Symlink,
            false => row.file_type(),
        })
    }

    fn may(&self, row: &Row<'_>, _: &[u8], access: Access) -> bool {
        if row.file_type() != FileType::Symlink {
            return self.admits(row, || row.path(), access);
        }
        if is_recorded(&self.view) {
            let found = resolve(self.index, b"", &row.path(), resolve::Follow::Last);
            return matches!(found, Ok(Resolved::To(Located::Found(found), _))
                if self.admits(&row_of(&found, b""), || found.path.clone(), access));
        }
        // Only the kernel knows the permissions of the target and of the
        // directories on the way to it.
        far::may(path::display(&row.path()), access.wish()).is_ok()
    }

    fn has_attribute(&self, row: &Row<'_>, _: &[u8], test: &AttributeTest) -> bool {
        self.lookups.has_attribute(test, || row.path())
    }

    fn place(&self, _: &Row<'_>, _: &[u8]) -> Option<NameInDirectory<'_>> {
        None
    }

    fn content(&self, row: &Row<'_>, _: &[u8]) -> Result<File, Cause> {
        self.open(&row.path())
    }
}

/// Answers questions about a link's target, whose row has the link's name.
pub(super) struct BehindLink<'p> {
    pub(super) inner: &'p IndexProbe<'p>,
    /// The target's own stored path.
    pub(super) stored: &'p [u8],
}

impl Probe for BehindLink<'_> {
    fn is_empty_directory(&self, row: &Row<'_>, _: &[u8]) -> Result<bool, Cause> {
        self.inner.is_empty(self.stored, row.dev())
    }

    fn target(&self, row: &Row<'_>, _: &[u8]) -> Target {
        Target::Is(row.file_type())
    }

    fn own_type(&self, _: &Row<'_>, _: &[u8]) -> Target {
        Target::Is(FileType::Symlink)
    }

    fn may(&self, row: &Row<'_>, _: &[u8], access: Access) -> bool {
        self.inner.admits(row, || self.stored.to_vec(), access)
    }

    fn has_attribute(&self, _: &Row<'_>, _: &[u8], test: &AttributeTest) -> bool {
        let stored = || self.stored.to_vec();
        self.inner.lookups.has_attribute(test, stored)
    }

    fn place(&self, _: &Row<'_>, _: &[u8]) -> Option<NameInDirectory<'_>> {
        None
    }

    fn content(&self, _: &Row<'_>, _: &[u8]) -> Result<File, Cause> {
        self.inner.open(self.stored)
    }
}
