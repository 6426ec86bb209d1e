//! What a look takes that the kernel answers.
//!
//! A table pays where a call is dear: on network and user-space file systems, on disks that have to
//! be read, in sandboxes that see each call, under a tracer. Where a call takes a microsecond the
//! service has nothing to offer: its own walk takes as long, and who asked would wait for it. So the
//! first looks of a program are timed, then one in some; while none is dear, the others cost a
//! counter.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::kernel;

/// From here on a look is dear: several times what it takes where all is in memory, a fraction of
/// what a switch to another process does.
const DEAR_NS: i64 = 4_000;
/// The same of opening a directory.
const DEAR_OPEN_NS: i64 = 10_000;

/// So many are timed first, and then one of `EACH`.
const FIRST: u32 = 32;
const EACH: u32 = 16;

static LOOKS: AtomicU32 = AtomicU32::new(0);
static IS_NEXT_TIMED: AtomicBool = AtomicBool::new(false);
/// How many of the last ones were dear, in a row.
static DEAR: AtomicU32 = AtomicU32::new(0);
static DEAR_OPENS: AtomicU32 = AtomicU32::new(0);

/// Counts a look; whether it is one of those that are timed. Two threads may count the same one:
/// adding for all to see would take longer than everything else here.
#[inline]
pub(crate) fn is_sampled() -> bool {
    let before = LOOKS.load(Ordering::Relaxed);
    LOOKS.store(before.wrapping_add(1), Ordering::Relaxed);
    before < FIRST || before.is_multiple_of(EACH)
}

/// The call that follows is to be timed.
pub(crate) fn begin() {
    IS_NEXT_TIMED.store(true, Ordering::Relaxed);
}

/// Whether the last looks at files that were timed, so many at least, were dear. One alone may be an
/// accident, such as another program's turn on the processor.
pub(crate) fn are_looks_dear(in_a_row: u32) -> bool {
    DEAR.load(Ordering::Relaxed) >= in_a_row
}

/// The same of directories that were opened.
pub(crate) fn are_opens_dear(in_a_row: u32) -> bool {
    DEAR_OPENS.load(Ordering::Relaxed) >= in_a_row
}

/// Calls what looks at a file, and notes how long that took if it is to be timed.
#[inline]
pub(crate) fn timed<R>(call: impl FnOnce() -> R) -> R {
    timed_against(DEAR_NS, &DEAR, call)
}

/// The same of what opens a directory.
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
