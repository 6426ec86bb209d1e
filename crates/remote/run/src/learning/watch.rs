//! Lets calls go on while the thread that records them is held up.
//!
//! Looking at a path can wait for a process of the command: one that serves a file system, or holds a
//! lock of the memory that is read. If that process makes a call that is intercepted, each would wait
//! for the other.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use trawl_sys::seccomp::{InterceptedCall, Listener, Verdict};
use trawl_sys::wait::{Waker, is_hung_up, readable};

/// A call that takes this long, or at most twice as long, holds up no others.
const PATIENCE: Duration = Duration::from_millis(250);
/// How often a watcher that lets calls go on looks whether it still has to.
const LOOK: Duration = Duration::from_millis(10);

/// Which thread takes calls.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Odd while a call is being recorded; each beginning and end adds one.
    progress: AtomicU64,
    /// Held to take a call, since taking one waits if there is none.
    taking: Mutex<()>,
}

impl Turns {
    /// Returns the next call, if one waits; never waits for one.
    ///
    /// # Errors
    /// Fails if no more calls can arrive.
    pub(super) fn next(&self, listener: &Listener) -> io::Result<Option<InterceptedCall>> {
        let _taking = self.taking.lock().unwrap_or_else(PoisonError::into_inner);
        match readable([listener.as_fd()], Some(Duration::ZERO)) {
            Ok([true]) if !is_hung_up(listener) => listener.next(),
            _ => Ok(None),
        }
    }

    /// The recording of a call begins.
    pub(super) fn begin(&self) {
        self.progress.fetch_add(1, Ordering::Release);
    }

    /// The recording of a call has ended.
    pub(super) fn end(&self) {
        self.progress.fetch_add(1, Ordering::Release);
    }

    /// Lets calls go on whenever the other thread is held up, until it is told to stop. Returns the
    /// number of calls that were not recorded.
    pub(super) fn watch(&self, listener: &Listener, stop: &Waker) -> u64 {
        let mut lost = 0;
        let mut before = 0;
        while matches!(readable([stop.as_fd()], Some(PATIENCE)), Ok([false])) {
            let now = self.progress.load(Ordering::Acquire);
            if now % 2 == 1 && now == before {
                lost += self.pass_on(now, listener, stop);
            }
            before = now;
        }
        lost
    }

    /// Lets calls go on until the other thread proceeds.
    fn pass_on(&self, held_up: u64, listener: &Listener, stop: &Waker) -> u64 {
        let mut lost = 0;
        while self.progress.load(Ordering::Acquire) == held_up {
            let ready = readable([listener.as_fd(), stop.as_fd()], Some(LOOK));
            if is_hung_up(listener) || !matches!(ready, Ok([_, false])) {
                break;
            }
            if let Ok(Some(asked)) = self.next(listener) {
                listener.answer(&asked, Verdict::Continue);
                lost += 1;
            }
        }
        lost
    }
}
