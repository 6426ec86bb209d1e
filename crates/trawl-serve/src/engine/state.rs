//! What an engine knows: what is dirty, who waits, how it went.

use std::time::{Duration, Instant};

use trawl_index::SnapshotId;
use trawl_live::{Description, DirtySet, Limits};
use trawl_model::Timestamp;

use crate::applier::{Recovery, Scope, Stale};
use crate::mark::Mark;

/// Directories that may wait to be scanned again because someone asked.
pub(super) const REFRESHES_MAX: usize = 64;

/// The first pause after a failure; each is twice as long as the one before.
const RETRY_FIRST: Duration = Duration::from_millis(250);
/// The longest.
const RETRY_LONGEST: Duration = Duration::from_secs(60);

/// Shared by the threads of an engine.
pub(super) struct State {
    pub(super) set: DirtySet,
    /// When the oldest change in the set, or taken and not applied, was read.
    pub(super) dirty_since: Option<Instant>,
    /// The same of what is being applied.
    pub(super) taken_since: Option<Instant>,
    /// A round is wanted though nothing is known to be dirty.
    pub(super) is_due: bool,
    /// Why nothing is trusted, if so.
    pub(super) lost: Option<String>,
    /// How often trust was lost.
    pub(super) losses: u64,
    pub(super) mark: Mark,
    pub(super) description: Description,
    /// Tickets given to those who ask.
    pub(super) asked: u64,
    /// Up to which they are answered.
    pub(super) served: u64,
    /// How the last round went.
    pub(super) last: LastRound,
    pub(super) refreshes: Vec<Scope>,
    /// What those who ask may have to wait for.
    pub(super) busy: Option<&'static str>,
    pub(super) retry: Option<Retry>,
    pub(super) counters: Counters,
    pub(super) reader_stops: bool,
    pub(super) applier_stops: bool,
}

/// How the last round went.
#[derive(Clone, Debug, Default)]
pub(super) struct LastRound {
    /// Up to when everything is in the index, if the round came to an end.
    pub(super) as_of: Option<Timestamp>,
    /// Why it did not.
    pub(super) failure: Option<String>,
    /// What stays as it was.
    pub(super) stale: Vec<Stale>,
    /// What else should be known.
    pub(super) remarks: Vec<String>,
    pub(super) snapshot: Option<SnapshotId>,
    /// What was published beside that; 0: nothing.
    pub(super) generation: u64,
    /// When it ended.
    pub(super) ended: Option<Instant>,
}

/// After a failure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retry {
    /// Not before then.
    pub(super) at: Instant,
    pause: Duration,
}

impl Retry {
    pub(super) fn after(before: Option<Retry>, now: Instant) -> Retry {
        let pause = before.map_or(RETRY_FIRST, |before| (before.pause * 2).min(RETRY_LONGEST));
        Retry {
            at: now + pause,
            pause,
        }
    }
}

/// What is counted for the status.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    pub(super) events: u64,
    pub(super) overflows: u64,
    pub(super) barriers: u64,
    pub(super) applied: u64,
    pub(super) rescans: u64,
    pub(super) catch_ups: u64,
    /// How trust came back the last time, and how long that took.
    pub(super) recovery: Option<(Recovery, Duration)>,
    pub(super) checkpoints: u64,
    pub(super) failures: u64,
    pub(super) last_failure: Option<String>,
    pub(super) last_queue: u64,
    pub(super) last_barrier: Duration,
    pub(super) last_apply: Duration,
    pub(super) published: Option<Instant>,
}

impl State {
    pub(super) fn new(
        mark: Mark,
        description: Description,
        limits: Limits,
        snapshot: Option<SnapshotId>,
    ) -> State {
        State {
            set: DirtySet::new(limits),
            dirty_since: None,
            taken_since: None,
            is_due: false,
            lost: None,
            losses: 0,
            mark,
            description,
            asked: 0,
            served: 0,
            last: LastRound {
                snapshot,
                ..LastRound::default()
            },
            refreshes: Vec::new(),
            busy: None,
            retry: None,
            counters: Counters::default(),
            reader_stops: false,
            applier_stops: false,
        }
    }

    /// Notes that something was read; true if that is the first that is dirty.
    pub(super) fn note_dirt(&mut self) -> bool {
        let is_first = self.dirty_since.is_none() && !self.set.dirty().is_empty();
        if is_first {
            self.dirty_since = Some(Instant::now());
        }
        is_first
    }

    /// What is dirty is being applied from now on: since when it is dirty.
    pub(super) fn take_since(&mut self) -> Option<Instant> {
        self.taken_since = self.dirty_since.take();
        self.taken_since
    }

    /// Whether all that was read is in the index.
    pub(super) fn is_settled(&self) -> bool {
        self.lost.is_none() && self.dirty_since.is_none() && self.refreshes.is_empty()
    }

    /// How long the oldest change has been waiting.
    pub(super) fn lag(&self) -> Duration {
        let oldest = self.taken_since.or(self.dirty_since);
        oldest.map_or(Duration::ZERO, |since| since.elapsed())
    }
}
