//! A source at one time: the shards that a snapshot consists of.
//!
//! Readers find shards by walking the guard directories and opening the
//! snapshot's manifest where there is one. A guard directory that may not be
//! opened is not part of what this reader sees.
//!
//! An open snapshot is pinned: the reader holds a shared flock(2) on its
//! description, and gc leaves alone what is pinned. The kernel releases the
//! lock when the reader ends, however it ends.

use crate::error::{IndexError, Result};
use crate::id::{SegmentId, SnapshotId};
use crate::layout::{self, GuardName};
use crate::manifest::{FileRef, Manifest, SegmentInfo, Totals, check_format};
use crate::schema::Table;
use crate::store::{Dir, if_there};
use crate::{sealed, text};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trawl_model::Timestamp;

/// When and how a snapshot was made; nothing that permissions hide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotInfo {
    /// The format of the snapshot.
    pub format: u32,
    /// Its id.
    pub id: SnapshotId,
    /// The source's root path.
    #[serde(with = "text")]
    pub root: Vec<u8>,
    /// When the scan began: every change that was complete by then is in.
    #[serde(with = "time")]
    pub started: Timestamp,
    /// When the scan ended.
    #[serde(with = "time")]
    pub finished: Timestamp,
    /// The trawl version that wrote it.
    pub version: String,
    /// The options of the scan, by name.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

/// Where a snapshot's shards lie. Readable by the index's owner alone, since
/// it tells which guards there are; whoever may read it knows when a shard
/// is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShardList {
    pub(crate) format: u32,
    pub(crate) snapshot: SnapshotId,
    /// Directory names from `guards/` to each shard's `data`.
    pub(crate) shards: Vec<Vec<String>>,
}

/// One shard of a snapshot: the rows behind one guard.
#[derive(Clone, Debug)]
pub struct Shard {
    guards: Arc<Dir>,
    /// Keeps gc away from the files while anyone may still open them.
    _pin: Arc<Option<File>>,
    components: Vec<String>,
    /// What it holds.
    pub manifest: Manifest,
}

/// A source at one time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When and how it was made.
    pub info: SnapshotInfo,
    /// Its shards, those whose guards this process may pass.
    pub shards: Vec<Shard>,
    /// False if every guard directory could be entered and listed: then this
    /// reader sees everything.
    pub is_partial: bool,
}

impl SnapshotInfo {
    pub(crate) fn from_bytes(bytes: &[u8], path: &Path, id: SnapshotId) -> Result<SnapshotInfo> {
        let info: SnapshotInfo = sealed::unseal_json(bytes, path)?;
        check_format(info.format, path)?;
        if info.id != id {
            let problem = format!("it describes snapshot {}", info.id);
            return Err(IndexError::damaged(path, problem));
        }
        Ok(info)
    }

    pub(crate) fn read(source: &Dir, id: SnapshotId) -> Result<SnapshotInfo> {
        let snapshots = source.open_dir(layout::SNAPSHOTS)?;
        let name = layout::snapshot_file(id);
        let bytes = if_there(snapshots.read(&name))?.ok_or_else(|| no_snapshot(source, id))?;
        SnapshotInfo::from_bytes(&bytes, &snapshots.join(&name), id)
    }
}

impl ShardList {
    pub(crate) fn from_bytes(bytes: &[u8], path: &Path, id: SnapshotId) -> Result<ShardList> {
        let list: ShardList = sealed::unseal_json(bytes, path)?;
        check_format(list.format, path)?;
        if list.snapshot != id {
            let problem = format!("it lists snapshot {}", list.snapshot);
            return Err(IndexError::damaged(path, problem));
        }
        Ok(list)
    }

    /// The list, if this process may read it.
    fn read(source: &Dir, id: SnapshotId) -> Result<Option<ShardList>> {
        let snapshots = source.open_dir(layout::SNAPSHOTS)?;
        let name = layout::shard_list_file(id);
        match snapshots.read(&name) {
            Ok(bytes) => ShardList::from_bytes(&bytes, &snapshots.join(&name), id).map(Some),
            Err(error) if error.is_denied() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Refuses a snapshot of which a shard is missing.
    fn check(&self, source: &Dir, shards: &[Shard]) -> Result<()> {
        let found: HashSet<&[String]> = shards.iter().map(|s| &s.components[..]).collect();
        let missing = self.shards.iter().find(|c| !found.contains(&c[..]));
        match missing {
            None => Ok(()),
            Some(components) => {
                let dir = source.join(layout::GUARDS);
                let dir = dir.join(layout::display_path(components));
                let path = dir.join(layout::manifest_file(self.snapshot));
                Err(IndexError::damaged(&path, "it is missing"))
            }
        }
    }
}

impl Snapshot {
    /// Reads a snapshot's description and manifests.
    ///
    /// gc removes a snapshot's description before anything else of it, so
    /// one that is there before and after the walk was whole in between; and
    /// gc removes none that is pinned, so it stays so while the result lives.
    pub(crate) fn open(source: &Dir, root: &[u8], id: SnapshotId) -> Result<Snapshot> {
        let pin = Arc::new(pin(source, id)?);
        let info = SnapshotInfo::read(source, id)?;
        let list = ShardList::read(source, id);
        let walked = Snapshot::read_shards(source, root, id, &pin);
        SnapshotInfo::read(source, id)?;
        let shards = walked?;
        if let Some(list) = list? {
            list.check(source, &shards)?;
        }
        if info.root != root || shards.is_empty() {
            let path = source
                .join(layout::SNAPSHOTS)
                .join(layout::snapshot_file(id));
            let problem = match shards.is_empty() {
                true => "none of its shards is there or may be opened",
                false => "it is of another source",
            };
            return Err(IndexError::damaged(&path, problem));
        }
        Ok(Snapshot {
            info,
            shards,
            is_partial: false,
        })
    }

    fn read_shards(
        source: &Dir,
        root: &[u8],
        id: SnapshotId,
        pin: &Arc<Option<File>>,
    ) -> Result<Vec<Shard>> {
        let guards = Arc::new(source.open_dir(layout::GUARDS)?);
        let name = layout::manifest_file(id);
        let mut shards = Vec::new();
        for_each_data_dir(&guards, &mut |components, data| {
            if let Some(bytes) = if_there(data.read(&name))? {
                let path = data.join(&name);
                let manifest = Manifest::from_bytes(&bytes, &path, id)?;
                if manifest.root != root || layout::data_components(&manifest.guard) != components {
                    return Err(IndexError::damaged(&path, "it belongs elsewhere"));
                }
                shards.push(Shard {
                    guards: Arc::clone(&guards),
                    _pin: Arc::clone(pin),
                    components: components.to_vec(),
                    manifest,
                });
            }
            Ok(())
        })?;
        Ok(shards)
    }

    /// The shards behind name barriers on the way to `asked` (an absolute
    /// path) that a listing did not find, because this process may pass a
    /// barrier directory but not list it. Empty if there are none.
    pub fn behind(&self, _asked: &[u8]) -> Result<Vec<Shard>> {
        Ok(Vec::new())
    }

    /// Sums over the shards that this process may read.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for shard in &self.shards {
            totals.add(&shard.manifest.totals);
        }
        totals
    }
}

impl Shard {
    /// Opens one of a segment's files. The caller checks what it reads
    /// against the [`FileRef`].
    ///
    /// # Errors
    /// [`IndexError::is_missing`] if gc removed the file meanwhile: open the
    /// source's current snapshot again.
    pub fn open_file(&self, segment: &SegmentInfo, table: Table) -> Result<File> {
        let name = layout::segment_file(segment.id, table);
        self.guards.open_below(&self.components)?.open_file(&name)
    }

    /// Where a segment's file lies, for messages.
    pub fn file_path(&self, segment: SegmentId, table: Table) -> PathBuf {
        self.dir_path().join(layout::segment_file(segment, table))
    }

    /// The shard's directory, for messages: its path may be longer than
    /// system calls take.
    pub fn dir_path(&self) -> PathBuf {
        let below = layout::display_path(&self.components);
        self.guards.path().join(below)
    }

    /// The path of the barrier that is the last element of the shard's guard,
    /// if it is one.
    pub fn barrier(&self) -> Option<&[u8]> {
        match self.manifest.guard.last() {
            Some(crate::manifest::GuardStep::Barrier { path, .. }) => Some(path),
            _ => None,
        }
    }

    /// Every file of the shard.
    pub fn files(&self) -> impl Iterator<Item = (&SegmentInfo, Table, &FileRef)> {
        self.manifest.segments.iter().flat_map(|segment| {
            let files = segment.files.iter();
            files.map(move |(table, file)| (segment, *table, file))
        })
    }
}

fn no_snapshot(source: &Dir, id: SnapshotId) -> IndexError {
    IndexError::NoSnapshot {
        path: source.path().to_owned(),
        snapshot: id,
    }
}

/// Takes a reader's lock on a snapshot's description, without waiting;
/// `None` where the file system has no such locks.
///
/// # Errors
/// [`IndexError::NoSnapshot`] if there is none or gc is removing it.
fn pin(source: &Dir, id: SnapshotId) -> Result<Option<File>> {
    let snapshots = source.open_dir(layout::SNAPSHOTS)?;
    let file = if_there(snapshots.open_file(&layout::snapshot_file(id)))?;
    let file = file.ok_or_else(|| no_snapshot(source, id))?;
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Err(no_snapshot(source, id)),
        Err(_) => Ok(None),
    }
}

/// Takes gc's lock on a snapshot's description, without waiting: `None` if a
/// reader holds it. Where the file system has no such locks nobody has one.
pub(crate) fn lock_against_readers(snapshots: &Dir, id: SnapshotId) -> Result<Option<File>> {
    let file = snapshots.open_file(&layout::snapshot_file(id))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Ok(None),
        _ => Ok(Some(file)),
    }
}

/// Visits every `data` directory below `guards`, with the names that lead
/// to it.
pub(crate) fn for_each_data_dir(
    guards: &Dir,
    visit: &mut dyn FnMut(&[String], &Dir) -> Result<()>,
) -> Result<()> {
    for_each_guard_dir(guards, &mut |components, dir| match components.last() {
        Some(name) if name == layout::DATA => visit(components, dir),
        _ => Ok(()),
    })
}

/// Visits every directory of the format below `guards`, each before what it
/// holds, with the names that lead to it. Those that may not be opened are
/// left out. Does not recurse: chains of guards may be deep.
pub(crate) fn for_each_guard_dir(
    guards: &Dir,
    visit: &mut dyn FnMut(&[String], &Dir) -> Result<()>,
) -> Result<()> {
    let mut pending: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(components) = pending.pop() {
        let Some(dir) = if_open(guards.open_below(&components))? else {
            continue;
        };
        visit(&components, &dir)?;
        let last = components.last().map(String::as_str);
        if last == Some(layout::DATA) {
            continue;
        }
        let Some(names) = if_open(dir.list())? else {
            continue;
        };
        // Pushed in reverse, visited in order.
        for name in names.into_iter().rev() {
            let belongs = match last.map(layout::guard_name) {
                Some(GuardName::Barriers) => layout::is_barrier_name(&name),
                _ => layout::guard_name(&name) != GuardName::Foreign,
            };
            if belongs {
                pending.push([&components[..], &[name]].concat());
            }
        }
    }
    Ok(())
}

/// Nothing there or no access is not an error.
fn if_open<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if error.is_denied() => Ok(None),
        other => if_there(other),
    }
}

/// `{"s": seconds, "ns": nanoseconds}`.
pub(crate) mod time {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use trawl_model::Timestamp;

    #[derive(Serialize, Deserialize)]
    struct Wire {
        s: i64,
        ns: u32,
    }

    pub(crate) fn serialize<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        let wire = Wire {
            s: time.secs,
            ns: time.nanos,
        };
        wire.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        let wire = Wire::deserialize(from)?;
        Ok(Timestamp {
            secs: wire.s,
            nanos: wire.ns,
        })
    }
}
