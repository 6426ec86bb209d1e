//! Decides when published changes become a snapshot.

use std::time::{Duration, Instant};

use trawl_delta::Growth;

/// Changes are many if their rows exceed both the snapshot's rows divided by `MANY_OF` and
/// `MANY_LEAST`.
const MANY_OF: u64 = 4;
const MANY_LEAST: u64 = 100_000;
/// Maximum number of segments beside a snapshot; more slow readers down.
const SEGMENTS_MOST: usize = 256;
/// Maximum number of times that making a snapshot is abandoned because somebody asks.
const LEFT_OFF_MOST: u32 = 3;
/// Pause after making a snapshot was abandoned.
const PAUSE: Duration = Duration::from_secs(2);
/// After a snapshot, the pause is this many times as long as making it took.
const REST: u32 = 20;

/// Policy for when changes beside a snapshot become a snapshot.
#[derive(Debug)]
pub(crate) struct Policy {
    /// Maximum time for which changes stay beside a snapshot.
    every: Duration,
    /// Time of the first change that lies beside the snapshot.
    since: Option<Instant>,
    /// Earliest time of the next snapshot.
    not_before: Option<Instant>,
    left_off: u32,
}

impl Policy {
    pub(crate) fn new(every: Duration) -> Policy {
        Policy {
            every,
            since: None,
            not_before: None,
            left_off: 0,
        }
    }

    /// Records that changes were published beside the snapshot.
    pub(crate) fn published(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// Returns when the next snapshot is due; `None` if nothing lies beside the current one.
    pub(crate) fn at(&self, growth: Growth, now: Instant) -> Option<Instant> {
        let is_much = growth.rows > (growth.base_rows / MANY_OF).max(MANY_LEAST)
            || growth.segments > SEGMENTS_MOST;
        let at = match is_much {
            true => now,
            false => self.since? + self.every,
        };
        Some(self.not_before.map_or(at, |not_before| at.max(not_before)))
    }

    /// Returns true if making the snapshot must continue although somebody asks.
    pub(crate) fn insists(&self) -> bool {
        self.left_off >= LEFT_OFF_MOST
    }

    /// Records that a snapshot was made for any reason, and how long that took.
    pub(crate) fn made(&mut self, now: Instant, took: Duration) {
        self.since = None;
        self.left_off = 0;
        self.not_before = Some(now + took * REST);
    }

    /// Records that no snapshot was made.
    pub(crate) fn left_off(&mut self, now: Instant) {
        self.left_off += 1;
        self.not_before = Some(now + PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_made_when_changes_are_old_or_many() {
        let hour = Duration::from_secs(3600);
        let (mut policy, begun) = (Policy::new(hour), Instant::now());
        let few = Growth {
            rows: 9,
            base_rows: 1_000_000,
            segments: 2,
        };
        let much = Growth {
            rows: 260_000,
            ..few
        };
        assert_eq!(policy.at(few, begun), None);
        policy.published(begun);
        policy.published(begun + hour / 2);
        assert_eq!(policy.at(few, begun), Some(begun + hour));
        assert_eq!(policy.at(much, begun), Some(begun));
        policy.left_off(begun);
        assert_eq!(policy.at(much, begun), Some(begun + PAUSE));
        assert!(!policy.insists());
        policy.left_off(begun);
        policy.left_off(begun);
        assert!(policy.insists());
        policy.made(begun, PAUSE);
        assert!(!policy.insists());
        assert_eq!(policy.at(few, begun), None);
        policy.published(begun);
        assert_eq!(policy.at(much, begun), Some(begun + PAUSE * REST));
    }
}
