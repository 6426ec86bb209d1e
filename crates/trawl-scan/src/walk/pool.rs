//! Work that changes hands: threads without work wait here, those with work leave some of it when
//! somebody waits. The work of one thread is otherwise its own, so the lock is rarely taken.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Frames of work for whoever comes first.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// Threads that wait, readable without the lock.
    waiting: AtomicUsize,
    /// Pieces of work that wait for one, likewise.
    offered: AtomicUsize,
    threads: usize,
}

#[derive(Debug)]
struct State<T> {
    work: Vec<T>,
    /// Set once all threads wait and there is no work, or when one of them stops.
    over: bool,
}

impl<T> Pool<T> {
    /// A pool for `threads` threads, with the first piece of work.
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a thread waits for work that nobody has left yet. One that has not woken up so far
    /// is given no more: work has descriptors.
    pub(crate) fn is_hungry(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > self.offered.load(Ordering::Relaxed)
    }

    /// Leaves work for another thread.
    pub(crate) fn give(&self, work: T) {
        let mut state = self.lock();
        state.work.push(work);
        self.offered.store(state.work.len(), Ordering::Relaxed);
        drop(state);
        self.changed.notify_one();
    }

    /// Waits for work. `None` when all is done or the walk has ended.
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
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends the walk for every thread that waits or will.
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
        // Somebody waits, and takes their time to wake up.
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
