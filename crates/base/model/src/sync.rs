//! Threads: how many there should be, and locks that outlive a panic of one.
//!
//! A thread that panics with a lock held poisons it. The panic itself is reported where it
//! happened; to panic again in each other thread would only hide it. The data behind the locks of
//! this workspace is valid whenever a lock can be released, so the poison is ignored.

use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

/// Returns how many threads can run at the same time, as of the first call: finding that out reads
/// several files, and a short question asks more than once.
pub fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| available_parallelism().map_or(1, NonZeroUsize::get))
}

/// Locks a mutex.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until the condition may have changed; it may also return for no reason.
pub fn wait<'a, T>(changed: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    changed.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Like [`wait`], but for no longer than `limit`.
pub fn wait_for<'a, T>(
    changed: &Condvar,
    guard: MutexGuard<'a, T>,
    limit: Duration,
) -> MutexGuard<'a, T> {
    let waited = changed.wait_timeout(guard, limit);
    waited.unwrap_or_else(PoisonError::into_inner).0
}

/// Waits as long as the condition is true.
pub fn wait_while<'a, T>(
    changed: &Condvar,
    guard: MutexGuard<'a, T>,
    condition: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'a, T> {
    let waited = changed.wait_while(guard, condition);
    waited.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_elsewhere_does_not_spread() {
        let number = Mutex::new(1);
        let panicked = std::thread::scope(|scope| {
            let hold = || {
                let _held = lock(&number);
                panic!("as the test wants it");
            };
            scope.spawn(hold).join().is_err()
        });
        assert!(panicked && number.is_poisoned());
        assert_eq!(*lock(&number), 1);
    }
}
