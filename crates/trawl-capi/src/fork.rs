//! Which processes are copies of which: a search has threads, which a child of fork(2) does not
//! have.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

static FORKS: AtomicU64 = AtomicU64::new(0);
static REGISTERED: Once = Once::new();

extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// How many forks lie between this process and the first one that asked.
///
/// Source: <https://man7.org/linux/man-pages/man3/pthread_atfork.3.html>
pub(crate) fn generation() -> u64 {
    REGISTERED.call_once(|| {
        // SAFETY: the function is there as long as the library, whose handlers the C library
        // forgets when it is unloaded; it touches one atomic number. Without memory for the
        // handler, searches are as before it was there.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
    FORKS.load(Ordering::Relaxed)
}
