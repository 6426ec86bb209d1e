//! The hot path: what happens before and after each call.
//!
//! "The total number of operations is updated before entering the profiled code and the buckets are
//! updated after returning from it" (§5.8). "Each thread may be assigned a separate set of buckets to
//! avoid any lost bucket updates" (§3.4.2): so a block has one writer, which uses plain stores.
//!
//! # How readers get consistent numbers
//!
//! A block begins with a sequence number, which is odd while the block changes when a call leaves. A
//! reader copies the block and keeps the copy if the number was even and is unchanged. Entering
//! changes one word only. On x86-64 stores become visible in their order, on AArch64 each change has
//! release order.
//!
//! A signal handler may interrupt a change and record calls of its own. It finds the number odd, and
//! changes the words in between without touching the number: each change is one instruction (or, for
//! the extremes, an atomic operation, which is rare), so none gets lost. If the handler never returns,
//! or the process is killed at this point, the number stays odd, and readers derive what is missing.

use std::sync::atomic::{AtomicU64, Ordering};

use trawl_histogram::Resolution;
use trawl_profile_mapping::Operation;
use trawl_profile_mapping::layout::{
    BLOCK_HEADER_WORDS, DROPPED_IN_BLOCK_AT, ENTERED_AT, GREATEST_AT, LEAST_COMPLEMENT_AT, LEFT_AT,
    REGION_HEADER_WORDS, SEQUENCE_AT, TOTAL_AT,
};

use crate::cells::{Word, add, add_wide};
use crate::region::OWN;
use crate::{clock, process, region, site};

/// A call in flight. It has no destructor: if the call never returns, because its thread is cancelled
/// or jumps elsewhere, it stays in flight.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// The block of the operation; null if the call is not recorded.
    block: Word,
    epoch: u64,
    started: u64,
}

/// Counts an entering call from an address.
#[inline(always)]
pub(crate) fn enter(operation: Operation, caller: usize) -> Entry {
    let epoch = process::epoch();
    let start = OWN.with(|own| match own.epoch.get() == epoch {
        true => own.start.get(),
        false => std::ptr::null_mut(),
    });
    if start.is_null() {
        return first(operation, caller);
    }
    // SAFETY: the region is this thread's.
    begin(unsafe { block(start, operation, caller) }, epoch)
}

/// Returns the block that counts a call.
///
/// # Safety
/// `start` is the region of this thread.
#[inline(always)]
unsafe fn block(start: Word, operation: Operation, caller: usize) -> Word {
    if process::tags() != 0 {
        // SAFETY: guaranteed by the caller.
        return unsafe { site::block(start, operation, caller) };
    }
    let at = REGION_HEADER_WORDS + operation as usize * process::block_words();
    // SAFETY: the region has a block for each operation.
    unsafe { start.add(at) }
}

/// Counts the first call of a thread in a process, for which it needs a region.
#[cold]
#[inline(never)]
fn first(operation: Operation, caller: usize) -> Entry {
    let start = OWN.with(|own| match own.epoch.get() == process::epoch() {
        true => Some(own.start.get()),
        false => region::find(own),
    });
    match start {
        Some(start) if !start.is_null() => {
            // SAFETY: the region is this thread's.
            let block = unsafe { block(start, operation, caller) };
            begin(block, process::epoch())
        }
        start => {
            if start.is_some() {
                region::drop_one(operation);
            }
            Entry {
                block: std::ptr::null_mut(),
                epoch: 0,
                started: 0,
            }
        }
    }
}

#[inline(always)]
fn begin(block: Word, epoch: u64) -> Entry {
    // SAFETY: the block belongs to this thread.
    unsafe { add(block.add(ENTERED_AT), 1) };
    Entry {
        block,
        epoch,
        started: clock::now(),
    }
}

/// Counts a leaving call.
#[inline(always)]
pub(crate) fn leave(entry: Entry) {
    if entry.block.is_null() {
        return;
    }
    let now = clock::now();
    // In a child that was forked during the call, by a signal handler, the block is the parent's.
    if process::epoch() == entry.epoch {
        // SAFETY: the block belongs to this thread.
        unsafe { count(entry.block, entry.started, now) };
    }
}

/// Counts the latency of a call.
///
/// # Safety
/// The block is mapped and belongs to this thread.
#[inline(always)]
unsafe fn count(block: Word, started: u64, now: u64) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let sequence = block.add(SEQUENCE_AT);
        let is_outermost = sequence.read_volatile().is_multiple_of(2);
        if is_outermost {
            add(sequence, 1);
        }
        match now.checked_sub(started) {
            Some(latency) => {
                add_wide(block.add(TOTAL_AT), latency);
                raise(block.add(LEAST_COMPLEMENT_AT), !latency);
                raise(block.add(GREATEST_AT), latency);
                add(block.add(BLOCK_HEADER_WORDS + bucket(latency)), 1);
            }
            // The thread moved between CPUs whose counters differ (§3.4.1).
            None => add(block.add(DROPPED_IN_BLOCK_AT), 1),
        }
        add(block.add(LEFT_AT), 1);
        if is_outermost {
            add(sequence, 1);
        }
    }
}

/// Raises a word to a value, if it is less.
///
/// # Safety
/// The word is mapped.
#[inline(always)]
unsafe fn raise(word: Word, value: u64) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if word.read_volatile() < value {
            AtomicU64::from_ptr(word).fetch_max(value, Ordering::Relaxed);
        }
    }
}

/// Returns the bucket of a latency, which is less than the number of buckets.
#[inline(always)]
fn bucket(latency: u64) -> usize {
    match process::resolution() {
        1 => (latency | 1).ilog2() as usize,
        resolution => finer_bucket(resolution, latency),
    }
}

#[inline(never)]
fn finer_bucket(resolution: u8, latency: u64) -> usize {
    let resolution = Resolution::new(resolution).unwrap_or(Resolution::ONE);
    usize::from(resolution.bucket(latency))
}
