//! Measures how long the kernel takes to answer lookups.
//!
//! A table pays off where a call is expensive: on network and user-space file systems, on disks
//! that must be read, in sandboxes that intercept each call, under a tracer. Where a call takes a
//! microsecond the service has nothing to offer: its own walk takes as long, and the program would
//! wait for it. So a program's first lookups are timed, then one in `EACH`; while none is
//! expensive, the others only cost a counter.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::kernel;

/// Threshold above which a lookup is expensive: several times its duration when everything is in
/// memory, a fraction of a switch to another process.
const DEAR_NS: i64 = 4_000;
/// The same threshold for opening a directory.
const DEAR_OPEN_NS: i64 = 10_000;

/// Number of lookups that are timed first; then one in `EACH` is.
const FIRST: u32 = 32;
const EACH: u32 = 16;

static LOOKS: AtomicU32 = AtomicU32::new(0);
static IS_NEXT_TIMED: AtomicBool = AtomicBool::new(false);
/// Number of the last timed lookups, in a row, that were expensive; `DEAR_OPENS` counts opens.
static DEAR: AtomicU32 = AtomicU32::new(0);
static DEAR_OPENS: AtomicU32 = AtomicU32::new(0);

/// Counts a lookup and returns whether it is to be timed. Two threads may count the same one: an
/// atomic addition would take longer than everything else here.
#[inline]
pub(crate) fn is_sampled() -> bool {
    let before = LOOKS.load(Ordering::Relaxed);
    LOOKS.store(before.wrapping_add(1), Ordering::Relaxed);
    before < FIRST || before.is_multiple_of(EACH)
}

/// Requests that the next call is timed.
pub(crate) fn begin() {
    IS_NEXT_TIMED.store(true, Ordering::Relaxed);
}

/// Returns whether at least this many of the last timed lookups of files, in a row, were expensive.
/// A single one may be an accident, such as another program's turn on the processor.
pub(crate) fn are_looks_dear(in_a_row: u32) -> bool {
    DEAR.load(Ordering::Relaxed) >= in_a_row
}

/// Like [`are_looks_dear`], for opened directories.
pub(crate) fn are_opens_dear(in_a_row: u32) -> bool {
    DEAR_OPENS.load(Ordering::Relaxed) >= in_a_row
}

/// Calls a function that looks at a file, and times it if requested.
#[inline]
pub(crate) fn timed<R>(call: impl FnOnce() -> R) -> R {
    timed_against(DEAR_NS, &DEAR, call)
}

/// Like [`timed`], for a function that opens a directory.
#[inline]
pub(crate) fn timed_open<R>(call: impl FnOnce() -> R) -> R {
    timed_against(DEAR_OPEN_NS, &DEAR_OPENS, call)
}

#[inline]
fn timed_against<R>(dear_ns: i64, dear: &AtomicU32, call: impl FnOnce() -> R) -> R {
    if !IS_NEXT_TIMED.load(Ordering::Relaxed) {
        return call();
    }
    IS_NEXT_TIMED.store(false, Ordering::Relaxed);
    let begun = kernel::exactly_now_ns();
    let result = call();
    match kernel::exactly_now_ns().saturating_sub(begun) >= dear_ns {
        true => dear.fetch_add(1, Ordering::Relaxed),
        false => dear.swap(0, Ordering::Relaxed),
    };
    result
}
