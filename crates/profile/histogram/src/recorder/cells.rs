//! The memory of one recorder: written by its owner, copied by readers. `super` explains the scheme.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::plan::{Block, Layout};

/// Cells of a block before its buckets: sequence, entered, left, dropped, total (low, high), least,
/// greatest. They fill one cache line.
pub(super) const HEADER: usize = 8;

const SEQUENCE: usize = 0;
const ENTERED: usize = 1;
const LEFT: usize = 2;
const DROPPED: usize = 3;
const TOTAL_LOW: usize = 4;
const TOTAL_HIGH: usize = 5;
const LEAST: usize = 6;
const GREATEST: usize = 7;

/// How often a reader copies a block itself before it asks the owner.
const ATTEMPTS: usize = 16;

/// How often a reader looks for the owner's answer, giving up the CPU between two looks.
const LOOKS: usize = 1000;

/// How often it looks after that, with a pause between two looks: about half a second.
const LATE_LOOKS: usize = 500;

const PAUSE: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Cells {
    pub(super) cells: Box<[AtomicU64]>,
    /// Whether a reader waits for a copy.
    pub(super) asked: AtomicBool,
    pub(super) request: Mutex<Option<Request>>,
    /// Held by the reader that may ask.
    reader: Mutex<()>,
}

#[derive(Debug)]
pub(super) struct Request {
    pub(super) copy: Vec<u64>,
    pub(super) is_done: bool,
}

/// The outcome of waiting for a block.
enum Copied {
    /// The block: the owner has paused.
    Block,
    /// All cells, from the owner.
    All(Vec<u64>),
}

impl Cells {
    pub(super) fn new(layout: &Layout) -> Cells {
        let cells: Box<[AtomicU64]> = (0..layout.cells()).map(|_| AtomicU64::new(0)).collect();
        for block in &layout.blocks {
            cells[block.cells.start + LEAST].store(u64::MAX, Relaxed);
        }
        Cells {
            cells,
            asked: AtomicBool::new(false),
            request: Mutex::new(None),
            reader: Mutex::new(()),
        }
    }

    /// Returns a block's header and buckets.
    #[inline]
    fn block(&self, block: &Block) -> Option<(&[AtomicU64; HEADER], &[AtomicU64])> {
        self.cells
            .get(block.cells.clone())
            .and_then(<[AtomicU64]>::split_first_chunk)
    }

    /// Counts an entering call.
    #[inline]
    pub(super) fn enter(&self, block: &Block) {
        if let Some((header, _)) = self.block(block) {
            let entered = header[ENTERED].load(Relaxed).wrapping_add(1);
            // A reader that sees it also sees the sequence numbers of earlier calls.
            header[ENTERED].store(entered, Release);
        }
    }

    /// Counts a leaving call.
    #[inline]
    pub(super) fn leave(&self, block: &Block, bucket: u16, latency: u64) {
        let Some((header, buckets)) = self.block(block) else {
            return;
        };
        let Some(bucket) = buckets.get(usize::from(bucket)) else {
            return;
        };
        let sequence = begin(header);
        add(bucket, 1);
        let (low, carry) = header[TOTAL_LOW].load(Relaxed).overflowing_add(latency);
        header[TOTAL_LOW].store(low, Relaxed);
        if carry {
            add(&header[TOTAL_HIGH], 1);
        }
        if latency < header[LEAST].load(Relaxed) {
            header[LEAST].store(latency, Relaxed);
        }
        if latency > header[GREATEST].load(Relaxed) {
            header[GREATEST].store(latency, Relaxed);
        }
        add(&header[LEFT], 1);
        end(header, sequence);
    }

    /// Counts a call that leaves without a latency.
    pub(super) fn drop_one(&self, block: &Block) {
        if let Some((header, _)) = self.block(block) {
            let sequence = begin(header);
            add(&header[DROPPED], 1);
            add(&header[LEFT], 1);
            end(header, sequence);
        }
    }

    /// Gives the cells to a reader that waits for them. The owner calls this between two changes.
    #[inline]
    pub(super) fn answer(&self) {
        if self.asked.load(Relaxed) {
            self.hand_over();
        }
    }

    #[cold]
    fn hand_over(&self) {
        // If the reader is looking just now, the next call answers.
        let Ok(mut request) = self.request.try_lock() else {
            return;
        };
        if let Some(request) = request.as_mut().filter(|request| !request.is_done) {
            for (to, cell) in request.copy.iter_mut().zip(&self.cells) {
                *to = cell.load(Relaxed);
            }
            request.is_done = true;
        }
        self.asked.store(false, Relaxed);
    }

    /// Returns a copy of all cells in which each block is consistent, or the block on which the owner
    /// was stopped for too long.
    pub(super) fn read<'a>(&self, layout: &'a Layout) -> Result<Vec<u64>, &'a Block> {
        let _reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let mut copy = vec![0; self.cells.len()];
        for block in &layout.blocks {
            if (0..ATTEMPTS).any(|_| self.copy(block, &mut copy)) {
                continue;
            }
            let copied = self.wait(block, &mut copy);
            self.asked.store(false, Relaxed);
            *self.request() = None;
            match copied {
                Some(Copied::Block) => {}
                Some(Copied::All(copy)) => return Ok(copy),
                None => return Err(block),
            }
        }
        Ok(copy)
    }

    /// Copies a block; returns whether it did not change meanwhile.
    fn copy(&self, block: &Block, copy: &mut [u64]) -> bool {
        let Some(cells) = self.cells.get(block.cells.clone()) else {
            return true;
        };
        let sequence = cells[SEQUENCE].load(Acquire);
        if sequence % 2 == 1 {
            return false;
        }
        for (to, cell) in copy[block.cells.clone()].iter_mut().zip(cells) {
            *to = cell.load(Relaxed);
        }
        fence(Acquire);
        cells[SEQUENCE].load(Relaxed) == sequence
    }

    /// Asks the owner for all cells, and waits until it answers or pauses.
    fn wait(&self, block: &Block, copy: &mut [u64]) -> Option<Copied> {
        *self.request() = Some(Request {
            copy: vec![0; self.cells.len()],
            is_done: false,
        });
        self.asked.store(true, Relaxed);
        for look in 0..LOOKS + LATE_LOOKS {
            if self.copy(block, copy) {
                return Some(Copied::Block);
            }
            if !self.asked.load(Relaxed)
                && let Some(request) = self.request().take_if(|request| request.is_done)
            {
                return Some(Copied::All(request.copy));
            }
            match look < LOOKS {
                true => thread::yield_now(),
                false => thread::sleep(PAUSE),
            }
        }
        None
    }

    fn request(&self) -> MutexGuard<'_, Option<Request>> {
        self.request.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a block's sequence number odd.
#[inline]
fn begin(header: &[AtomicU64; HEADER]) -> u64 {
    let sequence = header[SEQUENCE].load(Relaxed);
    header[SEQUENCE].store(sequence.wrapping_add(1), Relaxed);
    // Whoever sees a change below sees the odd number. On x86-64 this is no instruction.
    fence(Release);
    sequence
}

/// Makes a block's sequence number even again.
#[inline]
fn end(header: &[AtomicU64; HEADER], sequence: u64) {
    header[SEQUENCE].store(sequence.wrapping_add(2), Release);
}

/// Adds to a cell that nobody else writes.
#[inline]
fn add(cell: &AtomicU64, amount: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(amount), Relaxed);
}
