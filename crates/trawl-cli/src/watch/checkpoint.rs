//! When what was published becomes a snapshot.

use std::time::{Duration, Instant};

use trawl_apply::Growth;

/// More rows than a snapshot's divided by this, beside it, are many; fewer than the other are not.
const MANY_OF: u64 = 4;
const MANY_LEAST: u64 = 100_000;
/// More segments beside a snapshot than this cost who reads them.
const SEGMENTS_MOST: usize = 256;
/// It is left off at most so often because somebody asks.
const LEFT_OFF_MOST: u32 = 3;
/// The pause after it was left off.
const PAUSE: Duration = Duration::from_secs(2);
/// So many times as long as it took, none is made because there is much.
const REST: u32 = 20;

/// When a snapshot is made of what lies beside one.
#[derive(Debug)]
pub(crate) struct Policy {
    /// How long changes lie beside a snapshot.
    every: Duration,
    /// When the first did.
    since: Option<Instant>,
    /// Not before then.
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

    /// Something lies beside the snapshot.
    pub(crate) fn published(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// When to make one.
    pub(crate) fn at(&self, growth: Growth, now: Instant) -> Option<Instant> {
        let is_much = growth.rows > (growth.base_rows / MANY_OF).max(MANY_LEAST)
            || growth.segments > SEGMENTS_MOST;
        let at = match is_much {
            true => now,
            false => self.since? + self.every,
        };
        Some(self.not_before.map_or(at, |not_before| at.max(not_before)))
    }

    /// Whether to go on though somebody asks.
    pub(crate) fn insists(&self) -> bool {
        self.left_off >= LEFT_OFF_MOST
    }

    /// One was made, by whatever; it took so long.
    pub(crate) fn made(&mut self, now: Instant, took: Duration) {
        self.since = None;
        self.left_off = 0;
        self.not_before = Some(now + took * REST);
    }

    /// None was made.
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
