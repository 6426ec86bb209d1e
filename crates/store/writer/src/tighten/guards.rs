//! Combines guards of the older and the new snapshot. Guards are represented by numbers, since
//! there are few guards and many rows.

use std::collections::HashMap;
use trawl_format::{IndexError, Shard, Snapshot};
use trawl_model::guard::{Element, Guard};

use super::now::Now;
use crate::error::Result;

/// A guard that rows move behind, below the guard of the source as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TargetId(usize);

/// The guards of an older snapshot.
pub(crate) struct Guards {
    /// New guard of the source as a whole.
    above: Guard,
    /// Guard of each shard, from the root of the file system downwards.
    then: Vec<Guard>,
    /// True if the old guard of the source as a whole was stricter in some respect, so that every
    /// row must be guarded by it as well.
    all_move: bool,
    /// True if the new guard of the source as a whole is stricter.
    pub(crate) is_source_stricter: bool,
    known: HashMap<(usize, usize), Option<TargetId>>,
    targets: Vec<Guard>,
    target_ids: HashMap<Guard, TargetId>,
}

impl Guards {
    pub(crate) fn of(snapshot: &Snapshot, now: &Now) -> Result<Guards> {
        let above = now.above().clone();
        let before = snapshot.above().ok_or_else(|| IndexError::Damaged {
            path: snapshot
                .shards
                .first()
                .map(Shard::dir_path)
                .unwrap_or_default(),
            problem: "the list of its shards does not name the guard above the source".to_owned(),
        })?;
        // From now on the source lies behind `above`, whatever its old guard.
        let mut around = above.clone();
        let is_new = |element: &&Element| !above.0.iter().any(|now| now.implies(element));
        around.0.extend(before.0.iter().filter(is_new).cloned());
        let is_source_stricter = before.tightened(&above).is_some();
        let full = |shard: &Shard| {
            let guard = shard.manifest.guard()?;
            Ok(Guard([&around.0[..], &guard.0].concat()))
        };
        Ok(Guards {
            then: snapshot.shards.iter().map(full).collect::<Result<_>>()?,
            all_move: around != above,
            is_source_stricter,
            above,
            known: HashMap::new(),
            targets: Vec::new(),
            target_ids: HashMap::new(),
        })
    }

    /// Returns the shard of the new snapshot with the same guard as shard `then`, if rows can stay
    /// in that shard at all.
    pub(crate) fn same_shard(&self, then: usize, now: &Now) -> Option<usize> {
        let guard = self.then.get(then).filter(|_| !self.all_move)?;
        now.shard_behind(guard)
    }

    /// Returns the guard that content of shard `then` moves behind if it must also be guarded by
    /// `now`'s guard number `at`. `None` if it can stay.
    pub(crate) fn target(&mut self, then: usize, now: &Now, at: usize) -> Option<TargetId> {
        if let Some(known) = self.known.get(&(then, at)) {
            return *known;
        }
        let guard = self.tightened(then, &now.guard(at));
        let target = guard.map(|guard| self.intern(guard));
        self.known.insert((then, at), target);
        target
    }

    /// Like [`Guards::target`], for the own row of the directory behind the barrier that the
    /// shard's guard ends with.
    pub(crate) fn own_target(&mut self, then: usize, now: &Guard) -> Option<TargetId> {
        let guard = self.tightened(then, now)?;
        let barrier = self.then.get(then)?.0.last()?.clone();
        Some(self.intern(barrier_last(guard, &barrier)))
    }

    fn tightened(&self, then: usize, now: &Guard) -> Option<Guard> {
        let then = self.then.get(then)?;
        match then.tightened(now) {
            None if self.all_move => Some(then.clone()),
            tightened => tightened,
        }
    }

    /// Returns a guard that rows move behind.
    pub(crate) fn get(&self, id: TargetId) -> Option<&Guard> {
        self.targets.get(id.0)
    }

    /// Removes the guard of the source as a whole, which lies above, and returns the number of the
    /// rest.
    fn intern(&mut self, guard: Guard) -> TargetId {
        let below = guard.0.get(self.above.0.len()..).unwrap_or_default();
        let below = Guard(below.to_vec());
        let next = TargetId(self.targets.len());
        let id = *self.target_ids.entry(below.clone()).or_insert(next);
        if id == next {
            self.targets.push(below);
        }
        id
    }

    /// Returns the guard for the copy of a row from shard `then`. The copy serves users who know
    /// the path behind the barrier that the guard `barrier` ends with and who pass `now`.
    pub(crate) fn copy_target(
        &mut self,
        then: usize,
        barrier: &Guard,
        now: &Guard,
    ) -> Option<TargetId> {
        let barrier = barrier.0.last()?;
        let then = self.then.get(then)?;
        let guard = then.tightened(now).unwrap_or_else(|| then.clone());
        Some(self.intern(barrier_last(guard, barrier)))
    }
}

/// Moves this barrier to the end of a guard: only the last barrier tells whose own row lies behind
/// it. Other barriers for the same path come before it, even if another element is stricter.
fn barrier_last(mut guard: Guard, barrier: &Element) -> Guard {
    guard.0.retain(|element| element != barrier);
    guard.0.push(barrier.clone());
    guard
}
