//! The thread behind a pollable descriptor: what has to be waited for goes to it and comes back
//! when it is done; the descriptor is readable while it is back.
//!
//! For callers that must not wait themselves: event loops, and threads that have signals to heed.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use trawl_sys::wait::Waker;

use crate::error::CallError;

type Work<T> = Box<dyn FnOnce() -> T + Send>;

/// Waits in the caller's place, most likely for a search. Dropping it waits for what it does; who
/// wants that to end soon cancels it before.
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
    /// [`CallError::Thread`] for want of threads or descriptors.
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

    /// The descriptor's number.
    pub fn descriptor(&self) -> RawFd {
        self.waker.as_fd().as_raw_fd()
    }

    /// Something can be read without waiting.
    pub fn make_readable(&self) {
        self.waker.wake();
    }

    /// Gives something that has to be waited for. Nothing else is to be given before it is back.
    pub fn hand_over(&self, work: impl FnOnce() -> T + Send + 'static) {
        self.waker.reset();
        let is_sent = match &self.to {
            Some(to) => to.send(Box::new(work)).is_ok(),
            None => false,
        };
        if !is_sent {
            // Whoever reads learns that it is lost.
            self.waker.wake();
        }
    }

    /// Leaves what it does to itself, which nobody takes back.
    pub fn leave(mut self) {
        self.to = None;
        // It is not joined.
        self.thread = None;
    }

    /// Waits for it to come back; `None` if it is lost, in a panic.
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
        // First this, so that it cannot undo a reset by who has it back.
        waker.wake();
        let Ok(waited) = waited else { return };
        if done.send(waited).is_err() {
            return;
        }
    }
}
