//! What somebody who keeps an index fresh says of it, and whether what is opened then is that.
//!
//! An index that is read as it is has nobody to ask, and promises nothing.

use std::fmt;

use trawl_index::{Snapshot, SnapshotId, Source};

/// Who is asked about sources before these are read. Each is asked about once.
pub trait Promises: fmt::Debug + Send + Sync {
    /// Has a source brought up to date that was not asked about yet. True if that was done now: it
    /// may lie elsewhere in the index then.
    fn ask(&self, source: &Source) -> bool;

    /// The same once more, whatever was said before.
    fn ask_again(&self, source: &Source);

    /// What a source has at least; `None` if nobody says so.
    fn promised(&self, source: &Source) -> Option<Promise>;
}

/// What a source has at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// Its current snapshot is this one or a later one.
    pub snapshot: SnapshotId,
    /// With this snapshot, the generation beside it is this one or a later one; 0: none is needed.
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
