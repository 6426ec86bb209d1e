//! What was published becomes a snapshot, and the applier goes on from that.

use std::sync::Arc;

use trawl_index::gc::Collected;
use trawl_index::live::Checkpoint;
use trawl_index::retention::Keeps;
use trawl_index::{Committed, IndexError, Prepared, Source};
use trawl_query::View;

use crate::applier::{Applier, superuser};
use crate::error::Result;

/// How much lies beside a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// Rows of entries in segments beside it.
    pub rows: u64,
    /// Of the snapshot.
    pub base_rows: u64,
    /// Segments beside it.
    pub segments: usize,
}

impl Applier {
    /// Makes a snapshot of what was published, which `publish` makes current.
    /// `None` if nothing was, or it was told not to go on.
    ///
    /// # Errors
    /// Those of `publish`, and if files cannot be read or written. What was
    /// published counts as before, or everything from here on asks for a scan.
    pub fn checkpoint<E: From<IndexError>>(
        &mut self,
        making: Checkpoint<'_>,
        publish: impl FnOnce(Prepared) -> std::result::Result<Committed, E>,
    ) -> std::result::Result<Option<Committed>, E> {
        let base = self.writer.base_id();
        let done = self.writer.checkpoint(making, publish);
        if self.writer.base_id() != base {
            self.withdrawn = None;
            let view = View::new(self.writer.snapshot(), superuser());
            self.view = Arc::new(view.with_places());
        }
        done
    }

    /// Fewer may see something than files of the snapshot show: nobody must be
    /// answered before there is a snapshot of what was published, and the files are gone.
    pub fn must_checkpoint(&self) -> bool {
        self.withdrawn.is_some()
    }

    /// True if anything was published that the snapshot does not say.
    pub fn has_changes(&self) -> bool {
        self.writer.has_changes()
    }

    /// The source that it writes.
    pub fn source(&self) -> &Source {
        self.writer.source()
    }

    /// How much lies beside the snapshot.
    pub fn growth(&self) -> Growth {
        let (rows, base_rows, segments) = self.writer.growth();
        Growth {
            rows,
            base_rows,
            segments,
        }
    }

    /// Removes older snapshots that are not to stay.
    ///
    /// # Errors
    /// If files cannot be removed.
    pub fn collect(&self, retention: impl Keeps) -> Result<Collected> {
        Ok(self.writer.collect(retention)?)
    }
}
