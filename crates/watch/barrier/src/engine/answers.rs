//! Composes the replies to clients.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Inner;
use super::state::{REFRESHES_MAX, State};
use crate::applier::{Scope, Stale};
use crate::protocol::{Answer, Contents, DEADLINE_MAX, Noticed, Outcome};
use crate::status::Status;

/// Maximum wait while nothing is trusted, since a scan may take long.
const PATIENCE: Duration = Duration::from_secs(2);

/// Interval at which waiting clients are checked for being still connected.
const LOOK: Duration = Duration::from_millis(200);

/// A handle to ask an engine, from any thread.
#[derive(Clone)]
pub struct Caller {
    inner: Arc<Inner>,
}

impl Caller {
    pub(super) fn new(inner: Arc<Inner>) -> Caller {
        Caller { inner }
    }

    /// The source's root, as the index spells it.
    #[must_use]
    pub fn root(&self) -> &[u8] {
        &self.inner.root
    }

    /// Waits until the index has every change made before this call, unless it was complete at most
    /// `max_age` ago. Gives up at the deadline, or when `is_gone` says that the client left.
    pub fn now(&self, deadline: Duration, max_age: Duration, is_gone: &dyn Fn() -> bool) -> Answer {
        let ticket = {
            let mut state = self.inner.state();
            if self.is_young_enough(&state, max_age) {
                return self.answer(&state, Outcome::Fresh);
            }
            state.asked += 1;
            self.inner.changed.notify_all();
            state.asked
        };
        self.wait(ticket, deadline, is_gone)
    }

    /// Has a directory scanned again with everything below, and waits as [`Caller::now`].
    pub fn refresh(&self, path: Vec<u8>, deadline: Duration, is_gone: &dyn Fn() -> bool) -> Answer {
        let scope = match path == self.inner.root {
            true => Scope::Everything,
            false => Scope::Subtree(path),
        };
        let ticket = {
            let mut state = self.inner.state();
            if state.refreshes.len() >= REFRESHES_MAX {
                return Answer::refused("too many directories wait for this: try again later");
            }
            if !state.refreshes.contains(&scope) {
                state.refreshes.push(scope);
            }
            state.asked += 1;
            self.inner.changed.notify_all();
            state.asked
        };
        self.wait(ticket, deadline, is_gone)
    }

    fn is_young_enough(&self, state: &State, max_age: Duration) -> bool {
        let Some(as_of) = state.last.as_of.filter(|_| state.lost.is_none()) else {
            return false;
        };
        let age = (self.inner.settings.clock)().as_nanos() - as_of.as_nanos();
        (0..i128::try_from(max_age.as_nanos()).unwrap_or(i128::MAX)).contains(&age)
    }

    fn wait(&self, ticket: u64, deadline: Duration, is_gone: &dyn Fn() -> bool) -> Answer {
        let begun = Instant::now();
        let deadline = deadline.min(DEADLINE_MAX);
        let mut state = self.inner.state();
        loop {
            if state.served >= ticket {
                let is_fresh = state.last.failure.is_none() && state.lost.is_none();
                let outcome = if is_fresh {
                    Outcome::Fresh
                } else {
                    Outcome::Stale
                };
                return self.answer(&state, outcome);
            }
            let waited = begun.elapsed();
            if state.lost.is_some() && waited >= PATIENCE.min(deadline) {
                return self.answer(&state, Outcome::Stale);
            }
            if waited >= deadline || is_gone() {
                return self.answer(&state, Outcome::Late);
            }
            let slice = (deadline - waited).min(LOOK);
            state = match self.inner.changed.wait_timeout(state, slice) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    fn answer(&self, state: &State, outcome: Outcome) -> Answer {
        let all = |why: &str| Stale {
            path: self.inner.root.clone(),
            why: why.to_owned(),
        };
        let mut stale = state.last.stale.clone();
        let unwatched = state.description.unwatched.iter();
        stale.extend(unwatched.map(|one| Stale {
            path: one.path.clone(),
            why: one.why.clone(),
        }));
        if outcome != Outcome::Fresh {
            let lost = state
                .lost
                .as_ref()
                .map(|why| format!("what changed in it is being found out, since {why}"));
            let why = lost.or(state.last.failure.clone());
            let busy = || state.busy.map(str::to_owned);
            stale.insert(
                0,
                all(&why
                    .or_else(busy)
                    .unwrap_or("its changes are not in the index yet".to_owned())),
            );
        }
        let outcome = match outcome {
            Outcome::Fresh if !stale.is_empty() => Outcome::Stale,
            outcome => outcome,
        };
        Answer {
            outcome,
            snapshot: state.last.snapshot,
            generation: state.last.generation,
            as_of: state.last.as_of,
            seen: state
                .description
                .interval
                .map_or(Noticed::Now, Noticed::Every),
            contents: match outcome {
                Outcome::Fresh => state.last.contents,
                _ => Contents::Unknown,
            },
            stale,
            remarks: state.last.remarks.clone(),
        }
    }

    /// Returns the status.
    #[must_use]
    pub fn status(&self) -> Status {
        let millis = |time: Duration| time.as_millis();
        let state = self.inner.state();
        let mut status = Status::default();
        status.text(
            "state",
            match (&state.lost, &state.last.failure) {
                (None, None) => "watching",
                (_, Some(_)) => "failed",
                (Some(_), None) => "catching-up",
            },
        );
        status.number("lag_ms", millis(state.lag()));
        let why = state.lost.as_ref().or(state.last.failure.as_ref());
        if let Some(why) = why {
            status.text("why", why);
        }
        let how = state.description.how;
        match state.description.interval {
            Some(every) => {
                status.text("how", &format!("{how} every {} s", every.as_secs_f32()));
            }
            None => status.text("how", how),
        }
        status.text("file_system", &state.description.file_system);
        status.number("uncovered_directories", state.description.uncovered);
        status.number("dirty", state.set.dirty().len());
        status.number("dirty_bytes", state.set.bytes());
        status.number("up_ms", millis(self.inner.begun.elapsed()));
        self.count(&state, &mut status);
        status
    }

    fn count(&self, state: &State, status: &mut Status) {
        let counters = &state.counters;
        status.number("last_queue", counters.last_queue);
        status.number("events_total", counters.events);
        status.number("overflows_total", counters.overflows);
        status.number("barriers_total", counters.barriers);
        status.number("last_barrier_us", counters.last_barrier.as_micros());
        status.number("applied_total", counters.applied);
        status.number("rescans_total", counters.rescans);
        status.number("catch_ups_total", counters.catch_ups);
        if let Some((recovery, took)) = &counters.recovery {
            status.text("recovery", recovery.method.unwrap_or("scan"));
            if let Some(why) = &recovery.why {
                status.text("recovery_why", why);
            }
            status.number("recovery_looked_at", recovery.looked_at);
            status.number("recovery_dirty", recovery.dirty);
            status.number("recovery_ms", took.as_millis());
        }
        status.number("checkpoints_total", counters.checkpoints);
        status.number("failures_total", counters.failures);
        if let Some(failure) = &counters.last_failure {
            status.text("last_failure", failure);
        }
        status.number("last_apply_us", counters.last_apply.as_micros());
        if let Some(published) = counters.published {
            status.number("applied_age_ms", published.elapsed().as_millis());
        }
        if let Some(id) = state.last.snapshot {
            status.text("snapshot", &id.to_string());
        }
    }
}
