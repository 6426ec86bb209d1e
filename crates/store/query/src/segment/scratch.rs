//! Decoding buffers, and what kind of read they are for.

use super::page::PageBuffers;
use std::ops::Range;
use trawl_model::rows::{ByteColumn, RowBatch};

/// Maximum number of batches kept for reuse.
const SPARE_BATCHES: usize = 3;
/// Smaller batches are not kept.
const LARGE_BATCH_ROWS: usize = 8192;

/// Decoding buffers of one thread.
#[derive(Default)]
pub struct Scratch {
    pub(super) zstd: zstd::bulk::Decompressor<'static>,
    pub(super) chunk: Vec<u8>,
    pub(super) page: Vec<u8>,
    pub(super) buffers: PageBuffers,
    pub(super) keep: Vec<Range<usize>>,
    batches: Vec<RowBatch>,
    /// For the raw bytes of texts, almost all of which are null.
    pub(super) raws: ByteColumn,
    /// Reads names from sidecars.
    pub(crate) names: trawl_names::RowReader,
    /// For names from sidecars; its contents are undefined.
    pub(crate) name_bytes: Vec<u8>,
    /// True if the pages of small reads are kept.
    is_for_lookups: bool,
}

impl Scratch {
    /// Returns buffers for lookups of single entries and directories: pages that
    /// they decode stay with the view, so that the next lookup need not decode
    /// them again.
    pub(crate) fn for_lookups() -> Scratch {
        Scratch {
            is_for_lookups: true,
            ..Scratch::default()
        }
    }

    /// Reads without keeping pages.
    pub(super) fn keeping_nothing<T>(&mut self, read: impl FnOnce(&mut Scratch) -> T) -> T {
        let before = std::mem::replace(&mut self.is_for_lookups, false);
        let done = read(self);
        self.is_for_lookups = before;
        done
    }

    /// True if the pages of small reads are kept.
    pub(crate) fn is_for_lookups(&self) -> bool {
        self.is_for_lookups
    }

    /// Takes the buffer for raw bytes, emptied; the caller puts it back.
    pub(super) fn take_raws(&mut self) -> ByteColumn {
        let mut raws = std::mem::take(&mut self.raws);
        raws.offsets.truncate(1);
        raws.data.clear();
        raws
    }

    /// Returns an empty batch for `rows` rows, reusing memory of a recycled
    /// one. Small batches get new memory: that is cheap, and large buffers in
    /// their place would evict each other from the CPU caches.
    pub(crate) fn take_batch(&mut self, rows: usize) -> RowBatch {
        match rows >= LARGE_BATCH_ROWS {
            true => self.batches.pop().unwrap_or_default(),
            false => RowBatch::default(),
        }
    }

    /// Takes back a batch to reuse its memory.
    pub(crate) fn recycle(&mut self, mut batch: RowBatch) {
        // Not cleared, which would require filling it again before use.
        if batch.name.gap > 0 && batch.name.data.len() > self.name_bytes.len() {
            self.name_bytes = std::mem::take(&mut batch.name.data);
        }
        if batch.len >= LARGE_BATCH_ROWS && self.batches.len() < SPARE_BATCHES {
            batch.clear();
            self.batches.push(batch);
        }
    }
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}
