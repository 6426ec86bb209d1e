//! Repeats a question whose index files were deleted while it was being answered.
//!
//! Revoking a permission deletes index files at once, including files that users who keep their
//! access are about to read. A question that has written nothing yet is asked again: the index now
//! holds the same content in other files.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trawl_model::operation::Operation;
use trawl_query::QueryError;
use trawl_session::is_superseded;

use crate::failure::Failure;

/// Maximum number of times a question is asked again.
const TRIES: usize = 16;

/// Whether anything was written to standard output, or done.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
static TRIED: AtomicUsize = AtomicUsize::new(0);
/// Output of a question that ended before any of its output was written.
static HELD_BACK: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn held_back() -> MutexGuard<'static, Vec<u8>> {
    HELD_BACK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records that something was written or done: from now on nothing is asked again.
pub(crate) fn note_begun() {
    HAS_BEGUN.store(true, Ordering::Relaxed);
}

/// Keeps the output that a question leaves unwritten when it ends. Returns false if the caller must
/// write the output instead.
pub(crate) fn holds_back(bytes: &[u8]) -> bool {
    if HAS_BEGUN.load(Ordering::Relaxed) {
        return false;
    }
    held_back().extend_from_slice(bytes);
    true
}

/// Writes the output that was held back: the question is not asked again.
pub(crate) fn write_held_back() {
    let bytes = std::mem::take(&mut *held_back());
    if !bytes.is_empty() {
        let _span = Operation::WriteOutput.span();
        // The failure itself was already reported; a failed write of its output adds nothing.
        let _ = io::stdout().lock().write_all(&bytes);
    }
}

/// Returns true if a question that failed this way can be asked again.
pub(crate) fn is_possible(failure: &Failure) -> bool {
    is_replaced(failure)
        && !HAS_BEGUN.load(Ordering::Relaxed)
        && TRIED.load(Ordering::Relaxed) < TRIES
}

/// Returns true if index files were replaced while they were read.
fn is_replaced(failure: &Failure) -> bool {
    match failure {
        Failure::Index(error) | Failure::Query(QueryError::Index(error)) => is_superseded(error),
        _ => false,
    }
}

/// Asks a question that writes nothing, again if index files were replaced meanwhile.
pub(crate) fn ask<A>(question: impl Fn() -> Result<A, Failure>) -> Result<A, Failure> {
    for _ in 0..TRIES {
        match question() {
            Err(failure) if is_replaced(&failure) => {}
            done => return done,
        }
    }
    question()
}

/// Counts another try and drops the output of the failed question.
pub(crate) fn begin() {
    TRIED.fetch_add(1, Ordering::Relaxed);
    held_back().clear();
}
