//! Guards of then and now, and what becomes of one where the other must be
//! passed, too. Numbers stand for guards, since there are few and rows are
//! many.

use std::collections::HashMap;
use trawl_index::{IndexError, Shard, Snapshot};
use trawl_model::guard::{Element, Guard};

use crate::error::Result;
use crate::now::Now;

/// A guard that rows move behind, below what guards the source as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TargetId(usize);

/// The guards of an older snapshot.
pub(crate) struct Guards {
    /// What guards the source as a whole from now on.
    above: Guard,
    /// By shard, from the source's root of the file system downwards.
    then: Vec<Guard>,
    /// True if what guarded the source as a whole was stricter, so that
    /// every row must be guarded by it.
    all_move: bool,
    /// True if what guards the source as a whole from now on is stricter.
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
            problem: "the list of its shards does not say what is above the source".to_owned(),
        })?;
        // From now on it lies behind `above`, whatever that was.
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

    /// The shard of the new snapshot that has the same guard as shard `then`,
    /// if what lies in it can stay there at all.
    pub(crate) fn same_shard(&self, then: usize, now: &Now) -> Option<usize> {
        let guard = self.then.get(then).filter(|_| !self.all_move)?;
        now.shard_behind(guard)
    }

    /// Where what lies in shard `then` goes if it must also pass `now`;
    /// `None` if it can stay.
    pub(crate) fn target(&mut self, then: usize, now: &Now, at: usize) -> Option<TargetId> {
        if let Some(known) = self.known.get(&(then, at)) {
            return *known;
        }
        let guard = self.tightened(then, &now.guard(at));
        let target = guard.map(|guard| self.intern(guard));
        self.known.insert((then, at), target);
        target
    }

    /// The same for the row of the directory behind the barrier that the
    /// guard of its shard ends with.
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

    /// A guard that rows move behind.
    pub(crate) fn get(&self, id: TargetId) -> Option<&Guard> {
        self.targets.get(id.0)
    }

    /// A guard without what guards the source as a whole, which is above it.
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

    /// Where the copy of a row goes that lay in shard `then`, for those who
    /// know the path behind the barrier that the guard `barrier` ends with, and pass `now`.
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

/// A guard that ends with this barrier: only such a one tells whose row stands
/// apart behind it. Others in front of the same path come before it, also if
/// something else asks for more.
fn barrier_last(mut guard: Guard, barrier: &Element) -> Guard {
    guard.0.retain(|element| element != barrier);
    guard.0.push(barrier.clone());
    guard
}
