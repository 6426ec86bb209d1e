//! Bulk answers: everything below a directory in one round trip, used while it arrives.
//!
//! A bulk answer is a search for everything below a directory, read by a separate thread. Received
//! parts are available to all requests; a request for a part that is still to come waits. Once the
//! answer is far ahead of all requests it pauses, and the server stops, too, until more is wanted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trawl_call::options::Flags;
use trawl_call::packed::packed_length;
use trawl_call::{CallError, Cancel, Outcome, Pattern, Request, Search};
use trawl_model::relative_path::{is_within, join};
use trawl_model::sync::{lock, wait_for};

use super::Inner;
use super::assembly::{Assembly, Done, Nonsense};
use super::listing::{Listing, is_link};

/// Number of entries received before the first pause; doubled each time more is wanted.
const AHEAD_ENTRIES: usize = 16 << 10;
/// Maximum number of entries between two pauses.
const AHEAD_MAX_ENTRIES: usize = 256 << 10;
/// Maximum number of bytes of an answer in flight while nobody reads it.
const UNDER_WAY_BYTES: usize = 8 << 20;

/// The phase of a bulk answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Running,
    /// Nobody wants more.
    Paused,
    /// It ended, or was cancelled.
    Over,
    /// The server could not be asked.
    Failed,
}

/// A bulk answer.
#[derive(Debug)]
pub(super) struct Bulk {
    /// The directory that it is about.
    pub(super) top: Vec<u8>,
    pub(super) begun: Instant,
    cancel: Cancel,
    waiting: AtomicUsize,
    progress: Mutex<Progress>,
}

#[derive(Debug)]
struct Progress {
    phase: Phase,
    /// The directory whose turn it is.
    position: Vec<u8>,
    /// Time until the first record arrived.
    first: Option<Duration>,
}

/// Maps a path so that comparing bytes compares name by name; no name contains a NUL byte.
pub(super) fn in_order(path: &[u8]) -> impl Iterator<Item = u8> {
    path.iter().map(|byte| match byte {
        b'/' => 0,
        byte => *byte,
    })
}

impl Bulk {
    pub(super) fn new(top: &[u8]) -> Arc<Bulk> {
        Arc::new(Bulk {
            top: top.to_vec(),
            begun: Instant::now(),
            cancel: Cancel::default(),
            waiting: AtomicUsize::new(0),
            progress: Mutex::new(Progress {
                phase: Phase::Running,
                position: top.to_vec(),
                first: None,
            }),
        })
    }

    fn progress(&self) -> std::sync::MutexGuard<'_, Progress> {
        lock(&self.progress)
    }

    pub(super) fn phase(&self) -> Phase {
        self.progress().phase
    }

    pub(super) fn set_phase(&self, phase: Phase) {
        self.progress().phase = phase;
    }

    /// Returns how long the server took to begin.
    pub(super) fn first(&self) -> Option<Duration> {
        self.progress().first
    }

    /// Returns whether it may still reach this directory.
    pub(super) fn comes_to(&self, dir: &[u8]) -> bool {
        let progress = self.progress();
        let is_alive = matches!(progress.phase, Phase::Running | Phase::Paused);
        is_alive && is_within(dir, &self.top) && in_order(dir).ge(in_order(&progress.position))
    }

    /// Counts one more waiting request.
    pub(super) fn wait(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one waiting request less.
    pub(super) fn wait_no_more(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns whether any request waits for it.
    pub(super) fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

/// Why a bulk answer ended early.
#[derive(Debug, thiserror::Error)]
pub(super) enum BulkError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("cannot read the answer of {server}: the records of {dir} are invalid")]
    Nonsense { server: String, dir: String },
}

impl BulkError {
    pub(super) fn is_cancelled(&self) -> bool {
        matches!(self, BulkError::Call(CallError::Cancelled))
    }
}

/// Tracks the time as of which received records hold.
struct Flow {
    /// Number of entries until the next pause.
    left: usize,
    next: usize,
    /// After a pause: its beginning, and the number of received bytes that may still date from
    /// then.
    waited: Option<(Instant, usize)>,
}

impl Flow {
    fn at(&mut self, bytes: usize) -> Instant {
        match &mut self.waited {
            Some((since, left)) if *left > bytes => {
                *left -= bytes;
                *since
            }
            waited => {
                *waited = None;
                Instant::now()
            }
        }
    }
}

fn request(path: &[u8], cancel: &Cancel) -> Result<Request, CallError> {
    let flags = Flags(Flags::METADATA | Flags::NOFOLLOW | Flags::XDEV);
    let (language, options) = flags.read()?;
    let pattern = Pattern::new(b"/.|*", language).map_err(CallError::Pattern)?;
    let request = Request::new(&pattern, &[path], options)?;
    Ok(request.cancelled_by(cancel.clone()))
}

/// Receives an answer to its end.
pub(super) fn take_in(inner: &Inner, bulk: &Bulk) -> Result<(), BulkError> {
    let path = inner.server_path(&bulk.top);
    let mut search = Search::open(&inner.remote, request(&path, &bulk.cancel)?)?;
    let (mut assembly, mut done) = (Assembly::new(inner.device), Vec::new());
    let mut flow = Flow {
        left: AHEAD_ENTRIES,
        next: AHEAD_ENTRIES,
        waited: None,
    };
    let nonsense = |Nonsense| BulkError::Nonsense {
        server: inner.name.clone(),
        dir: inner.shown(&bulk.top),
    };
    while let Some(record) = search.next_record()? {
        if let (b".", Outcome::Match(Some(attributes))) = (record.path, record.outcome) {
            // The top may be a link to a mounted file system.
            if !bulk.top.is_empty() {
                assembly = Assembly::new(attributes.dev);
            }
        } else {
            assembly.take(&record, &mut done).map_err(nonsense)?;
        }
        let at = flow.at(packed_length(&record));
        bulk.progress().first.get_or_insert(bulk.begun.elapsed());
        if !done.is_empty() {
            publish(inner, bulk, assembly.position(), &mut done, at);
        }
        flow.left = flow.left.saturating_sub(1);
        if flow.left == 0 && !pause(inner, bulk, &mut flow) {
            return Ok(());
        }
    }
    let position = assembly.position().to_vec();
    assembly.finish(&mut done).map_err(nonsense)?;
    let at = flow.at(0);
    publish(inner, bulk, &position, &mut done, at);
    Ok(())
}

/// Publishes finished directories together with the position: a request that saw only one of them
/// would ask the server for what is already there.
fn publish(inner: &Inner, bulk: &Bulk, position: &[u8], done: &mut Vec<Done>, at: Instant) {
    let mut state = inner.state();
    bulk.progress().position = join(&bulk.top, position);
    for (below, found) in done.drain(..) {
        let dir = join(&bulk.top, &below);
        for entry in found.iter().flatten() {
            if entry.found.as_ref().is_ok_and(is_link) {
                state.targets.expect(join(&dir, &entry.name));
            }
        }
        let times = [bulk.begun, at];
        state.store.insert(dir, Listing::new(times, found));
    }
    drop(state);
    inner.changed.notify_all();
}

/// Waits until more is wanted; false if the answer is to end.
fn pause(inner: &Inner, bulk: &Bulk, flow: &mut Flow) -> bool {
    flow.next = (flow.next * 2).min(AHEAD_MAX_ENTRIES);
    flow.left = flow.next;
    let since = Instant::now();
    let mut state = inner.state();
    if bulk.is_wanted() {
        return true;
    }
    bulk.set_phase(Phase::Paused);
    loop {
        let left = inner.max_age.saturating_sub(since.elapsed());
        if bulk.is_cancelled() || left.is_zero() {
            return false;
        }
        if bulk.is_wanted() {
            bulk.set_phase(Phase::Running);
            flow.waited = Some((since, UNDER_WAY_BYTES));
            return true;
        }
        state = wait_for(&inner.changed, state, left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_what_still_comes() {
        let bulk = Bulk::new(b"a");
        bulk.progress().position = b"a/b.c/d".to_vec();
        for (dir, comes) in [
            ("a/b.c/d", true),
            ("a/b.c/d/e", true),
            ("a/b.c/e", true),
            ("a/c", true),
            ("a/b", false),
            ("a/b/z", false),
            ("a", false),
            ("b", false),
            ("ab", false),
            ("", false),
        ] {
            assert_eq!(bulk.comes_to(dir.as_bytes()), comes, "{dir}");
        }
        bulk.set_phase(Phase::Over);
        assert!(!bulk.comes_to(b"a/c"));
    }
}
