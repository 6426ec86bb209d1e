//! Removing what no snapshot needs: leftovers of writers that did not
//! commit. Called with the source's lock held.

use crate::error::Result;
use crate::id::SnapshotId;
use crate::layout::{self, DataName};
use crate::snapshot::{for_each_data_dir, for_each_guard_dir};
use crate::source::Source;
use crate::store::{Dir, if_there};

/// Removes the files of a snapshot that was not committed. `shards` are the
/// places that its writer may have written to.
pub(crate) fn remove_snapshot<'a>(
    source: &Source,
    id: SnapshotId,
    shards: impl Iterator<Item = &'a [String]>,
) -> Result<()> {
    let snapshots = source.dir().open_dir(layout::SNAPSHOTS)?;
    for name in [layout::snapshot_file(id), layout::shard_list_file(id)] {
        if_there(snapshots.remove_file(&name))?;
    }
    let guards = source.dir().open_dir(layout::GUARDS)?;
    for components in shards {
        if let Some(data) = if_there(guards.open_below(components))? {
            remove_matching(&data, |name| layout::snapshot_of(name) == Some(id))?;
            remove_empty(&guards, components);
        }
    }
    remove_temporary(source.dir())
}

/// Removes everything newer than the current snapshot: what a killed writer
/// left.
pub(crate) fn remove_leftovers(source: &Source) -> Result<u64> {
    let current = source.current_id()?;
    let is_newer = |id: SnapshotId| current.is_none_or(|current| id > current);
    let snapshots = source.dir().open_dir(layout::SNAPSHOTS)?;
    let mut removed = remove_matching(&snapshots, |name| {
        let id = layout::snapshot_name(name).or(layout::shard_list_name(name));
        id.is_some_and(is_newer) || name.ends_with(layout::TEMPORARY_ENDING)
    })?;
    let guards = source.dir().open_dir(layout::GUARDS)?;
    for_each_data_dir(&guards, &mut |_, data| {
        removed += remove_matching(data, |name| {
            layout::snapshot_of(name).is_some_and(is_newer)
                || layout::data_name(name) == DataName::Temporary
        })?;
        Ok(())
    })?;
    prune(&guards)?;
    remove_temporary(source.dir())?;
    Ok(removed)
}

/// Removes the files in `dir` whose names match; returns their number.
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

/// Removes every empty directory below `guards`.
pub(crate) fn prune(guards: &Dir) -> Result<()> {
    let mut found: Vec<Vec<String>> = Vec::new();
    for_each_guard_dir(guards, &mut |components, _| {
        found.push(components.to_vec());
        Ok(())
    })?;
    // A directory comes before what it holds.
    for components in found.iter().rev() {
        if let Some((name, above)) = components.split_last() {
            // That one is not empty is no news.
            let _ = guards
                .open_below(above)
                .and_then(|dir| dir.remove_dir(name));
        }
    }
    Ok(())
}

/// Removes directories that are empty, from the innermost outwards. That
/// one is not empty, or cannot be removed, only ends the attempt.
pub(crate) fn remove_empty(guards: &Dir, components: &[String]) {
    let mut components = components;
    while let Some((name, above)) = components.split_last() {
        let removed = guards
            .open_below(above)
            .and_then(|dir| dir.remove_dir(name));
        if removed.is_err() {
            return;
        }
        components = above;
    }
}
