//! Several streams of names as one. They are pulled at the same time, each by a thread, so that a
//! slow server delays no names of the others.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trawl_call::request::Cancel;
use trawl_model::sync::lock;

use crate::member::{Op, Problem};
use crate::set::spawn;
use crate::source::{Found, Names};

/// Number of names that wait to be pulled.
const WAITING_MAX: usize = 1024;

/// Maximum number of streams that are pulled at the same time.
const THREADS_MAX: usize = 64;

/// How soon a cancellation is noticed.
const NOTICE: Duration = Duration::from_millis(50);

type Item = Result<Found, Problem>;

/// Streams that are pulled by threads.
pub(super) struct Several {
    items: Receiver<Item>,
    /// Ends the threads.
    cancel: Cancel,
    /// Streams for which there was no thread.
    rest: Vec<Box<dyn Names>>,
}

impl Several {
    /// Begins to pull these streams.
    pub(super) fn start(all: Vec<Box<dyn Names>>) -> Several {
        let cancel = Cancel::default();
        let (give, items) = sync_channel(WAITING_MAX);
        let mut rest = Vec::new();
        for (number, names) in all.into_iter().enumerate() {
            if number >= THREADS_MAX {
                rest.push(names);
                continue;
            }
            let names = Arc::new(Mutex::new(Some(names)));
            let (there, give, ends) = (Arc::clone(&names), give.clone(), cancel.clone());
            let body = move || {
                let taken = lock(&there).take();
                if let Some(names) = taken {
                    pull_all(names, &give, &ends);
                }
            };
            if spawn("trawl-set-names", body).is_err() {
                rest.extend(lock(&names).take());
            }
        }
        Several {
            items,
            cancel,
            rest,
        }
    }
}

/// Pulls a stream to its end. A panic becomes a problem in the place of the names that are missing.
fn pull_all(mut names: Box<dyn Names>, give: &SyncSender<Item>, cancel: &Cancel) {
    let pulled = catch_unwind(AssertUnwindSafe(|| {
        while let Some(item) = names.next(cancel) {
            if give.send(item).is_err() {
                return;
            }
        }
    }));
    if pulled.is_err() {
        let source = std::io::Error::other("the search panicked");
        let op = Op::Expand;
        let name = Vec::new();
        let _ = give.send(Err(Problem { name, op, source }));
    }
}

impl Drop for Several {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Names for Several {
    fn next(&mut self, cancel: &Cancel) -> Option<Item> {
        loop {
            if cancel.is_cancelled() {
                self.cancel.cancel();
                return None;
            }
            match self.items.recv_timeout(NOTICE) {
                Ok(item) => return Some(item),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return next_of(&mut self.rest, cancel),
            }
        }
    }
}

/// Streams one after the other.
pub(super) struct Chained(Vec<Box<dyn Names>>);

/// Returns these streams one after the other.
pub(super) fn chained(mut all: Vec<Box<dyn Names>>) -> Chained {
    all.reverse();
    Chained(all)
}

impl Names for Chained {
    fn next(&mut self, cancel: &Cancel) -> Option<Item> {
        next_of(&mut self.0, cancel)
    }
}

/// Returns the next name of the last stream that has one.
fn next_of(all: &mut Vec<Box<dyn Names>>, cancel: &Cancel) -> Option<Item> {
    while let Some(names) = all.last_mut() {
        if let Some(item) = names.next(cancel) {
            return Some(item);
        }
        all.pop();
    }
    None
}
