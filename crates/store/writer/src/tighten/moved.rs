//! Finds directories of an older snapshot that have moved to a place that not everybody reaches.
//!
//! The present guard of a path says nothing about a directory that has left that path. If the new
//! snapshot has the directory at another path, it is recognized by its device, its inode number and
//! its time of creation. Only directories that are new in a guarded shard are searched for: content
//! of segments that both snapshots share was there before.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use trawl_format::{SegmentId, Shard};
use trawl_model::column::ColumnSet;
use trawl_model::path;
use trawl_query::stored::Listings;
use trawl_query::{DirObject, View};

use super::now::Now;
use crate::error::Result;

/// Maximum number of directories searched for together.
const DIRECTORIES_MOST: usize = 256 * 1024;

/// For each path in the older snapshot, the guard of the directory's content at its present place.
pub(crate) type Moved = HashMap<Vec<u8>, usize>;

/// New directories of guarded shards: their paths and their guards.
type New = HashMap<DirObject, (Vec<u8>, usize)>;

/// True if guarded shards of the new snapshot have rows that `then` does not have.
pub(crate) fn may_have(then: &View, now: &Now) -> bool {
    let before = by_place(then);
    (0..now.view.shards().len()).any(|at| now.has_new_rows(at, &before))
}

/// Finds the directories of `then` that were moved.
pub(crate) fn find(then: &View, now: &mut Now) -> Result<Moved> {
    let view = Arc::clone(&now.view);
    let before = by_place(then);
    let (mut new, mut moved) = (New::new(), Moved::new());
    for at in 0..view.shards().len() {
        if !now.has_new_rows(at, &before) {
            continue;
        }
        let there = view.shards().get(at).map(Shard::components);
        let there = there.and_then(|there| before.get(there)).map(|(at, _)| *at);
        let guard = now.without_barriers(at);
        let mut beside = Beside::new(then, there)?;
        let mut listings = view.objects_in_shard(at)?;
        while listings.advance()? {
            let object = listings.object();
            if object.is_known() && !beside.has(listings.path(), &object)? {
                new.insert(object, (listings.path().to_vec(), guard));
            }
            if new.len() >= DIRECTORIES_MOST {
                look_for(&mut new, then, now, &mut moved)?;
            }
        }
    }
    look_for(&mut new, then, now, &mut moved)?;
    Ok(moved)
}

/// Finds the paths of these directories in the older snapshot.
fn look_for(new: &mut New, then: &View, now: &mut Now, moved: &mut Moved) -> Result<()> {
    let new = std::mem::take(new);
    if new.is_empty() {
        return Ok(());
    }
    let view = Arc::clone(&now.view);
    let mut listings = trawl_query::Listings::new(&view, ColumnSet::of(&[]));
    for segment in 0..then.stored_segments() {
        let mut found = Vec::new();
        let is_new = |object: &DirObject| new.contains_key(object);
        then.stored_objects(segment, is_new, |path, object, _| {
            found.push((path, object))
        })?;
        for (path, object) in found {
            let known = new.get(&object).filter(|(now, _)| *now != path);
            let Some(guard) = known.map(|(_, guard)| *guard) else {
                continue;
            };
            let place = listings.find(&path)?;
            let there = listings.outline(&place);
            if there.is_some_and(|there| object.has_number(there.dev, there.ino)) {
                continue;
            }
            let both = match moved.get(&path) {
                Some(known) => now.both(*known, guard),
                None => guard,
            };
            moved.insert(path, both);
        }
    }
    Ok(())
}

/// Shards of a view by directory names: the shard's number and its segments.
pub(crate) type ByPlace<'v> = HashMap<&'v [String], (usize, HashSet<SegmentId>)>;

fn by_place(view: &View) -> ByPlace<'_> {
    let shards = view.shards().iter().enumerate();
    let known = shards.map(|(at, shard)| {
        let segments = shard.manifest.segments.iter().map(|segment| segment.id);
        (shard.components(), (at, segments.collect()))
    });
    known.collect()
}

/// The directories of a shard of the older snapshot, walked alongside a sequence in path order.
struct Beside<'v> {
    listings: Option<Listings<'v>>,
    has_next: bool,
}

impl<'v> Beside<'v> {
    fn new(view: &'v View, shard: Option<usize>) -> Result<Beside<'v>> {
        let mut listings = match shard {
            Some(shard) => Some(view.objects_in_shard(shard)?),
            None => None,
        };
        let has_next = match &mut listings {
            Some(listings) => listings.advance()?,
            None => false,
        };
        Ok(Beside { listings, has_next })
    }

    /// True if this directory is at this path. Paths must not decrease from call to call.
    fn has(&mut self, path: &[u8], object: &DirObject) -> Result<bool> {
        while let Some(listings) = self.listings.as_mut().filter(|_| self.has_next) {
            match path::cmp(listings.path(), path) {
                Ordering::Less => self.has_next = listings.advance()?,
                Ordering::Equal => return Ok(listings.object() == *object),
                Ordering::Greater => break,
            }
        }
        Ok(false)
    }
}
