//! Defines the interface between the daemon and the component that writes the index. It does not
//! say how changes are applied.

use std::time::{Duration, Instant};

use trawl_changes::{Dirty, KeyResolver};
use trawl_format::SnapshotId;
use trawl_model::Timestamp;

/// Looks at dirty entries and publishes their present state. The daemon makes one call at a time,
/// on a thread of its own, and continues to read the source meanwhile. A panic counts as an error
/// after which nothing is trusted.
pub trait Applier: Send {
    /// Looks at the dirty entries, writes the new rows and publishes them. After `Ok`, readers that
    /// open the index see every entry as it was when this was called, or later.
    ///
    /// If this fails, the entries stay dirty and are passed to the next call, together with later
    /// changes.
    ///
    /// # Errors
    /// Where nothing could be published, or only a part.
    fn apply(
        &mut self,
        taken: &TakenDirt,
        places: &mut dyn KeyResolver,
    ) -> Result<Published, ApplyError>;

    /// Checks for changes that the source does not report, such as who may reach its root. It is
    /// called when somebody asks and nothing is dirty. Returns `None` if nothing changed.
    ///
    /// # Errors
    /// As [`Applier::apply`].
    fn look(&mut self) -> Result<Option<Published>, ApplyError> {
        Ok(None)
    }

    /// Scans the subtree, or everything, again, whatever is known about it: because trust was lost
    /// or because a user asks. Changes made meanwhile go to [`Applier::apply`] afterwards.
    ///
    /// # Errors
    /// As [`Applier::apply`].
    fn rescan(
        &mut self,
        scope: &Scope,
        why: &str,
        places: &mut dyn KeyResolver,
    ) -> Result<Published, ApplyError>;

    /// Finds out, after trust was lost, what has changed since then and publishes it together with
    /// the dirty entries; or scans everything. Changes made meanwhile go to [`Applier::apply`]
    /// afterwards.
    ///
    /// # Errors
    /// As [`Applier::apply`].
    fn catch_up(
        &mut self,
        _taken: &TakenDirt,
        why: &str,
        places: &mut dyn KeyResolver,
    ) -> Result<Published, ApplyError> {
        self.rescan(&Scope::Everything, why, places)
    }

    /// Returns a line of at most 128 bytes to store beside the current snapshot. If this daemon is
    /// killed, the applier that continues from that snapshot gets the line.
    fn note(&mut self) -> Option<(SnapshotId, String)> {
        None
    }

    /// When to call [`Applier::compact`], unless somebody waits for something else at that time;
    /// `None` means not before the next publication.
    fn compacts_at(&self) -> Option<Instant> {
        None
    }

    /// Turns published changes into a snapshot, or otherwise makes them cheaper to read. If it
    /// stops early because `is_wanted` returns true, [`Applier::compacts_at`] says when to call it
    /// again.
    ///
    /// # Errors
    /// As [`Applier::apply`].
    fn compact(&mut self, _is_wanted: &dyn Fn() -> bool) -> Result<Option<SnapshotId>, ApplyError> {
        Ok(None)
    }

    /// Turns published changes into a snapshot before the daemon ends. It is the last call.
    ///
    /// # Errors
    /// As [`Applier::apply`]; the published changes stay as they are.
    fn close(&mut self) -> Result<Option<SnapshotId>, ApplyError> {
        Ok(None)
    }

    /// Minimum pause after a publication, unless somebody waits.
    fn rest(&self) -> Duration {
        Duration::ZERO
    }
}

/// Dirty entries that an applier is to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenDirt {
    /// The dirty entries. Files that other processes have open for writing are among the objects,
    /// as reached without a name; [`Dirty::everything`] is empty.
    pub dirty: Dirty,
    /// Time up to which all changes are in `dirty` or were passed earlier; `None` if unknown.
    pub as_of: Option<Timestamp>,
    /// Whether files that other processes have open for writing were searched for. If so, their
    /// changes without an event are in `dirty` or were passed earlier.
    pub has_open_files: bool,
}

/// A part of a source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The whole source.
    Everything,
    /// A directory (the root or one below it) with everything below. It may no longer exist.
    Subtree(Vec<u8>),
}

/// Result of a publication.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// The current snapshot.
    pub snapshot: Option<SnapshotId>,
    /// The current generation beside the snapshot; 0 means none.
    pub generation: u64,
    /// Whether the snapshot was made from published changes, without a scan.
    pub is_checkpoint: bool,
    /// Parts that could not be looked at and keep their old rows.
    pub stale: Vec<Stale>,
    /// After trust was lost: how the changes were found.
    pub recovery: Option<Recovery>,
}

/// How the changes were found after trust was lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The method, in one word; `None` for a scan.
    pub method: Option<&'static str>,
    /// Why no cheaper method was used.
    pub why: Option<String>,
    /// Number of files looked at, where known.
    pub looked_at: u64,
    /// Number of files that differed from the index.
    pub dirty: u64,
}

/// A part of a source for which the index may be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// The directory; everything below it is included.
    pub path: Vec<u8>,
    /// The reason, in words.
    pub why: String,
}

/// The reason why nothing was published.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApplyError {
    /// The kind of error.
    pub kind: ApplyErrorKind,
    /// The error with its path, and advice.
    pub message: String,
}

impl ApplyError {
    /// The error after a panic.
    pub(crate) fn mistake(message: &str) -> ApplyError {
        ApplyError {
            kind: ApplyErrorKind::Broken,
            message: message.to_owned(),
        }
    }
}

/// Kinds of apply errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyErrorKind {
    /// The index's file system is full.
    NoSpace,
    /// Another process is writing this source at present.
    Busy,
    /// The daemon is to stop.
    Stopped,
    /// Any other error. The dirty set is no longer trusted: everything is scanned again.
    Broken,
}
