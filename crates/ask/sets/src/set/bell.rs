//! A condition variable that costs nothing to ring while nobody waits.
//!
//! Whoever rings has changed what is waited for under the mutex with which others wait.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, MutexGuard};
use std::time::Duration;

use trawl_model::sync;

/// A condition that threads wait for.
#[derive(Default)]
pub(crate) struct Bell {
    rung: Condvar,
    /// Number of waiting threads; it grows under their mutex only.
    waiting: AtomicUsize,
}

impl Bell {
    /// Waits until the bell rings; may return earlier.
    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let guard = sync::wait(&self.rung, guard);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        guard
    }

    /// Waits until the bell rings, at most this long if there is a limit.
    pub(crate) fn wait_up_to<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Option<Duration>,
    ) -> MutexGuard<'a, T> {
        let Some(limit) = limit else {
            return self.wait(guard);
        };
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let guard = sync::wait_for(&self.rung, guard, limit);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        guard
    }

    /// Wakes one waiting thread.
    pub(crate) fn ring_for_one(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.rung.notify_one();
        }
    }

    /// Wakes all waiting threads.
    pub(crate) fn ring(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.rung.notify_all();
        }
    }
}
