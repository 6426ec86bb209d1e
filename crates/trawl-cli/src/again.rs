//! Asking again. A right that is taken away makes files of the index go at once, also those that
//! others are about to read who may go on seeing what is in them. Who has written nothing yet asks
//! the index anew, which has all of it elsewhere.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trawl_index::IndexError;
use trawl_query::QueryError;

use crate::failure::Failure;

/// How often a question is asked again.
const TRIES: usize = 16;

/// Whether anything went to standard output, or was done.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
static TRIED: AtomicUsize = AtomicUsize::new(0);
/// What was to be written when a question ended before anything was.
static HELD_BACK: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn held_back() -> MutexGuard<'static, Vec<u8>> {
    HELD_BACK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something is written or done: from now on nothing is asked again.
pub(crate) fn note_begun() {
    HAS_BEGUN.store(true, Ordering::Relaxed);
}

/// Keeps what a question leaves unwritten at its end; false if that is to be written.
pub(crate) fn holds_back(bytes: &[u8]) -> bool {
    if HAS_BEGUN.load(Ordering::Relaxed) {
        return false;
    }
    held_back().extend_from_slice(bytes);
    true
}

/// Writes what was held back: it counts after all.
pub(crate) fn write_held_back() {
    let bytes = std::mem::take(&mut *held_back());
    if !bytes.is_empty() {
        // Why a question failed was said; that its output cannot be written is no other failure.
        let _ = io::stdout().lock().write_all(&bytes);
    }
}

/// Whether a question that failed so can be asked again.
pub(crate) fn is_possible(failure: &Failure) -> bool {
    let error = match failure {
        Failure::Index(error) | Failure::Query(QueryError::Index(error)) => error,
        _ => return false,
    };
    let is_gone = error.is_missing() || matches!(error, IndexError::NoSnapshot { .. });
    is_gone && !HAS_BEGUN.load(Ordering::Relaxed) && TRIED.load(Ordering::Relaxed) < TRIES
}

/// Drops what the question said that failed, before it is asked again.
pub(crate) fn begin() {
    TRIED.fetch_add(1, Ordering::Relaxed);
    held_back().clear();
}
