//! Plans which rows of an older snapshot have to move.
//!
//! All rows are visited in path order, alongside the listed directories of the new snapshot. Rows
//! that move are kept as runs with one target.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;
use trawl_format::{GuardStep, Snapshot, Table};
use trawl_model::path;
use trawl_query::View;
use trawl_query::stored::{RowAddress, Value, Values};

use super::guards::{Guards, TargetId};
use super::moved::{self, Moved};
use super::now::{Beside, Now};
use crate::error::Result;

/// Maximum number of directories held in memory. If more are guarded differently, all listings are
/// visited in order instead.
const DIRECTORIES_MOST: usize = 256 * 1024;
/// Maximum number of issues held at a time.
const ISSUES_MOST: usize = 64 * 1024;
/// Number of issues read at a time.
const ISSUES_AT_A_TIME: usize = 4096;

/// Rows of a table that move, ascending.
#[derive(Default)]
pub(crate) struct Moves(Vec<(Range<u64>, TargetId)>);

impl Moves {
    fn push(&mut self, row: u64, target: TargetId) {
        match self.0.last_mut() {
            Some((rows, to)) if rows.end == row && *to == target => rows.end += 1,
            _ => self.0.push((row..row + 1, target)),
        }
    }

    /// Sorts rows that were added in any order.
    fn sort(&mut self) {
        self.0.sort_by_key(|(rows, _)| rows.start);
    }

    pub(crate) fn get(&self, row: u64) -> Option<TargetId> {
        let at = self.0.partition_point(|(rows, _)| rows.end <= row);
        let (rows, target) = self.0.get(at)?;
        rows.contains(&row).then_some(*target)
    }
}

/// Rows of one segment that move.
#[derive(Default)]
pub(crate) struct SegmentMoves {
    /// Rows of the dirs table.
    pub(crate) dirs: Moves,
    pub(crate) values: Moves,
    pub(crate) issues: Moves,
}

/// Everything that moves.
pub(crate) struct Plan {
    pub(crate) guards: Guards,
    pub(crate) segments: BTreeMap<usize, SegmentMoves>,
    /// Rows of dirs tables that continue a directory of another segment in the same shard.
    pub(crate) continued: HashSet<RowAddress>,
    /// Directories whose own row is stored behind a barrier already.
    pub(crate) apart: HashSet<Vec<u8>>,
    /// Directories that have moved to a place that fewer users reach.
    pub(crate) moved: Moved,
    pub(crate) directories: u64,
    pub(crate) others: u64,
}

impl Plan {
    /// True if the snapshot can stay as it is. If the source as a whole gets a stricter guard, no
    /// row moves, but the guard must be recorded: it applies to this snapshot from now on, even if
    /// the source's guard becomes weaker again.
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty() && !self.guards.is_source_stricter
    }

    /// Returns `guard`, combined with the guard of the present place of the directory that was at
    /// `dir`, if it was moved.
    pub(crate) fn with_moved(&self, now: &mut Now, guard: usize, dir: &[u8]) -> usize {
        match self.moved.get(dir) {
            Some(moved) => now.both(guard, *moved),
            None => guard,
        }
    }

    fn moves(&mut self, segment: usize) -> &mut SegmentMoves {
        self.segments.entry(segment).or_default()
    }
}

/// Finds the rows of `then` that have to move.
pub(crate) fn make(then: &View, snapshot: &Snapshot, now: &mut Now) -> Result<Plan> {
    let plan = Plan {
        guards: Guards::of(snapshot, now)?,
        segments: BTreeMap::new(),
        continued: HashSet::new(),
        apart: HashSet::new(),
        moved: Moved::new(),
        directories: 0,
        others: 0,
    };
    let mut planner = Planner {
        then,
        view: Arc::clone(&now.view),
        now,
        plan,
    };
    planner.plan.moved = moved::find(then, planner.now)?;
    planner.listings()?;
    planner.own_rows()?;
    planner.values()?;
    planner.issues()?;
    planner.find_continued()?;
    for moves in planner.plan.segments.values_mut() {
        moves.dirs.sort();
        moves.values.sort();
        moves.issues.sort();
    }
    Ok(planner.plan)
}

struct Planner<'a> {
    then: &'a View,
    /// View of the new snapshot.
    view: Arc<View>,
    now: &'a mut Now,
    plan: Plan,
}

impl Planner<'_> {
    fn shard_of(&self, segment: usize) -> usize {
        let found = self.then.stored_segment(segment);
        found.map_or(usize::MAX, |(shard, ..)| shard)
    }

    fn target(&mut self, segment: usize, now: usize) -> Option<TargetId> {
        let then = self.shard_of(segment);
        self.plan.guards.target(then, self.now, now)
    }

    fn listings(&mut self) -> Result<()> {
        let mut elsewhere = Vec::new();
        for shard in 0..self.then.shards().len() {
            self.not_in_same_shard(shard, &mut elsewhere)?;
            if elsewhere.len() > DIRECTORIES_MOST {
                return self.all_listings();
            }
        }
        elsewhere.sort_by(|(a, _), (b, _)| path::cmp(a, b));
        let view = Arc::clone(&self.view);
        let mut beside = Beside::new(&view)?;
        let mut last = None;
        for (dir, place) in &elsewhere {
            let now = self.guard_in(&mut beside, dir)?;
            self.place_listing(*place, now, last != Some(dir));
            last = Some(dir);
        }
        Ok(())
    }

    /// Returns the new guard of entries in `dir`: that of the path, combined with that of the
    /// directory's present place.
    fn guard_in(&mut self, beside: &mut Beside<'_>, dir: &[u8]) -> Result<usize> {
        let there = beside.guard_in(self.now, dir)?;
        Ok(self.with_moved(there, dir))
    }

    /// Combines the guard of a path with that of the directory's present place.
    fn with_moved(&mut self, guard: usize, dir: &[u8]) -> usize {
        self.plan.with_moved(self.now, guard, dir)
    }

    /// Finds the directories of a shard that are not in the new snapshot's shard with the same
    /// guard.
    fn not_in_same_shard(&self, shard: usize, out: &mut Vec<(Vec<u8>, RowAddress)>) -> Result<()> {
        let same = self.plan.guards.same_shard(shard, self.now);
        let digest_of = |view: &View, at: usize| view.shards().get(at)?.digest;
        if self.plan.moved.is_empty()
            && let Some(same) = same
            && let Some(digest) = digest_of(&self.view, same)
            && digest_of(self.then, shard) == Some(digest)
        {
            return Ok(());
        }
        let mut listings = self.then.listings_in(shard)?;
        let mut others = match same {
            Some(same) => Some(self.view.listings_in(same)?),
            None => None,
        };
        let mut has_other = match &mut others {
            Some(others) => others.advance()?,
            None => false,
        };
        while listings.advance()? && out.len() <= DIRECTORIES_MOST {
            let mut order = Ordering::Greater;
            while let Some(others) = others.as_mut().filter(|_| has_other) {
                order = path::cmp(others.path(), listings.path());
                if order != Ordering::Less {
                    break;
                }
                has_other = others.advance()?;
            }
            let is_moved = || self.plan.moved.contains_key(listings.path());
            if order != Ordering::Equal || !has_other || is_moved() {
                out.push((listings.path().to_vec(), listings.place()));
            }
        }
        Ok(())
    }

    /// Plans all listings without holding directories in memory, for the case that much has
    /// changed.
    fn all_listings(&mut self) -> Result<()> {
        let view = Arc::clone(&self.view);
        let mut beside = Beside::new(&view)?;
        let mut listings = self.then.listings()?;
        let mut last: Option<Vec<u8>> = None;
        while listings.advance()? {
            let now = self.guard_in(&mut beside, listings.path())?;
            let is_new = last.as_deref() != Some(listings.path());
            self.place_listing(listings.place(), now, is_new);
            if is_new {
                last = Some(listings.path().to_vec());
            }
        }
        Ok(())
    }

    fn place_listing(&mut self, place: RowAddress, now: usize, is_new: bool) {
        if let Some(target) = self.target(place.segment, now) {
            self.plan.moves(place.segment).dirs.push(place.row, target);
            self.plan.directories += u64::from(is_new);
        }
    }

    /// Finds rows that continue a directory of another segment, in shards with a segment that is
    /// rewritten.
    fn find_continued(&mut self) -> Result<()> {
        let shards: BTreeSet<usize> = self
            .plan
            .segments
            .keys()
            .map(|segment| self.shard_of(*segment))
            .collect();
        for shard in shards {
            let segments = self.then.shards().get(shard);
            if segments.is_none_or(|shard| shard.manifest.segments.len() < 2) {
                continue;
            }
            let mut listings = self.then.listings_in(shard)?;
            let mut last: Option<Vec<u8>> = None;
            while listings.advance()? {
                match last.as_deref() == Some(listings.path()) {
                    true => drop(self.plan.continued.insert(listings.place())),
                    false => last = Some(listings.path().to_vec()),
                }
            }
        }
        Ok(())
    }

    /// Plans own rows: the root's, and those behind barriers.
    fn own_rows(&mut self) -> Result<()> {
        let mut behind = Vec::new();
        for segment in 0..self.then.stored_segments() {
            let Some((_, shard, info)) = self.then.stored_segment(segment) else {
                continue;
            };
            if !info.own_row {
                continue;
            }
            let dir = info.first_dir.as_deref();
            match shard
                .barrier()
                .filter(|at| path::split(at).map(|(dir, _)| dir) == dir)
            {
                Some(barrier) => behind.push((barrier.to_vec(), segment)),
                None => {
                    let now = self.now.root_guard();
                    let target = self.target(segment, now);
                    self.move_own(segment, target);
                }
            }
        }
        behind.sort_by(|(a, _), (b, _)| path::cmp(parent(a), parent(b)));
        let view = Arc::clone(&self.view);
        let mut beside = Beside::new(&view)?;
        for (barrier, segment) in behind {
            let now = match self.now.barrier(&barrier) {
                Some(now) => self.with_moved(now, parent(&barrier)),
                None => self.guard_in(&mut beside, parent(&barrier))?,
            };
            let guard = self.now.guard(now);
            let then = self.shard_of(segment);
            let target = self.plan.guards.own_target(then, &guard);
            self.move_own(segment, target);
            self.plan.apart.insert(barrier);
        }
        Ok(())
    }

    fn move_own(&mut self, segment: usize, target: Option<TargetId>) {
        if let Some(target) = target {
            // It is row 0, before all other rows that move.
            self.plan.moves(segment).dirs.0.insert(0, (0..1, target));
            self.plan.others += 1;
        }
    }

    fn values(&mut self) -> Result<()> {
        let mut then = self.then.values()?;
        let Some(mut value) = then.next_value()? else {
            return Ok(());
        };
        let view = Arc::clone(&self.view);
        let (mut beside, mut group) = (Beside::new(&view)?, Group::new(&view)?);
        loop {
            group.find(&value)?;
            let now = match group.guard_of(self.then, &value) {
                Some(now) => self.with_moved(now, &value.dir),
                None => self.value_guard(&mut beside, &value)?,
            };
            let RowAddress { segment, row } = value.place;
            if let Some(target) = self.target(segment, now) {
                self.plan.moves(segment).values.push(row, target);
                self.plan.others += 1;
            }
            match then.next_value()? {
                Some(next) => value = next,
                None => return Ok(()),
            }
        }
    }

    /// Returns the present guard of an attribute value that no longer exists.
    fn value_guard(&mut self, beside: &mut Beside<'_>, value: &Value) -> Result<usize> {
        let path = value.path();
        let listing = match path == self.then.root() {
            true => self.now.root_guard(),
            false => self.guard_in(beside, &value.dir)?,
        };
        match value.attr.starts_with(b"user.") {
            true => self.now.reading(listing, &path),
            false => Ok(listing),
        }
    }

    fn issues(&mut self) -> Result<()> {
        let then = self.then;
        let mut batch: Vec<(Vec<u8>, RowAddress)> = Vec::new();
        for segment in 0..then.stored_segments() {
            let table = then
                .stored_segment(segment)
                .and_then(|(_, _, info)| info.files.get(&Table::Issues));
            let end = table.map_or(0, |file| file.rows);
            for start in (0..end).step_by(ISSUES_AT_A_TIME) {
                let rows = start..end.min(start + ISSUES_AT_A_TIME as u64);
                let issues = then.stored_issues(segment, rows.clone())?;
                let places = rows.map(|row| RowAddress { segment, row });
                batch.extend(issues.into_iter().map(|issue| issue.path).zip(places));
                if batch.len() >= ISSUES_MOST {
                    self.place_issues(&mut batch)?;
                }
            }
        }
        self.place_issues(&mut batch)
    }

    fn place_issues(&mut self, batch: &mut Vec<(Vec<u8>, RowAddress)>) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        batch.sort_by(|(a, _), (b, _)| path::cmp(parent(a), parent(b)));
        let view = Arc::clone(&self.view);
        let mut beside = Beside::new(&view)?;
        for (path, RowAddress { segment, row }) in batch.drain(..) {
            let now = match path == self.then.root() {
                true => self.now.root_guard(),
                false => self.guard_in(&mut beside, parent(&path))?,
            };
            if let Some(target) = self.target(segment, now) {
                self.plan.moves(segment).issues.push(row, target);
                self.plan.others += 1;
            }
        }
        Ok(())
    }
}

/// Returns the directory that contains the entry at `path`.
fn parent(path: &[u8]) -> &[u8] {
    path::split(path).map_or(&[], |(dir, _)| dir)
}

/// The values of one attribute of one entry in the new snapshot: one in the shard of its directory,
/// and perhaps one behind a barrier beside the entry's own row.
struct Group<'a> {
    values: Values<'a>,
    next: Option<Value>,
    found: Vec<Value>,
}

impl<'a> Group<'a> {
    fn new(view: &'a View) -> Result<Group<'a>> {
        let mut values = view.values()?;
        Ok(Group {
            next: values.next_value()?,
            values,
            found: Vec::new(),
        })
    }

    /// Finds the values for `wanted`, which must not decrease from call to call.
    fn find(&mut self, wanted: &Value) -> Result<()> {
        let order = |value: &Value| value.order(wanted);
        self.found.retain(|value| order(value) == Ordering::Equal);
        while let Some(next) = &self.next {
            match order(next) {
                Ordering::Greater => break,
                Ordering::Equal => self.found.extend(self.next.take()),
                Ordering::Less => {}
            }
            self.next = self.values.next_value()?;
        }
        Ok(())
    }

    /// Returns the guard of the new snapshot's counterpart of `value`, a value of the older
    /// snapshot.
    fn guard_of(&self, then: &View, value: &Value) -> Option<usize> {
        let (path, view) = (value.path(), self.values.view());
        let is_apart = stands_apart(then, value, &path);
        let same = |other: &&Value| stands_apart(view, other, &path) == is_apart;
        let mut found = self.found.iter();
        let other = match found.clone().find(same) {
            Some(other) => Some(other),
            None if is_apart => found.next(),
            None => None,
        };
        let (shard, ..) = view.stored_segment(other?.place.segment)?;
        Some(shard)
    }
}

/// True if a value lies beside the own row of its entry, behind the barrier for that entry.
fn stands_apart(view: &View, value: &Value, path: &[u8]) -> bool {
    let is_it =
        |step: &GuardStep| matches!(step, GuardStep::Barrier { path: at, .. } if at == path);
    let found = view.stored_segment(value.place.segment);
    found.is_some_and(|(_, shard, _)| shard.manifest.guard.iter().any(is_it))
}
