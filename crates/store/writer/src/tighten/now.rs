//! Determines the guard of a path in the new snapshot.
//!
//! A listed directory has its shard's guard. A directory that was not listed has the guard of its
//! nearest listed ancestor, and its own permissions in addition if it still exists (it could not be
//! read or was excluded).

use crate::writer::Prepared;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use trawl_model::guard::{Bit, Element, Guard, Predicate};
use trawl_model::rows::Row;
use trawl_model::{Acl, DirAccess, FileType, path};
use trawl_query::stored::Listings;
use trawl_query::{Located, View};

use super::moved::ByPlace;
use super::view_of;
use crate::error::Result;

/// The new snapshot.
pub(crate) struct Now {
    pub(crate) view: Arc<View>,
    /// Guard of the source as a whole.
    above: Guard,
    /// Guards from the root of the file system downwards. The shards' guards come first, in the
    /// order of the shards.
    guards: Vec<Arc<Guard>>,
    ids: HashMap<Arc<Guard>, usize>,
    /// For each path of a directory behind a barrier, the shard whose guard ends with that barrier.
    barriers: HashMap<Vec<u8>, usize>,
    /// Directories that contain those.
    hiding: HashSet<Vec<u8>>,
    /// False if all existing directories were listed.
    has_unlisted: bool,
}

impl Now {
    pub(crate) fn of(prepared: &Prepared) -> Result<Now> {
        let snapshot = prepared.snapshot()?;
        let totals = snapshot.totals();
        let mut now = Now {
            above: prepared.above().clone(),
            guards: Vec::new(),
            ids: HashMap::new(),
            barriers: HashMap::new(),
            hiding: HashSet::new(),
            has_unlisted: totals.dirs != totals.listed,
            view: view_of(snapshot),
        };
        let view = Arc::clone(&now.view);
        for (at, shard) in view.shards().iter().enumerate() {
            let below = shard.manifest.guard()?;
            now.push(Guard([&now.above.0[..], &below.0].concat()));
            if let Some(barrier) = shard.barrier() {
                now.barriers.insert(barrier.to_vec(), at);
                let dir = path::split(barrier).map(|(dir, _)| dir.to_vec());
                now.hiding.extend(dir);
            }
        }
        Ok(now)
    }

    fn push(&mut self, guard: Guard) -> usize {
        let guard = Arc::new(guard);
        self.guards.push(Arc::clone(&guard));
        let at = self.guards.len() - 1;
        *self.ids.entry(guard).or_insert(at)
    }

    fn intern(&mut self, guard: Guard) -> usize {
        match self.ids.get(&guard) {
            Some(known) => *known,
            None => self.push(guard),
        }
    }

    /// Returns the guard of the source as a whole, which is also that of its root's own row.
    pub(crate) fn above(&self) -> &Guard {
        &self.above
    }

    pub(crate) fn root_guard(&mut self) -> usize {
        self.intern(self.above.clone())
    }

    pub(crate) fn guard(&self, at: usize) -> Arc<Guard> {
        self.guards.get(at).cloned().unwrap_or_default()
    }

    /// Returns the shard with this guard, if there is one.
    pub(crate) fn shard_behind(&self, guard: &Guard) -> Option<usize> {
        let at = self.ids.get(guard).copied()?;
        (at < self.view.shards().len()).then_some(at)
    }

    /// Returns the guard that ends with the barrier for `path`, if there is one.
    pub(crate) fn barrier(&self, path: &[u8]) -> Option<usize> {
        self.barriers.get(path).copied()
    }

    /// True if directories in `dir` are behind barriers.
    pub(crate) fn has_barriers_in(&self, dir: &[u8]) -> bool {
        self.hiding.contains(dir)
    }

    /// Returns `guard` restricted to the superuser.
    fn for_superuser(&mut self, guard: usize) -> usize {
        self.with(guard, [Predicate::superuser_only()])
    }

    fn with(&mut self, guard: usize, more: impl IntoIterator<Item = Predicate>) -> usize {
        let mut guard = (*self.guard(guard)).clone();
        for predicate in more {
            let element = Element::Predicate(predicate);
            let is_implied = |before: &Element| before.implies(&element);
            let trivial = matches!(&element, Element::Predicate(p) if p.is_trivial());
            if !trivial && !guard.0.iter().any(is_implied) {
                guard.0.push(element);
            }
        }
        self.intern(guard)
    }

    /// Returns the conjunction of two guards, with barriers replaced by their predicates.
    pub(crate) fn both(&mut self, one: usize, other: usize) -> usize {
        let other = self.guard(other);
        self.with(one, other.0.iter().map(who_lists))
    }

    /// Returns the guard of a shard with barriers replaced by their predicates: only users who may
    /// list pass. Rows from elsewhere have no name there.
    pub(crate) fn without_barriers(&mut self, shard: usize) -> usize {
        let around = self.root_guard();
        self.both(around, shard)
    }

    /// True if a shard is guarded and has rows that the shard in its place did not have `before`.
    pub(crate) fn has_new_rows(&self, shard: usize, before: &ByPlace<'_>) -> bool {
        let Some(shard) = self.view.shards().get(shard) else {
            return false;
        };
        let known = before.get(shard.components()).map(|(_, segments)| segments);
        let is_new = |id| known.is_none_or(|known| !known.contains(&id));
        let mut segments = shard.manifest.segments.iter();
        !shard.manifest.guard.is_empty() && segments.any(|segment| is_new(segment.id))
    }

    /// Returns the type and permissions of the entry at `path`, if it exists.
    fn access(&self, path: &[u8]) -> Result<Option<(FileType, DirAccess)>> {
        let Located::Found(start) = self.view.locate(path)? else {
            return Ok(None);
        };
        let row = Row {
            batch: &start.row,
            at: 0,
            dir: b"",
        };
        let access = DirAccess {
            mode: row.mode(),
            uid: row.uid(),
            gid: row.gid(),
            acl: Acl::parse(row.acl()),
        };
        Ok(Some((row.file_type(), access)))
    }

    /// Returns the guard `listing` with read permission on the entry at `path` added; for the
    /// superuser alone if the entry no longer exists.
    pub(crate) fn reading(&mut self, listing: usize, path: &[u8]) -> Result<usize> {
        Ok(match self.access(path)? {
            Some((_, access)) => self.with(listing, [Predicate::of(&access, Bit::Read)]),
            None => self.for_superuser(listing),
        })
    }
}

/// Returns the predicate of users whom an element lets through without knowing a name.
fn who_lists(element: &Element) -> Predicate {
    match element {
        Element::Predicate(who) => who.clone(),
        Element::Barrier { list, .. } => list.clone(),
    }
}

/// The listed directories of the new snapshot, walked alongside a sequence of paths in path order.
pub(crate) struct Beside<'a> {
    view: &'a View,
    listings: Listings<'a>,
    has_next: bool,
    /// The last listed directory that was passed.
    path: Vec<u8>,
    /// The listed ones among that directory and the directories above it: length of the path, and
    /// guard.
    stack: Vec<(usize, usize)>,
    /// The last directory that may exist but is not listed, and its guard.
    unlisted: Option<(Vec<u8>, usize)>,
}

impl<'a> Beside<'a> {
    pub(crate) fn new(view: &'a View) -> Result<Beside<'a>> {
        let mut listings = view.listings()?;
        let has_next = listings.advance()?;
        Ok(Beside {
            view,
            listings,
            has_next,
            path: Vec::new(),
            stack: Vec::new(),
            unlisted: None,
        })
    }

    /// Returns the guard of entries in `dir`. Directories must not decrease from call to call.
    pub(crate) fn guard_in(&mut self, now: &mut Now, dir: &[u8]) -> Result<usize> {
        while self.has_next {
            match path::cmp(self.listings.path(), dir) {
                Ordering::Greater => break,
                _ => self.pass()?,
            }
        }
        self.leave(dir);
        match self.stack.last().copied() {
            None => {
                let around = now.root_guard();
                Ok(now.for_superuser(around))
            }
            Some((end, guard)) if end == dir.len() => Ok(guard),
            Some((end, guard)) if now.has_unlisted => self.unlisted_in(now, dir, end, guard),
            Some((_, guard)) => Ok(guard),
        }
    }

    /// Advances past the next listed directory.
    fn pass(&mut self) -> Result<()> {
        let next = self.listings.path();
        while let Some((end, _)) = self.stack.last() {
            if path::is_within(next, &self.path[..*end]) {
                break;
            }
            self.stack.pop();
        }
        self.path.clear();
        self.path.extend_from_slice(next);
        let segment = self.listings.place().segment;
        let shard = self.view.stored_segment(segment).map(|found| found.0);
        if self
            .stack
            .last()
            .is_none_or(|(end, _)| *end != self.path.len())
        {
            self.stack
                .push((self.path.len(), shard.unwrap_or_default()));
        }
        self.has_next = self.listings.advance()?;
        Ok(())
    }

    /// Removes directories from the stack that do not contain `dir`.
    fn leave(&mut self, dir: &[u8]) {
        while let Some((end, _)) = self.stack.last() {
            if path::is_within(dir, &self.path[..*end]) {
                return;
            }
            self.stack.pop();
        }
    }

    /// Returns the guard in `dir` if only its ancestor of length `listed` was listed.
    fn unlisted_in(
        &mut self,
        now: &mut Now,
        dir: &[u8],
        listed: usize,
        guard: usize,
    ) -> Result<usize> {
        let rest = dir.get(listed + 1..).unwrap_or_default();
        let name = rest.iter().position(|byte| *byte == b'/');
        let child = &dir[..name.map_or(dir.len(), |at| listed + 1 + at)];
        if let Some((known, guard)) = &self.unlisted
            && known == child
        {
            return Ok(*guard);
        }
        let guard = match now.access(child)? {
            Some((FileType::Directory, access)) => {
                let bits = [Bit::Search, Bit::Read].map(|bit| Predicate::of(&access, bit));
                now.with(guard, bits)
            }
            _ => guard,
        };
        self.unlisted = Some((child.to_vec(), guard));
        Ok(guard)
    }
}
