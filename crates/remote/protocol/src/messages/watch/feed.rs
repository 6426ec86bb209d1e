//! Passes a client's further batches to a running request: one batch at a time, the next one after
//! the last was answered.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard};

use trawl_model::sync::lock;
use trawl_sys::SysError;
use trawl_sys::wait::Waker;

/// The batch of directories that waits for the thread that watches them.
pub(crate) struct Feed {
    waker: Waker,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    dirs: Option<Vec<Vec<u8>>>,
    is_answered: bool,
}

/// The client sent a batch before the last one was answered.
#[derive(Debug)]
pub(crate) struct TooEarly;

impl Feed {
    pub(crate) fn new() -> Result<Feed, SysError> {
        Ok(Feed {
            waker: Waker::new()?,
            state: Mutex::new(State {
                dirs: None,
                is_answered: true,
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Adds a batch.
    pub(crate) fn put(&self, dirs: Vec<Vec<u8>>) -> Result<(), TooEarly> {
        let mut state = self.state();
        if !std::mem::take(&mut state.is_answered) {
            return Err(TooEarly);
        }
        state.dirs = Some(dirs);
        drop(state);
        self.wake();
        Ok(())
    }

    /// Takes the waiting batch.
    pub(crate) fn take(&self) -> Option<Vec<Vec<u8>>> {
        self.state().dirs.take()
    }

    /// Allows the next batch.
    pub(crate) fn answered(&self) {
        self.state().is_answered = true;
    }

    /// Wakes the waiting thread.
    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    /// Clears the wake-up.
    pub(crate) fn reset(&self) {
        self.waker.reset();
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}
