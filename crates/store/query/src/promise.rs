//! Promises by a daemon that keeps an index fresh, and whether an opened
//! snapshot keeps them.
//!
//! An index without a daemon has nobody to ask and promises nothing.

use std::fmt;

use trawl_format::{Snapshot, SnapshotId, Source};

/// A service that is asked about sources before they are read. Each source is
/// asked about once.
pub trait Promises: fmt::Debug + Send + Sync {
    /// Has a source brought up to date unless it was asked about before.
    /// Returns true if that happened now: the source may then have moved within
    /// the index.
    fn ask(&self, source: &Source) -> bool;

    /// Asks about the source again, whatever was said before.
    fn ask_again(&self, source: &Source);

    /// Returns the minimum state of a source; `None` if nobody promises one.
    fn promised(&self, source: &Source) -> Option<Promise>;
}

/// The minimum state of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The current snapshot is this one or a later one.
    pub snapshot: SnapshotId,
    /// If it is this snapshot, its generation is at least this one; 0 means
    /// that none is needed.
    pub generation: u64,
}

impl Promise {
    /// True if this is what was promised, or newer.
    pub(crate) fn is_kept_by(self, opened: Option<&Snapshot>) -> bool {
        let Some(opened) = opened else { return false };
        let generation = opened.live().map_or(0, |live| live.generation);
        (opened.info.id, generation) >= (self.snapshot, self.generation)
    }
}
