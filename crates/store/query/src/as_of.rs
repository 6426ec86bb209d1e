//! The moment that a query asks about: the current snapshot of each source, or
//! an older one.
//!
//! A snapshot answers for a time if its scan began at or before that time. Such
//! a snapshot contains every change that was complete when its scan began, and
//! nothing that happened after the scan's end.

use crate::error::Result;
use trawl_format::{IndexError, Snapshot, SnapshotId, SnapshotInfo, Source};
use trawl_model::Timestamp;

/// Maximum number of attempts to choose again after the chosen snapshot has
/// been removed.
const RETRIES: usize = 16;

/// Which snapshot of each source answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AsOf {
    /// The current snapshot, with later changes as far as they are known. Paths
    /// that it does not cover may be read from the live system.
    #[default]
    Now,
    /// The snapshot this many before the newest; 0 is the newest.
    Back(usize),
    /// The snapshot with this id; sources without it have no answer.
    Snapshot(SnapshotId),
    /// The newest snapshot whose scan began at or before this time.
    Time(Timestamp),
}

impl AsOf {
    /// True if only a snapshot can answer, and not the live system.
    pub fn is_past(self) -> bool {
        self != AsOf::Now
    }

    /// Chooses among snapshots that are sorted from the oldest to the newest.
    pub fn choose(self, snapshots: &[SnapshotInfo]) -> Option<&SnapshotInfo> {
        match self {
            AsOf::Now => snapshots.last(),
            AsOf::Back(steps) => snapshots.iter().rev().nth(steps),
            AsOf::Snapshot(id) => snapshots.iter().find(|info| info.id == id),
            AsOf::Time(time) => snapshots.iter().rev().find(|info| info.started <= time),
        }
    }

    /// Opens the chosen snapshot of a source; `None` if it has no such
    /// snapshot.
    pub(crate) fn open(self, source: &Source) -> Result<Option<Snapshot>> {
        if self == AsOf::Now {
            return Ok(source.now()?);
        }
        let mut tries = 0;
        loop {
            let snapshots = source.snapshots()?;
            let Some(info) = self.choose(&snapshots) else {
                return Ok(None);
            };
            match source.snapshot(info.id) {
                Ok(snapshot) => return Ok(Some(snapshot)),
                Err(IndexError::NoSnapshot { .. }) if tries < RETRIES => tries += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn info(at: i64) -> SnapshotInfo {
        let time = |secs| Timestamp { secs, nanos: 0 };
        SnapshotInfo {
            format: 2,
            id: SnapshotId(at as u64 * 1_000_000_000),
            revision: None,
            root: Vec::new(),
            started: time(at),
            finished: time(at + 5),
            version: String::new(),
            options: BTreeMap::new(),
        }
    }

    #[test]
    fn the_newest_that_began_by_then_is_taken() {
        let all = [info(10), info(20), info(30)];
        let began = |as_of: AsOf| as_of.choose(&all).map(|info| info.started.secs);
        let at = |secs, nanos| AsOf::Time(Timestamp { secs, nanos });
        assert_eq!(began(at(9, 999_999_999)), None);
        assert_eq!(began(at(10, 0)), Some(10));
        // The scan had begun, though it was not complete.
        assert_eq!(began(at(20, 1)), Some(20));
        assert_eq!(began(at(29, 999_999_999)), Some(20));
        assert_eq!(began(at(99, 0)), Some(30));
        assert_eq!(began(AsOf::Back(0)), Some(30));
        assert_eq!(began(AsOf::Back(2)), Some(10));
        assert_eq!(began(AsOf::Back(3)), None);
        assert_eq!(began(AsOf::Snapshot(all[1].id)), Some(20));
        assert_eq!(began(AsOf::Snapshot(SnapshotId(1))), None);
        assert_eq!(AsOf::Now.choose(&[]), None);
    }
}
