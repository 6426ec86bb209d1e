//! Holds an engine's state: the dirty set, the waiting clients, the results of rounds.

use std::time::{Duration, Instant};

use trawl_changes::{Description, DirtySet, Limits};
use trawl_format::SnapshotId;
use trawl_model::Timestamp;

use crate::applier::{Recovery, Scope, Stale};
use crate::mark::Mark;
use crate::protocol::Contents;

/// Maximum number of requested rescans that may wait.
pub(super) const REFRESHES_MAX: usize = 64;

/// The first pause after a failure; each further one is twice as long.
const RETRY_FIRST: Duration = Duration::from_millis(250);
/// The longest pause.
const RETRY_LONGEST: Duration = Duration::from_secs(60);

/// State shared by the threads of an engine.
pub(super) struct State {
    pub(super) set: DirtySet,
    /// When the oldest change was read that is in the set, or was taken and not applied.
    pub(super) dirty_since: Option<Instant>,
    /// Like `dirty_since`, for the changes that are being applied.
    pub(super) taken_since: Option<Instant>,
    /// A round is wanted although nothing is known to be dirty.
    pub(super) is_due: bool,
    /// Why nothing is trusted, if so.
    pub(super) lost: Option<String>,
    /// Number of times that trust was lost.
    pub(super) losses: u64,
    pub(super) mark: Mark,
    pub(super) description: Description,
    /// The last ticket given to a client.
    pub(super) asked: u64,
    /// The last ticket that is answered.
    pub(super) served: u64,
    /// The result of the last round.
    pub(super) last: LastRound,
    pub(super) refreshes: Vec<Scope>,
    /// Present activity that clients may have to wait for.
    pub(super) busy: Option<&'static str>,
    pub(super) retry: Option<Retry>,
    pub(super) counters: Counters,
    pub(super) reader_stops: bool,
    pub(super) applier_stops: bool,
}

/// The result of the last round.
#[derive(Clone, Debug, Default)]
pub(super) struct LastRound {
    /// Time up to which the index has all changes, if the round succeeded.
    pub(super) as_of: Option<Timestamp>,
    /// Why the round failed.
    pub(super) failure: Option<String>,
    /// Whether the round saw every change of contents.
    pub(super) contents: Contents,
    /// Parts that keep their old rows.
    pub(super) stale: Vec<Stale>,
    /// Further remarks for clients.
    pub(super) remarks: Vec<String>,
    pub(super) snapshot: Option<SnapshotId>,
    /// The generation published beside the snapshot; 0 means none.
    pub(super) generation: u64,
    /// When the round ended.
    pub(super) ended: Option<Instant>,
}

/// A pause after a failure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retry {
    /// Earliest time of the next attempt.
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

/// Counters for the status.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    pub(super) events: u64,
    pub(super) overflows: u64,
    pub(super) barriers: u64,
    pub(super) applied: u64,
    pub(super) rescans: u64,
    pub(super) catch_ups: u64,
    /// How trust was restored the last time, and how long that took.
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

    /// Notes that changes were read; returns true if they are the first dirty ones.
    pub(super) fn note_dirt(&mut self) -> bool {
        let is_first = self.dirty_since.is_none() && !self.set.dirty().is_empty();
        if is_first {
            self.dirty_since = Some(Instant::now());
        }
        is_first
    }

    /// Notes that the dirty set is being applied from now on, and returns since when it is dirty.
    pub(super) fn take_since(&mut self) -> Option<Instant> {
        self.taken_since = self.dirty_since.take();
        self.taken_since
    }

    /// Whether all changes that were read are in the index.
    pub(super) fn is_settled(&self) -> bool {
        self.lost.is_none() && self.dirty_since.is_none() && self.refreshes.is_empty()
    }

    /// Age of the oldest change that is not applied.
    pub(super) fn lag(&self) -> Duration {
        let oldest = self.taken_since.or(self.dirty_since);
        oldest.map_or(Duration::ZERO, |since| since.elapsed())
    }
}
