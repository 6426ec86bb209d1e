//! Turns the published generations into a snapshot, from which the applier continues.

use std::sync::Arc;

use trawl_format::retention::Keeps;
use trawl_format::{IndexError, Source};
use trawl_query::View;
use trawl_writer::gc::Collected;
use trawl_writer::live::Checkpoint;
use trawl_writer::{Committed, Prepared};

use crate::applier::{Applier, superuser};
use crate::error::Result;

/// Size of the generations beside a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// Entry rows in the generations' segments.
    pub rows: u64,
    /// Entry rows of the snapshot.
    pub base_rows: u64,
    /// Number of the generations' segments.
    pub segments: usize,
}

impl Applier {
    /// Makes a snapshot of the published generations, which `publish` makes current. Returns `None`
    /// if there are none, or if it was told to stop.
    ///
    /// # Errors
    /// Those of `publish`, and failures to read or write files. Afterwards the published
    /// generations either count as before, or every further call asks for a scan.
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

    /// Returns true if a snapshot is due at once because the present snapshot's files show
    /// something that fewer users may see now. Until the new snapshot is made and the files are
    /// gone, no request may be answered.
    pub fn must_checkpoint(&self) -> bool {
        self.withdrawn.is_some()
    }

    /// Returns true if the published generations differ from the snapshot.
    pub fn has_changes(&self) -> bool {
        self.writer.has_changes()
    }

    /// Returns the source that it writes.
    pub fn source(&self) -> &Source {
        self.writer.source()
    }

    /// Returns the size of the generations beside the snapshot.
    pub fn growth(&self) -> Growth {
        let (rows, base_rows, segments) = self.writer.growth();
        Growth {
            rows,
            base_rows,
            segments,
        }
    }

    /// Removes older snapshots that are not retained.
    ///
    /// # Errors
    /// Where files cannot be removed.
    pub fn collect(&self, retention: impl Keeps) -> Result<Collected> {
        Ok(self.writer.collect(retention)?)
    }
}
