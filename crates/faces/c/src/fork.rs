//! Distinguishes a process from its forked children: a search has threads, which a child of fork(2)
//! does not have.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

static FORKS: AtomicU64 = AtomicU64::new(0);
static REGISTERED: Once = Once::new();

extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of forks between this process and the first process that called this
/// function.
///
/// Source: <https://man7.org/linux/man-pages/man3/pthread_atfork.3.html>
pub(crate) fn generation() -> u64 {
    REGISTERED.call_once(|| {
        // SAFETY: the handler stays valid as long as the library is loaded, and the C library
        // forgets it when the library is unloaded; it only changes one atomic number. If there is
        // no memory for the handler, forked children are not detected.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
    FORKS.load(Ordering::Relaxed)
}
