//! What the daemon asks of whoever writes the index: the interface, and nothing of how it is done.

use std::time::{Duration, Instant};

use trawl_index::SnapshotId;
use trawl_live::{Dirty, Places};
use trawl_model::Timestamp;

/// Looks at what is dirty and publishes it. One at a time, on a thread of its own, while the
/// source is read further; whatever panics is treated as an error after which nothing is trusted.
pub trait Applier: Send {
    /// Looks at what is dirty, writes what is new and publishes it. When it returns `Ok`, readers
    /// that open the index see everything as it was when this was called, or later.
    ///
    /// What is dirty stays so if this fails, and is given again, with what came later.
    ///
    /// # Errors
    /// Where nothing, or not all, could be published.
    fn apply(&mut self, taken: &Taken, places: &mut dyn Places) -> Result<Published, ApplyError>;

    /// Nothing is dirty and somebody asks: looks at what no change of the source tells, such as who
    /// may reach its root. `None` if all is as it was.
    ///
    /// # Errors
    /// As [`Applier::apply`].
    fn look(&mut self) -> Result<Option<Published>, ApplyError> {
        Ok(None)
    }

    /// Scans the subtree, or everything, again, whatever is known of it: trust was lost, or a user
    /// asks. What changes meanwhile is given to [`Applier::apply`] afterwards.
    ///
    /// # Errors
    /// As [`Applier::apply`].
    fn rescan(
        &mut self,
        scope: &Scope,
        why: &str,
        places: &mut dyn Places,
    ) -> Result<Published, ApplyError>;

    /// Trust was lost: finds out what changed since it was there, and publishes that with what is
    /// dirty; or scans everything. What changes meanwhile is given to [`Applier::apply`] afterwards.
    ///
    /// # Errors
    /// As [`Applier::apply`].
    fn catch_up(
        &mut self,
        _taken: &Taken,
        why: &str,
        places: &mut dyn Places,
    ) -> Result<Published, ApplyError> {
        self.rescan(&Scope::Everything, why, places)
    }

    /// What is to be remembered beside a snapshot that is current: told to the applier that goes on
    /// from that snapshot, if this daemon is killed. One line of at most 128 bytes.
    fn note(&mut self) -> Option<(SnapshotId, String)> {
        None
    }

    /// When [`Applier::compact`] is to be called, unless somebody waits for something else then;
    /// `None`: not before something is published.
    fn compacts_at(&self) -> Option<Instant> {
        None
    }

    /// Makes what was published a snapshot, or otherwise cheaper to read. Where it leaves off
    /// because somebody `is_wanted` meanwhile, it says when to come again
    /// ([`Applier::compacts_at`]).
    ///
    /// # Errors
    /// As [`Applier::apply`].
    fn compact(&mut self, _is_wanted: &dyn Fn() -> bool) -> Result<Option<SnapshotId>, ApplyError> {
        Ok(None)
    }

    /// Nothing comes after this: what was published is made to last, as a snapshot.
    ///
    /// # Errors
    /// As [`Applier::apply`]; what was published stays as it is.
    fn close(&mut self) -> Result<Option<SnapshotId>, ApplyError> {
        Ok(None)
    }

    /// How long to leave it alone, after it published something, unless somebody waits.
    fn rest(&self) -> Duration {
        Duration::ZERO
    }
}

/// What is to be looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// What is dirty. Files that others have open for writing are among the objects, as reached
    /// without a name; [`Dirty::everything`] is empty.
    pub dirty: Dirty,
    /// Up to when all changes are among what is dirty, or were before; `None` if that is not known.
    pub as_of: Option<Timestamp>,
    /// Files that others have open for writing were looked for: what they changed without an event
    /// is among what is dirty, or was before.
    pub has_open_files: bool,
}

/// A part of a source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// All of it.
    Everything,
    /// A directory, below the root or the root itself, and all below. It may be gone by now.
    Subtree(Vec<u8>),
}

/// What was published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// The snapshot that is current now.
    pub snapshot: Option<SnapshotId>,
    /// The generation beside it that counts; 0: none.
    pub generation: u64,
    /// It was made of what had been published, without a scan.
    pub is_checkpoint: bool,
    /// What could not be looked at, and stays as it was.
    pub stale: Vec<Stale>,
    /// After trust was lost: how what changed was found.
    pub recovery: Option<Recovery>,
}

/// How what changed was found after trust was lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// In one word; none for a scan.
    pub method: Option<&'static str>,
    /// Why not in a cheaper way.
    pub why: Option<String>,
    /// How many files were looked at, where that is known.
    pub looked_at: u64,
    /// How many were not as the index had them.
    pub dirty: u64,
}

/// A part of a source that the index may not say the truth of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// A directory, with all below.
    pub path: Vec<u8>,
    /// Why, in words.
    pub why: String,
}

/// Why nothing was published.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApplyError {
    /// What kind of reason.
    pub kind: ApplyErrorKind,
    /// What, with which path, and what to do.
    pub message: String,
}

impl ApplyError {
    /// After a panic.
    pub(crate) fn mistake(message: &str) -> ApplyError {
        ApplyError {
            kind: ApplyErrorKind::Broken,
            message: message.to_owned(),
        }
    }
}

/// Kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyErrorKind {
    /// No room for the index.
    NoSpace,
    /// Someone else writes the source at this time.
    Busy,
    /// The daemon is to stop.
    Stopped,
    /// Any other. What is dirty is trusted no more: everything is scanned again.
    Broken,
}
