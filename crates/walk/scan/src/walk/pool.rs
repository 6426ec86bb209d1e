//! Work passed between threads. Threads without work wait here; threads with work leave some of it
//! when another thread waits. Otherwise each thread works on its own frames, so the lock is rarely
//! taken.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

use trawl_model::sync::{lock, wait};

/// Pieces of work for the next thread that asks.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// Number of waiting threads, readable without the lock.
    waiting: AtomicUsize,
    /// Number of pieces of work that wait for a thread, readable without the lock.
    offered: AtomicUsize,
    threads: usize,
}

#[derive(Debug)]
struct State<T> {
    work: Vec<T>,
    /// Set when all threads wait and there is no work, or when a thread ends the walk.
    over: bool,
}

impl<T> Pool<T> {
    /// Makes a pool for `threads` threads, with the first piece of work.
    pub(crate) fn new(threads: usize, first: T) -> Self {
        Pool {
            state: Mutex::new(State {
                work: vec![first],
                over: false,
            }),
            changed: Condvar::new(),
            waiting: AtomicUsize::new(0),
            offered: AtomicUsize::new(1),
            threads,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        lock(&self.state)
    }

    /// Returns true if more threads wait than pieces of work are offered. A thread that has not yet
    /// woken up for its piece is not offered more, because work holds descriptors.
    pub(crate) fn is_hungry(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > self.offered.load(Ordering::Relaxed)
    }

    /// Offers work to another thread.
    pub(crate) fn give(&self, work: T) {
        let mut state = self.lock();
        state.work.push(work);
        self.offered.store(state.work.len(), Ordering::Relaxed);
        drop(state);
        self.changed.notify_one();
    }

    /// Waits for work. Returns `None` when everything is done or the walk has ended.
    pub(crate) fn take(&self) -> Option<T> {
        let mut state = self.lock();
        self.waiting.fetch_add(1, Ordering::Relaxed);
        loop {
            if state.over {
                return None;
            }
            if let Some(work) = state.work.pop() {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                self.offered.store(state.work.len(), Ordering::Relaxed);
                return Some(work);
            }
            if self.waiting.load(Ordering::Relaxed) == self.threads {
                state.over = true;
                self.changed.notify_all();
                return None;
            }
            state = wait(&self.changed, state);
        }
    }

    /// Ends the walk for every thread, now or at its next [`Pool::take`].
    pub(crate) fn end(&self) {
        self.lock().over = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_given_one_piece_of_work() {
        let pool = Pool::new(2, 1);
        assert!(!pool.is_hungry());
        assert_eq!(pool.take(), Some(1));
        assert!(!pool.is_hungry());
        // A thread waits, and takes some time to wake up.
        pool.waiting.fetch_add(1, Ordering::Relaxed);
        assert!(pool.is_hungry());
        pool.give(2);
        assert!(!pool.is_hungry());
        assert_eq!(pool.take(), Some(2));
        assert!(pool.is_hungry());
    }

    #[test]
    fn all_work_is_done_once_and_everybody_goes_home() {
        let (pool, done) = (Pool::new(3, 10_000u64), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while let Some(mut n) = pool.take() {
                        while n > 0 {
                            if n > 1 && pool.is_hungry() {
                                pool.give(n / 2);
                                n -= n / 2;
                            }
                            n -= 1;
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(done.load(Ordering::Relaxed), 10_000);
    }
}
