//! A source at one time: the shards that a snapshot consists of.
//!
//! Readers find shards by walking the guard directories and opening the
//! snapshot's manifest where there is one. A guard directory that may not be
//! opened is not part of what this reader sees.

use crate::error::{IndexError, Result};
use crate::id::{SegmentId, SnapshotId};
use crate::layout::{self, GuardName};
use crate::manifest::{FileRef, Manifest, SegmentInfo, Totals, check_format};
use crate::schema::Table;
use crate::store::{Dir, if_there};
use crate::{sealed, text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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

/// One shard of a snapshot: the rows behind one guard.
#[derive(Clone, Debug)]
pub struct Shard {
    guards: Arc<Dir>,
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
        let bytes = if_there(snapshots.read(&name))?.ok_or_else(|| IndexError::NoSnapshot {
            path: source.path().to_owned(),
            snapshot: id,
        })?;
        SnapshotInfo::from_bytes(&bytes, &snapshots.join(&name), id)
    }
}

impl Snapshot {
    /// Reads a snapshot's description and manifests.
    ///
    /// gc removes a snapshot's description before anything else of it, so
    /// one that is there before and after the walk was whole in between.
    pub(crate) fn open(source: &Dir, root: &[u8], id: SnapshotId) -> Result<Snapshot> {
        let info = SnapshotInfo::read(source, id)?;
        let walked = Snapshot::read_shards(source, root, id);
        SnapshotInfo::read(source, id)?;
        let shards = walked?;
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
        Ok(Snapshot { info, shards })
    }

    fn read_shards(source: &Dir, root: &[u8], id: SnapshotId) -> Result<Vec<Shard>> {
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
                    components: components.to_vec(),
                    manifest,
                });
            }
            Ok(())
        })?;
        Ok(shards)
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

    /// Every file of the shard.
    pub fn files(&self) -> impl Iterator<Item = (&SegmentInfo, Table, &FileRef)> {
        self.manifest.segments.iter().flat_map(|segment| {
            let files = segment.files.iter();
            files.map(move |(table, file)| (segment, *table, file))
        })
    }
}

/// Visits every `data` directory below `guards`, with the names that lead
/// to it. Directories that may not be opened are left out. Does not recurse:
/// chains of guards may be deep.
pub(crate) fn for_each_data_dir(
    guards: &Dir,
    visit: &mut dyn FnMut(&[String], &Dir) -> Result<()>,
) -> Result<()> {
    let mut pending: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(components) = pending.pop() {
        let Some(dir) = if_open(guards.open_below(&components))? else {
            continue;
        };
        let barriers = components
            .last()
            .is_some_and(|name| name == layout::BARRIERS);
        let Some(names) = if_open(dir.list())? else {
            continue;
        };
        // Pushed in reverse, visited in order.
        for name in names.into_iter().rev() {
            let below = || [&components[..], std::slice::from_ref(&name)].concat();
            if barriers {
                if layout::is_barrier_name(&name) {
                    pending.push(below());
                }
                continue;
            }
            match layout::guard_name(&name) {
                GuardName::Data => {
                    if let Some(data) = if_open(dir.open_dir(&name))? {
                        visit(&below(), &data)?;
                    }
                }
                GuardName::Barriers | GuardName::Predicate => pending.push(below()),
                GuardName::Foreign => {}
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
