//! Removes files that no snapshot needs, such as leftovers of writers that did not commit. The
//! caller holds the source's lock.

use crate::bundle::Bundle;
use crate::gc::Collected;
use crate::live;
use std::collections::{HashMap, HashSet};
use trawl_format::error::Result;
use trawl_format::guard_walk;
use trawl_format::id::{Edition, SegmentId, SnapshotId};
use trawl_format::layout::{self, DataName, GuardName};
use trawl_format::live::Overlay;
use trawl_format::manifest::Manifest;
use trawl_format::snapshot::{ShardList, SnapshotInfo};
use trawl_format::source::{Source, snapshot_ids};
use trawl_format::store::{Dir, if_there};

/// Removes the files of a snapshot that was not committed. `shards` are the shards that its writer
/// may have written to.
pub(crate) fn remove_snapshot<'a>(
    source: &Source,
    id: SnapshotId,
    shards: impl Iterator<Item = &'a [String]>,
) -> Result<()> {
    let snapshots = source.dir().open_dir(layout::SNAPSHOTS)?;
    if_there(snapshots.remove_file(&layout::snapshot_file(id)))?;
    let private = source.private()?;
    for name in [
        layout::shard_list_file(id.into()),
        layout::pack_file(id.into()),
        layout::items_file(id),
    ] {
        if_there(private.remove_file(&name))?;
    }
    remove_matching(&private, |name| layout::snapshot_of(name) == Some(id))?;
    let top = source.dir().open_dir(layout::DATA)?;
    for components in shards {
        if let Some(data) = if_there(top.open_below(components))? {
            remove_matching(&data, |name| layout::snapshot_of(name) == Some(id))?;
            remove_empty(&top, components);
        }
    }
    remove_temporary(source.dir())
}

/// Removes everything newer than the current snapshot, which a killed writer left. Returns the
/// number of files removed.
pub(crate) fn remove_leftovers(source: &Source) -> Result<u64> {
    remove_overlays(source)?;
    let current = source.current_id()?;
    let is_newer = |id: SnapshotId| current.is_none_or(|current| id > current);
    let snapshots = source.dir().open_dir(layout::SNAPSHOTS)?;
    let mut removed = remove_matching(&snapshots, |name| {
        layout::snapshot_name(name).is_some_and(is_newer)
            || name.ends_with(layout::TEMPORARY_ENDING)
    })?;
    removed += remove_matching(&source.private()?, |name| {
        layout::private_name(name).is_some_and(|edition| is_newer(edition.id))
            || layout::items_name(name).is_some_and(is_newer)
            || layout::snapshot_of(name).is_some_and(is_newer)
            || name.ends_with(layout::TEMPORARY_ENDING)
    })?;
    let top = source.dir().open_dir(layout::DATA)?;
    guard_walk::walk(&top, &mut |_, data| {
        removed += remove_matching(data, |name| {
            layout::snapshot_of(name).is_some_and(is_newer)
                || layout::data_name(name) == DataName::Temporary
        })?;
        Ok(())
    })?;
    let ids = snapshot_ids(source.dir())?;
    let kept = Kept::read(source, ids.iter().copied());
    removed += remove_stale_lists(&source.private()?, &kept)?;
    removed += remove_stale_items(source, current)?;
    let mut swept = Collected::default();
    sweep(&top, &kept, &kept_barriers(source, ids)?, &mut swept)?;
    removed += swept.files;
    remove_temporary(source.dir())?;
    Ok(removed)
}

/// Makes readers ignore the changes published beside snapshots, then removes their overlays. Their
/// segments stay.
pub(crate) fn remove_overlays(source: &Source) -> Result<()> {
    live::forget(source.dir())?;
    remove_matching(&source.private()?, |name| {
        layout::overlays_name(name).is_some()
    })?;
    let top = source.dir().open_dir(layout::DATA)?;
    guard_walk::walk(&top, &mut |_, data| {
        remove_matching(data, |name| layout::overlay_name(name).is_some()).map(drop)
    })
    .map(drop)
}

/// Removes the files in `dir` whose names match and returns their number.
pub(crate) fn remove_matching(dir: &Dir, matches: impl Fn(&str) -> bool) -> Result<u64> {
    let mut removed = 0;
    for name in dir.list()?.iter().filter(|name| matches(name)) {
        if if_there(dir.remove_file(name))?.is_some() {
            removed += 1;
        }
    }
    Ok(removed)
}

fn remove_temporary(dir: &Dir) -> Result<()> {
    remove_matching(dir, |name| name.ends_with(layout::TEMPORARY_ENDING)).map(drop)
}

/// The snapshots whose files stay.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Edition of each snapshot; `None` if its description cannot be read.
    editions: HashMap<SnapshotId, Option<Edition>>,
}

impl Kept {
    /// Reads the editions of these snapshots from their descriptions.
    pub(crate) fn read(source: &Source, ids: impl IntoIterator<Item = SnapshotId>) -> Kept {
        let edition = |id| {
            let info = SnapshotInfo::read(source.dir(), id).ok();
            (id, info.map(|info| info.edition()))
        };
        Kept {
            editions: ids.into_iter().map(edition).collect(),
        }
    }

    pub(crate) fn has(&self, edition: Edition) -> bool {
        match self.editions.get(&edition.id) {
            Some(Some(kept)) => *kept == edition,
            Some(None) => true,
            None => false,
        }
    }
}

/// Removes the lists of shards and the packs of other editions than those kept, and then the
/// segments of bundles that no pack names. Returns the number of files removed.
pub(crate) fn remove_stale_lists(private: &Dir, kept: &Kept) -> Result<u64> {
    let removed = remove_matching(private, |name| {
        layout::private_name(name).is_some_and(|edition| !kept.has(edition))
    })?;
    let needed = Bundle::all_named(private)?;
    let stale = remove_matching(private, |name| {
        layout::segment_of(name).is_some_and(|id| !needed.contains(&id))
    })?;
    Ok(removed + stale)
}

/// Removes items files that none of the snapshots `ids` uses. One of these is current or will be;
/// only its items are used. Returns the number of files removed.
pub(crate) fn remove_stale_items(
    source: &Source,
    ids: impl IntoIterator<Item = SnapshotId>,
) -> Result<u64> {
    let mut needed: HashSet<SnapshotId> = HashSet::new();
    for id in ids {
        match ShardList::of(source.dir(), id) {
            Ok(Some(list)) => needed.extend(list.items),
            // The items that it needs are unknown, so everything stays.
            _ => return Ok(0),
        }
    }
    remove_matching(&source.private()?, |name| {
        layout::items_name(name).is_some_and(|id| !needed.contains(&id))
    })
}

/// Removes all files below `top` that are not kept, and then all empty directories except the
/// directories of barriers in `barriers`.
pub(crate) fn sweep(
    top: &Dir,
    kept: &Kept,
    barriers: &HashSet<Vec<String>>,
    done: &mut Collected,
) -> Result<()> {
    guard_walk::walk(top, &mut |_, data| sweep_data(data, kept, done))?;
    prune(top, barriers)
}

/// Removes all files that are not kept from one `data` directory.
pub(crate) fn sweep_data(data: &Dir, kept: &Kept, done: &mut Collected) -> Result<()> {
    let mut needed: HashSet<SegmentId> = HashSet::new();
    for name in data.list()? {
        let path = data.join(&name);
        let segments = match layout::data_name(&name) {
            DataName::Manifest(edition) if kept.has(edition) => {
                let manifest = Manifest::from_bytes(&data.read(&name)?, &path, edition.id);
                manifest.map(|manifest| manifest.segments)
            }
            DataName::Overlay(edition, _) if kept.has(edition) => {
                let overlay = Overlay::from_bytes(&data.read(&name)?, &path, edition);
                overlay.map(|overlay| overlay.segments)
            }
            _ => continue,
        };
        match segments {
            Ok(segments) => needed.extend(segments.iter().map(|segment| segment.id)),
            Err(_) => {
                // The segments that it needs are unknown, so everything stays.
                done.damaged.push(path);
                return Ok(());
            }
        }
    }
    done.files += remove_matching(data, |name| match layout::data_name(name) {
        DataName::Manifest(edition) => !kept.has(edition),
        DataName::Segment(id, _) | DataName::Names(id) => !needed.contains(&id),
        DataName::Overlay(edition, _) => !kept.has(edition),
        DataName::Temporary => true,
        DataName::Foreign => false,
    })?;
    Ok(())
}

/// Returns the directories of barriers of these snapshots. Some contain no barrier, so that their
/// existence reveals nothing.
pub(crate) fn kept_barriers(
    source: &Source,
    ids: impl IntoIterator<Item = SnapshotId>,
) -> Result<HashSet<Vec<String>>> {
    let mut kept = HashSet::new();
    for id in ids {
        if let Some(list) = if_there(ShardList::of(source.dir(), id))?.flatten() {
            kept.extend(list.barriers);
        }
    }
    Ok(kept)
}

/// Removes every empty guard directory below `top`, except the directories of barriers in `kept`. A
/// directory of barriers counts as empty if it contains only disguising entries.
pub(crate) fn prune(top: &Dir, kept: &HashSet<Vec<String>>) -> Result<()> {
    let mut found: Vec<Vec<String>> = Vec::new();
    guard_walk::walk(top, &mut |components, _| {
        found.push(components.to_vec());
        Ok(())
    })?;
    // Parents come before their children in `found`.
    for components in found.iter().rev() {
        // Removing its content may have removed it as well.
        let Some(dir) = if_there(top.open_below(components))? else {
            continue;
        };
        for name in dir.list()? {
            let below = [&components[..], std::slice::from_ref(&name)].concat();
            match layout::guard_name(&name) {
                GuardName::Barriers if !kept.contains(&below) => remove_barriers(top, &below)?,
                // A directory without `data`, left by an interrupted removal.
                GuardName::Predicate => drop(dir.remove_dir(&name)),
                _ => {}
            }
        }
        remove_empty(top, components);
    }
    Ok(())
}

/// Removes a directory of barriers if it contains no barrier.
fn remove_barriers(top: &Dir, components: &[String]) -> Result<()> {
    let dir = top.open_below(components)?;
    let names = dir.list()?;
    for name in &names {
        if !dir.open_dir(name)?.list()?.is_empty() {
            return Ok(());
        }
    }
    for name in &names {
        dir.remove_dir(name)?;
    }
    remove_empty(top, components);
    Ok(())
}

/// Removes empty directories from the innermost outwards. Stops without an error at the first that
/// is not empty or cannot be removed.
pub(crate) fn remove_empty(top: &Dir, components: &[String]) {
    let mut components = components;
    while let Some((name, above)) = components.split_last() {
        let removed = top.open_below(above).and_then(|dir| dir.remove_dir(name));
        if removed.is_err() {
            return;
        }
        components = above;
    }
}
