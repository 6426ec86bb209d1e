//! Removes old snapshots, files that no snapshot needs, and whole sources. Everything happens under
//! the source's lock.
//!
//! A snapshot that a reader has open stays, but only within [`IN_USE_SECS_MOST`], so that nobody
//! can keep a disk full by reading. A snapshot's description is removed first, so that readers that
//! are opening it notice. Files that readers have open stay readable until closed. Only names that
//! the format defines are ever removed.

use crate::clean::{
    Kept, kept_barriers, remove_leftovers, remove_matching, remove_overlays, remove_stale_items,
    remove_stale_lists, sweep,
};
use crate::guard_dirs::disguise;
use crate::live;
use crate::lock::SourceLock;
use crate::new_index::tidy;
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use trawl_format::error::{IndexError, Result};
use trawl_format::id::{SnapshotId, SourceId};
use trawl_format::index::{IndexDir, temporary_name};
use trawl_format::layout;
use trawl_format::live::goes_on_from;
use trawl_format::retention::Keeps;
use trawl_format::snapshot::lock_against_readers;
use trawl_format::source::{Source, is_current_lost, read_current, snapshot_ids};
use trawl_format::store::{Dir, if_there};
use trawl_format::watching::check_unwatched;
use trawl_model::Timestamp;

/// Limit, in seconds, for keeping a snapshot because somebody reads it: the next newer snapshot
/// must be less than this much older than the newest one.
pub const IN_USE_SECS_MOST: u64 = 24 * 3600;

/// Keeps snapshots by number and age; the current one is always kept. See [`trawl_format::retention`] for
/// more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Number of newest snapshots to keep.
    pub newest: usize,
    /// Also keep snapshots whose scan began at this time or later.
    pub since: Option<Timestamp>,
}

/// Result of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Snapshots that were removed.
    pub snapshots: Vec<SnapshotId>,
    /// Snapshots that stay for now because somebody reads them.
    pub in_use: Vec<SnapshotId>,
    /// Number of files removed.
    pub files: u64,
    /// Manifests that could not be read: nothing beside them was removed.
    pub damaged: Vec<PathBuf>,
}

impl Keeps for Retention {
    fn kept(&self, ids: &[SnapshotId]) -> BTreeSet<SnapshotId> {
        let since = self.since.map(|time| time.as_nanos());
        let is_young = |id: SnapshotId| since.is_some_and(|since| i128::from(id.0) >= since);
        let ranked = ids.iter().rev().enumerate();
        let kept = ranked.filter(|(rank, id)| *rank < self.newest || is_young(**id));
        kept.map(|(_, id)| *id).collect()
    }
}

/// Removes a source's old snapshots and all files that no other snapshot needs, including leftovers
/// of killed writers.
///
/// # Errors
/// [`IndexError::Busy`] if the source is being written.
pub fn collect(source: &Source, retention: impl Keeps) -> Result<Collected> {
    let lock = SourceLock::take(source.dir())?;
    let mut done = Collected::default();
    let current = source.current_id()?;
    if current.is_none() && (!lock.was_interrupted || is_current_lost(source.dir())?) {
        // Nothing was ever committed, or `current` is lost. In the latter case nothing that could
        // be recovered must be removed.
        return Ok(done);
    }
    match current {
        Some(current) => done = remove_old(source, current, current, &retention)?,
        None => done.files += remove_leftovers(source)?,
    }
    done.files += remove_matching(source.dir(), |name| {
        name.ends_with(layout::TEMPORARY_ENDING)
    })?;
    lock.clear()?;
    Ok(done)
}

/// Removes old snapshots and the files that no other snapshot needs. `newest` is treated as the
/// current snapshot; `current` is still kept if it differs. The caller holds the source's lock.
pub(crate) fn remove_old(
    source: &Source,
    newest: SnapshotId,
    current: SnapshotId,
    retention: &dyn Keeps,
) -> Result<Collected> {
    if newest == current && !goes_on_from(source.dir(), newest) {
        remove_overlays(source)?;
    }
    remove_old_snapshots(source, newest, current, retention)
}

/// Like [`remove_old`], but keeps the changes published beside snapshots that stay, since somebody
/// may still read them.
pub(crate) fn remove_old_snapshots(
    source: &Source,
    newest: SnapshotId,
    current: SnapshotId,
    retention: &dyn Keeps,
) -> Result<Collected> {
    let mut done = Collected::default();
    let mut ids = snapshot_ids(source.dir())?;
    ids.retain(|id| *id <= newest);
    let wanted = retention.kept(&ids);
    let snapshots = source.dir().open_dir(layout::SNAPSHOTS)?;
    let mut kept: HashSet<SnapshotId> = [newest, current].into();
    let mut newer = newest;
    for id in ids.into_iter().rev() {
        let age_ns = newest.0.saturating_sub(newer.0);
        let spare = age_ns / 1_000_000_000 < IN_USE_SECS_MOST;
        newer = id;
        if kept.contains(&id) || wanted.contains(&id) {
            kept.insert(id);
        } else if forget(&snapshots, id, spare)? {
            done.snapshots.push(id);
            done.files += 1;
        } else {
            done.in_use.push(id);
            kept.insert(id);
        }
    }
    done.files += remove_matching(&snapshots, |name| {
        name.ends_with(layout::TEMPORARY_ENDING)
            || layout::snapshot_name(name).is_some_and(|id| !kept.contains(&id))
    })?;
    snapshots.sync()?;
    done.files += remove_stale_items(source, BTreeSet::from([newest, current]))?;
    remove_unneeded(source, &kept, newest, &mut done)?;
    Ok(done)
}

/// Removes the files that none of the snapshots `kept` needs. No other descriptions exist any more:
/// a description must never outlive the files that it describes.
fn remove_unneeded(
    source: &Source,
    kept: &HashSet<SnapshotId>,
    newest: SnapshotId,
    done: &mut Collected,
) -> Result<()> {
    let editions = Kept::read(source, kept.iter().copied());
    remove_stale_lists(&source.private()?, &editions)?;
    let top = source.dir().open_dir(layout::DATA)?;
    let barriers = kept_barriers(source, kept.iter().copied())?;
    // Directories of barriers without a barrier are kept only for the newest snapshot: an older
    // one's would reveal directories that fewer users may see now.
    let without_barrier = kept_barriers(source, [newest])?;
    sweep(&top, &editions, &without_barrier, done)?;
    for components in &barriers {
        if let Some(dir) = if_there(top.open_below(components))? {
            disguise(&dir, newest.time())?;
        }
    }
    Ok(())
}

/// Removes the descriptions of these snapshots, except the current one's, even if somebody reads
/// them. [`collect`] removes their files. The caller holds the source's lock.
pub(crate) fn forget_snapshots(source: &Source, ids: &[SnapshotId]) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let current = source.current_id()?;
    let snapshots = source.dir().open_dir(layout::SNAPSHOTS)?;
    for id in ids.iter().filter(|id| Some(**id) != current) {
        if_there(snapshots.remove_file(&layout::snapshot_file(*id)))?;
    }
    snapshots.sync()
}

/// Removes a snapshot's description. Returns false if it stays because `spare` is set and somebody
/// reads the snapshot.
fn forget(snapshots: &Dir, id: SnapshotId, spare: bool) -> Result<bool> {
    // Held until the file is removed, so that no reader can open it in between.
    let lock = lock_against_readers(snapshots, id);
    if spare && matches!(lock, Ok(None)) {
        return Ok(false);
    }
    snapshots.remove_file(&layout::snapshot_file(id))?;
    Ok(true)
}

/// Removes a source that has never had a snapshot, such as one whose first scan failed; does
/// nothing to any other source.
///
/// # Errors
/// Like [`remove_source`].
pub fn remove_unused(index: &IndexDir, root: &[u8]) -> Result<()> {
    let is_unused = match index.source(root)? {
        Some(source) => source.current_id()?.is_none() && snapshot_ids(source.dir())?.is_empty(),
        // The source does not exist, or not even its description does.
        None => true,
    };
    match is_unused.then(|| remove_source(index, root)) {
        None | Some(Err(IndexError::NoSource { .. })) => Ok(()),
        Some(removed) => removed,
    }
}

/// Removes a source from its index with all its snapshots, or finishes an interrupted removal.
///
/// # Errors
/// [`IndexError::NoSource`], [`IndexError::Busy`], [`IndexError::Watched`]. Files that the format
/// does not define stay and end the removal with an error.
pub fn remove_source(index: &IndexDir, root: &[u8]) -> Result<()> {
    let id = SourceId::of_root(root).to_string();
    let (place, dir) = index.find_dir(root)?.ok_or_else(|| IndexError::NoSource {
        path: index.path().to_owned(),
        source_name: trawl_model::escape::escape(trawl_model::path::display(root)).into_owned(),
    })?;
    check_unwatched(&dir, root)?;
    let lock = SourceLock::take(&dir)?;
    let time = if_there(read_current(&dir))?.flatten();
    // Without `current` the source has no snapshot, whatever else remains. The temporary name,
    // which is removed last, shows that `current` was not lost by accident.
    if_there(dir.rename(layout::CURRENT_FILE, &temporary_name(layout::CURRENT_FILE)))?;
    dir.sync()?;
    if let Some(snapshots) = if_there(dir.open_dir(layout::SNAPSHOTS))? {
        remove_matching(&snapshots, |name| {
            layout::snapshot_name(name).is_some() || name.ends_with(layout::TEMPORARY_ENDING)
        })?;
    }
    if let Some(private) = if_there(dir.open_private())? {
        remove_matching(&private, |name| {
            layout::private_name(name).is_some()
                || layout::items_name(name).is_some()
                || name == layout::WATCH_FILE
                || layout::segment_of(name).is_some()
                || name.ends_with(layout::TEMPORARY_ENDING)
        })?;
    }
    remove_watch_files(&dir)?;
    crate::text_store::remove_all(&dir)?;
    if let Some(top) = if_there(dir.open_dir(layout::DATA))? {
        sweep(
            &top,
            &Kept::default(),
            &HashSet::new(),
            &mut Collected::default(),
        )?;
    }
    remove_matching(&dir, |name| name.ends_with(layout::TEMPORARY_ENDING))?;
    if_there(dir.remove_file(layout::SOURCE_FILE))?;
    if let Some(private) = if_there(dir.open_dir(layout::PRIVATE))? {
        if_there(private.remove_dir(layout::DATA))?;
    }
    for name in [layout::SNAPSHOTS, layout::PRIVATE, layout::DATA] {
        if_there(dir.remove_dir(name))?;
    }
    if_there(dir.remove_file(layout::LOCK_FILE))?;
    let around = index.sources_dir().open_below(&place)?;
    around.remove_dir(&id)?;
    drop(lock);
    around.sync()?;
    tidy(index, &place, time.unwrap_or(SnapshotId(0)).time())
}

/// Removes the files of daemons from a source that is being removed.
fn remove_watch_files(dir: &Dir) -> Result<()> {
    live::forget(dir)?;
    if let Some(live) = if_there(dir.open_dir(layout::LIVE))? {
        for name in live.list()? {
            let is_ours = [layout::SOCKET_FILE, layout::MANAGER_FILE].contains(&&name[..]);
            if is_ours || name.ends_with(layout::TEMPORARY_ENDING) {
                if_there(live.remove_file(&name))?;
            }
        }
        if_there(dir.remove_dir(layout::LIVE))?;
    }
    Ok(())
}
