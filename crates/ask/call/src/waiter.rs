//! A thread behind a pollable descriptor. It runs work that blocks and hands the result back; the
//! descriptor is readable while a result is ready.
//!
//! For callers that must not block themselves: event loops, and threads that have to handle
//! signals.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use trawl_sys::wait::Waker;

use crate::error::CallError;

type Work<T> = Box<dyn FnOnce() -> T + Send>;

/// A thread that runs blocking work, usually a step of a search, in the caller's place. Dropping
/// the `Waiter` waits for the current work; cancel that work first to end the wait early.
pub struct Waiter<T> {
    waker: Arc<Waker>,
    to: Option<Sender<Work<T>>>,
    from: Receiver<T>,
    thread: Option<JoinHandle<()>>,
}

impl<T> std::fmt::Debug for Waiter<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiter").finish_non_exhaustive()
    }
}

impl<T: Send + 'static> Waiter<T> {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`CallError::Thread`] if the thread or its descriptor cannot be created.
    pub fn start() -> Result<Waiter<T>, CallError> {
        let of_system = |error: trawl_sys::SysError| {
            CallError::Thread(std::io::Error::from_raw_os_error(error.errno.0))
        };
        let waker = Arc::new(Waker::new().map_err(of_system)?);
        let (to, work) = channel();
        let (done, from) = channel();
        let wakes = Arc::clone(&waker);
        let thread = std::thread::Builder::new()
            .name("search-wait".into())
            .spawn(move || wait(&work, &done, &wakes))
            .map_err(CallError::Thread)?;
        Ok(Waiter {
            waker,
            to: Some(to),
            from,
            thread: Some(thread),
        })
    }

    /// Returns the descriptor's number.
    pub fn descriptor(&self) -> RawFd {
        self.waker.as_fd().as_raw_fd()
    }

    /// Makes the descriptor readable: something can be read without waiting.
    pub fn make_readable(&self) {
        self.waker.wake();
    }

    /// Hands work to the thread. The caller must take one result back before it hands over more
    /// work.
    pub fn hand_over(&self, work: impl FnOnce() -> T + Send + 'static) {
        self.waker.reset();
        let is_sent = match &self.to {
            Some(to) => to.send(Box::new(work)).is_ok(),
            None => false,
        };
        if !is_sent {
            // Wakes the reader, so that it learns that the work is lost.
            self.waker.wake();
        }
    }

    /// Abandons the current work: the thread finishes it unattended, and nobody takes the result.
    pub fn leave(mut self) {
        self.to = None;
        // Dropping the handle detaches the thread, so that `drop` does not join it.
        self.thread = None;
    }

    /// Waits for the result and returns it; `None` if the work panicked and its result is lost.
    pub fn take_back(&self) -> Option<T> {
        self.from.recv().ok()
    }
}

impl<T> AsFd for Waiter<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}

impl<T> Drop for Waiter<T> {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn wait<T>(work: &Receiver<Work<T>>, done: &Sender<T>, waker: &Waker) {
    for work in work {
        let waited = catch_unwind(AssertUnwindSafe(work));
        // Wakes before sending, so that this wake-up cannot undo a reset by the reader of the
        // result.
        waker.wake();
        let Ok(waited) = waited else { return };
        if done.send(waited).is_err() {
            return;
        }
    }
}
