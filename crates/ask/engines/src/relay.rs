//! Names that a thread finds while others are already used.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use trawl_call::request::Cancel;
use trawl_sets::{Found, Names, Problem};

use crate::error::EngineError;

/// Maximum number of names that wait to be taken.
const WAITING: usize = 1024;

/// Interval at which a waiting reader looks for a cancel.
const LOOK: Duration = Duration::from_millis(20);

/// What the thread hands over: a name or a problem.
pub(crate) type Item = Result<Found, Problem>;

/// Where the thread puts what it finds.
pub(crate) struct Sender {
    items: SyncSender<Item>,
    stop: Arc<AtomicBool>,
}

/// Nobody wants further names.
#[derive(Debug)]
pub(crate) struct Unwanted;

impl Sender {
    /// Hands over a name or a problem; waits while too many wait.
    pub(crate) fn send(&self, item: Item) -> Result<(), Unwanted> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(Unwanted),
            false => self.items.send(item).map_err(|_| Unwanted),
        }
    }

    /// Returns the flag that is set when nobody wants further names.
    pub(crate) fn stop(&self) -> &Arc<AtomicBool> {
        &self.stop
    }
}

/// The names, as a stream. Dropping it stops the thread soon.
pub(crate) struct Relay {
    items: Receiver<Item>,
    stop: Arc<AtomicBool>,
}

impl Relay {
    /// Starts a thread that finds names. An error that it returns becomes a problem about `prefix`.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(crate) fn start(
        prefix: &[u8],
        find: impl FnOnce(&Sender) -> Result<(), EngineError> + Send + 'static,
    ) -> io::Result<Relay> {
        let (send, items) = sync_channel(WAITING);
        let stop = Arc::new(AtomicBool::new(false));
        let sender = Sender {
            items: send,
            stop: Arc::clone(&stop),
        };
        let prefix = prefix.to_vec();
        let work = move || {
            let found = catch_unwind(AssertUnwindSafe(|| find(&sender)));
            let failed = |_| Err(EngineError::Incomplete("the search failed".into()));
            if let Err(error) = found.unwrap_or_else(failed) {
                let _ = sender.send(Err(error.at(&prefix)));
            }
        };
        std::thread::Builder::new()
            .name("trawl-query".into())
            .spawn(work)?;
        Ok(Relay { items, stop })
    }
}

impl Names for Relay {
    fn next(&mut self, cancel: &Cancel) -> Option<Item> {
        loop {
            if cancel.is_cancelled() {
                self.stop.store(true, Ordering::Relaxed);
                return None;
            }
            match self.items.recv_timeout(LOOK) {
                Ok(item) => return Some(item),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
