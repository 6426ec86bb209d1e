//! Asks the daemon, at most one question at a time, and stores the result.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use trawl_model::path;
use trawl_model::sync::lock;
use trawl_open::barrier;
use trawl_table_service::{Begun, Demand};

use crate::Use;
use crate::reading::Reading;

/// Time limit for a daemon in automatic mode: a later answer would be too old.
const DEADLINE: Duration = Duration::from_millis(400);
/// Time limit where the table waits for the answer.
const DEADLINE_ALWAYS: Duration = Duration::from_secs(5);
/// Pause after an answer in vain; it doubles each time.
const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Maximum number of remembered directories about which asking was in vain.
const REFUSED_MAX: usize = 64;

/// The pending result; the channel closes without one if the index cannot answer.
pub(crate) type Coming = Receiver<Arc<Reading>>;

/// An index, and the state of questions about it.
#[derive(Debug)]
pub(crate) struct Asking {
    index: PathBuf,
    pub(crate) when: Use,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether a thread is waiting for an answer.
    is_asked: bool,
    last: Option<Arc<Reading>>,
    refused: HashMap<Vec<u8>, Refused>,
}

#[derive(Clone, Copy, Debug)]
struct Refused {
    until: Instant,
    pause: Duration,
}

impl Asking {
    pub(crate) fn new(index: PathBuf, when: Use) -> Asking {
        let state = Mutex::default();
        Asking { index, when, state }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Returns the result that was read for the table that this one continues, if it may still be
    /// used.
    pub(crate) fn last(&self, demand: &Demand, begun: Begun) -> Option<Arc<Reading>> {
        // A walk that begins gets newer information.
        if demand.from.is_empty() {
            return None;
        }
        let last = self.lock().last.clone()?;
        let is_young = last.generation == begun.generation && last.begun_ns >= begun.since_ns;
        (is_young && path::is_within(stored(&demand.path), &last.top)).then_some(last)
    }

    /// Asks, unless a question makes no sense now.
    pub(crate) fn ask(self: &Arc<Self>, demand: &Demand, begun: Begun) -> Option<Coming> {
        if !barrier::is_watched(&self.index) {
            return None;
        }
        let top = stored(&demand.path).to_vec();
        {
            let mut state = self.lock();
            let is_refused = |refused: &Refused| refused.until > Instant::now();
            let is_asked = state.is_asked && self.when == Use::Automatic;
            if is_asked || state.refused.get(&top).is_some_and(is_refused) {
                return None;
            }
            state.is_asked = true;
        }
        let (sender, coming) = sync_channel(1);
        let (asking, generation) = (Arc::clone(self), begun.generation);
        let ask = move || {
            if let Some(reading) = asking.read(top, generation) {
                // The table may be complete by now.
                let _ = sender.send(reading);
            }
        };
        let thread = std::thread::Builder::new().name("bulk index".to_owned());
        let started = thread.spawn(ask);
        if started.is_err() {
            self.lock().is_asked = false;
        }
        started.is_ok().then_some(coming)
    }

    /// Waits for the pending result, up to the daemon's time limit.
    pub(crate) fn wait(&self, demand: &Demand, coming: &Coming) -> Option<Arc<Reading>> {
        let came = coming.recv_timeout(DEADLINE_ALWAYS);
        if matches!(came, Err(RecvTimeoutError::Timeout)) {
            // The daemon did not even report a missed deadline.
            self.lock().refuse(stored(&demand.path).to_vec());
        }
        came.ok()
    }

    /// Has the daemon bring the index up to date, and opens the index.
    fn read(&self, top: Vec<u8>, generation: u64) -> Option<Arc<Reading>> {
        let deadline = match self.when {
            Use::Automatic => DEADLINE,
            Use::Always => DEADLINE_ALWAYS,
        };
        let begun_ns = now_ns();
        let asked = barrier::ask_around(&self.index, &top, deadline);
        let is_fresh = |root: &[u8]| {
            let mut asked = asked.iter().filter(|asked| asked.root == root);
            asked
                .next()
                .is_some_and(barrier::DaemonAnswer::is_as_of_now)
        };
        let read = || Reading::open(&self.index, &top, is_fresh);
        let is_any = asked.iter().any(barrier::DaemonAnswer::is_as_of_now);
        let read = is_any.then(read).flatten().map(|mut reading| {
            (reading.begun_ns, reading.generation) = (begun_ns, generation);
            Arc::new(reading)
        });
        let mut state = self.lock();
        state.is_asked = false;
        match &read {
            None => state.refuse(top),
            Some(reading) => {
                state.refused.remove(&top);
                state.last = Some(Arc::clone(reading));
            }
        }
        read
    }
}

impl State {
    fn refuse(&mut self, top: Vec<u8>) {
        let before = self.refused.get(&top).map(|refused| refused.pause * 2);
        let pause = before.unwrap_or(PAUSE_MIN).clamp(PAUSE_MIN, PAUSE_MAX);
        if self.refused.len() >= REFUSED_MAX {
            self.refused.clear();
        }
        let until = Instant::now() + pause;
        self.refused.insert(top, Refused { until, pause });
    }
}

/// Returns a path in the index's form.
pub(crate) fn stored(path: &[u8]) -> &[u8] {
    match path {
        b"/" => b"",
        path => path,
    }
}

fn now_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(now.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_of_no_help_is_asked_less_and_less_often() {
        let mut state = State::default();
        let mut pauses = Vec::new();
        for _ in 0..8 {
            state.refuse(b"/a".to_vec());
            pauses.push(state.refused[&b"/a"[..]].pause);
        }
        assert_eq!(pauses[0], PAUSE_MIN);
        assert!(pauses.is_sorted());
        assert_eq!(pauses[7], PAUSE_MAX);
        for number in 0..200 {
            state.refuse(format!("/{number}").into_bytes());
        }
        assert!(state.refused.len() <= REFUSED_MAX);
    }
}
