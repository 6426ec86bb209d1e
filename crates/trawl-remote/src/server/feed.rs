//! What a client asks of a request that goes on: one batch at a time, the next one when that has
//! been answered.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trawl_sys::SysError;
use trawl_sys::wait::Waker;

/// Directories on their way to who watches them.
pub(super) struct Feed {
    waker: Waker,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    dirs: Option<Vec<Vec<u8>>>,
    is_answered: bool,
}

/// The client did not wait for the answer.
#[derive(Debug)]
pub(super) struct TooEarly;

impl Feed {
    pub(super) fn new() -> Result<Feed, SysError> {
        Ok(Feed {
            waker: Waker::new()?,
            state: Mutex::new(State {
                dirs: None,
                is_answered: true,
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives more.
    pub(super) fn put(&self, dirs: Vec<Vec<u8>>) -> Result<(), TooEarly> {
        let mut state = self.state();
        if !std::mem::take(&mut state.is_answered) {
            return Err(TooEarly);
        }
        state.dirs = Some(dirs);
        drop(state);
        self.wake();
        Ok(())
    }

    /// What was given.
    pub(super) fn take(&self) -> Option<Vec<Vec<u8>>> {
        self.state().dirs.take()
    }

    /// More may be given.
    pub(super) fn answered(&self) {
        self.state().is_answered = true;
    }

    /// Wakes who waits for it.
    pub(super) fn wake(&self) {
        self.waker.wake();
    }

    /// Nothing was given since this.
    pub(super) fn reset(&self) {
        self.waker.reset();
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}
