//! Permission audit: checks that users are shown exactly what they may see. The kernel decides
//! twice: a thread that has become the user looks at the source, and opens the index.
//!
//! | module | contents |
//! |---|---|
//! | `people`, `sample` | the users and the directories that are checked |
//! | `source`, `recorded` | what a user may see: on the live source, or by the permission rules |
//! | `shown` | what the index shows |
//! | `facts`, `compare` | comparison of both |
//! | `audit`, `report` | the check of one source from start to end |
//!
//! The check changes nothing except access times of directories that users list.

mod audit;
mod compare;
mod facts;
mod people;
mod recorded;
mod report;
mod sample;
mod shown;
mod source;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_format::{IndexDir, Readers, Source};
use trawl_model::path;

use crate::error::{IndexerError, Result};
use crate::event::Listener;
use crate::options::Control;

pub use self::compare::{Difference, Kind, Tally};
pub use self::people::{Person, named};
pub use self::report::{Derivation, Report};
pub use self::sample::Size;

/// Returns an error unless this process is the superuser's, who can become any user.
///
/// # Errors
/// Fails with [`IndexerError::NotSuperuser`].
pub fn require_superuser() -> Result<()> {
    match trawl_sys::identity::effective_uid() {
        0 => Ok(()),
        _ => Err(IndexerError::NotSuperuser),
    }
}

/// Check of an index, with settings that hold for every source.
#[derive(Debug)]
pub struct Checker<'a> {
    index: IndexDir,
    size: Size,
    /// Users to check; empty means those that the source suggests.
    people: Vec<Person>,
    control: Control<'a>,
}

impl<'a> Checker<'a> {
    /// Opens the index at an absolute path: other users may lack permissions for the working
    /// directory. `people` are the users to check; empty means owners of directories, some accounts
    /// of the system, and `nobody`.
    ///
    /// # Errors
    /// Fails with [`IndexerError::PrivateIndex`] if only the index's owner may read it; fails if it
    /// cannot be opened.
    pub fn open(
        dir: &Path,
        people: Vec<Person>,
        size: Size,
        control: Control<'a>,
    ) -> Result<Checker<'a>> {
        let index = IndexDir::open(dir)?;
        if index.readers() == Readers::Owner {
            return Err(IndexerError::PrivateIndex {
                index: dir.to_owned(),
            });
        }
        Ok(Checker {
            index,
            size,
            people,
            control,
        })
    }

    fn dir(&self) -> &Path {
        self.index.path()
    }

    /// Returns all sources.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn sources(&self) -> Result<Vec<Source>> {
        Ok(self.index.sources()?)
    }

    /// Returns the source that contains a path, and the path as the index spells it.
    ///
    /// # Errors
    /// Returns the path, as the live file system resolves it, if no source contains it.
    pub fn around(&self, given: &OsStr) -> std::result::Result<(Source, Vec<u8>), Vec<u8>> {
        let real = std::fs::canonicalize(given).ok();
        let real = real
            .as_deref()
            .map_or(given.as_bytes(), |path| path.as_os_str().as_bytes());
        let around = path::normalize(real).and_then(|real| {
            let sources = self.sources().ok()?.into_iter();
            let around = sources.filter(|source| path::is_within(&real, source.root()));
            let nearest = around.max_by_key(|source| source.root().len())?;
            Some((nearest, real))
        });
        around.ok_or_else(|| real.to_vec())
    }

    /// Checks the part of a source at and below `top`; returns `None` if the source has no snapshot
    /// yet.
    ///
    /// # Errors
    /// If the source or the index cannot be read, this process cannot become a user, or the check
    /// was interrupted. Differences are no errors.
    pub fn check(
        &self,
        source: &Source,
        top: &[u8],
        listener: &mut dyn Listener,
    ) -> Result<Option<Report>> {
        audit::audit(self, source, top, listener)
    }
}
