//! The thread behind a pollable descriptor. A search goes to it when its next record has to be
//! waited for, and comes back when it is there; the descriptor is readable while it is back.

use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use trawl_call::Search;
use trawl_sys::wait::Waker;

use crate::failure::Failure;

/// Waits in the caller's place.
pub(crate) struct Helper {
    waker: Arc<Waker>,
    to: Option<Sender<Search>>,
    from: Receiver<Search>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    /// Starts the thread.
    pub(crate) fn start() -> Result<Helper, Failure> {
        let waker = Arc::new(Waker::new()?);
        let (to, work) = channel();
        let (done, from) = channel();
        let wakes = Arc::clone(&waker);
        let name = "search-wait".to_owned();
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(move || wait(&work, &done, &wakes))
            .map_err(|error| Failure::from(trawl_call::CallError::Thread(error)))?;
        Ok(Helper {
            waker,
            to: Some(to),
            from,
            thread: Some(thread),
        })
    }

    /// The descriptor.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.waker.as_fd().as_raw_fd()
    }

    /// Something can be read without waiting.
    pub(crate) fn make_readable(&self) {
        self.waker.wake();
    }

    /// Gives a search whose next record has to be waited for.
    pub(crate) fn hand_over(&self, search: Search) {
        self.waker.reset();
        let is_sent = match &self.to {
            Some(to) => to.send(search).is_ok(),
            None => false,
        };
        if !is_sent {
            // Whoever reads learns that it is lost.
            self.waker.wake();
        }
    }

    /// Waits for the search to come back; `None` if it is lost.
    pub(crate) fn take_back(&self) -> Option<Search> {
        self.from.recv().ok()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn wait(work: &Receiver<Search>, done: &Sender<Search>, waker: &Waker) {
    for mut search in work {
        let waited = catch_unwind(AssertUnwindSafe(|| search.wait()));
        // First this, so that it cannot undo a reset by who has the search back.
        waker.wake();
        if waited.is_err() || done.send(search).is_err() {
            return;
        }
    }
}
