//! Runs pieces of work on several threads, in order; the calling thread takes
//! the results in the same order. No thread runs far ahead.

use crate::error::{QueryError, Result};
use crate::segment::Scratch;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard};
use trawl_model::sync::{lock, wait_while};

/// Maximum number of waiting results for each thread.
const AHEAD: usize = 4;

/// Processes one piece.
type Work<'a, O> = dyn Fn(usize, &mut Scratch) -> Result<O> + Sync + 'a;

/// The worker threads, as seen by the calling thread.
pub(super) struct Workers<'a, O> {
    work: &'a Work<'a, O>,
    pieces: usize,
    /// Maximum number of waiting results; 0 if there are no threads.
    ahead: usize,
    state: Mutex<State<O>>,
    changed: Condvar,
}

struct State<O> {
    waiting: BTreeMap<usize, Result<O>>,
    /// The next piece to start.
    next: usize,
    /// Number of results taken.
    taken: usize,
    stopped: bool,
}

impl<'a, O: Send> Workers<'a, O> {
    /// Runs `threads` worker threads, and `collect` on the calling thread.
    pub(super) fn run(
        pieces: usize,
        threads: usize,
        work: &'a Work<'a, O>,
        collect: impl FnOnce(&Workers<'_, O>) -> Result<()>,
    ) -> Result<()> {
        let threads = threads.min(pieces);
        let workers = Workers {
            work,
            pieces,
            ahead: if threads > 1 { threads * AHEAD } else { 0 },
            state: Mutex::new(State {
                waiting: BTreeMap::new(),
                next: 0,
                taken: 0,
                stopped: false,
            }),
            changed: Condvar::new(),
        };
        if workers.ahead == 0 {
            return collect(&workers);
        }
        std::thread::scope(|scope| {
            let _stop = Stop(&workers);
            for started in 0..threads {
                let thread = std::thread::Builder::new();
                let spawned = thread.spawn_scoped(scope, || {
                    let _stop = StopOnPanic(&workers);
                    workers.go_on();
                });
                match spawned {
                    Ok(_) => {}
                    // Fewer threads are enough.
                    Err(_) if started > 0 => break,
                    Err(cause) => return Err(QueryError::Thread { cause }),
                }
            }
            collect(&workers)
        })
    }

    /// True if a piece's result can be taken without waiting.
    pub(super) fn is_ready(&self, piece: usize) -> bool {
        self.ahead > 0 && self.lock().waiting.contains_key(&piece)
    }

    /// Returns the result of a piece. Results must be taken in order.
    pub(super) fn take(&self, piece: usize) -> Result<O> {
        if self.ahead == 0 {
            return (self.work)(piece, &mut Scratch::default());
        }
        let is_early = |state: &mut State<O>| !state.stopped && !state.waiting.contains_key(&piece);
        let mut state = wait_while(&self.changed, self.lock(), is_early);
        state.taken += 1;
        let result = state.waiting.remove(&piece);
        drop(state);
        self.changed.notify_all();
        // A result is missing only if a worker panicked; the scope propagates
        // the panic.
        result.unwrap_or(Err(QueryError::Cancelled))
    }

    fn go_on(&self) {
        let mut scratch = Scratch::default();
        while let Some(piece) = self.next() {
            let result = (self.work)(piece, &mut scratch);
            self.lock().waiting.insert(piece, result);
            self.changed.notify_all();
        }
    }

    /// Returns the next piece, waiting until it is not too far ahead.
    fn next(&self) -> Option<usize> {
        let is_far = |state: &mut State<O>| {
            !state.stopped && state.next < self.pieces && state.next >= state.taken + self.ahead
        };
        let mut state = wait_while(&self.changed, self.lock(), is_far);
        if state.stopped || state.next >= self.pieces {
            return None;
        }
        state.next += 1;
        Some(state.next - 1)
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<O>> {
        lock(&self.state)
    }
}

/// Stops the workers when the calling thread finishes for any reason.
struct Stop<'w, 'a, O: Send>(&'w Workers<'a, O>);

impl<O: Send> Drop for Stop<'_, '_, O> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Stops all threads when a worker panics.
struct StopOnPanic<'w, 'a, O: Send>(&'w Workers<'a, O>);

impl<O: Send> Drop for StopOnPanic<'_, '_, O> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_an_early_end_is_one() {
        for threads in [1, 2, 7] {
            for stop in [0, 5, 100] {
                let work = |piece: usize, _: &mut Scratch| Ok(piece * 2);
                let mut got = Vec::new();
                let done = Workers::run(100, threads, &work, |workers| {
                    for piece in 0..stop {
                        got.push(workers.take(piece)?);
                    }
                    Ok(())
                });
                assert!(done.is_ok());
                assert_eq!(got, (0..stop).map(|piece| piece * 2).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn an_error_reaches_the_caller() {
        let work = |piece: usize, _: &mut Scratch| match piece {
            9 => Err(QueryError::Cancelled),
            piece => Ok(piece),
        };
        let mut got = 0;
        let done = Workers::run(50, 3, &work, |workers| {
            for piece in 0..50 {
                workers.take(piece)?;
                got += 1;
            }
            Ok(())
        });
        assert!(matches!(done, Err(QueryError::Cancelled)));
        assert_eq!(got, 9);
    }
}
