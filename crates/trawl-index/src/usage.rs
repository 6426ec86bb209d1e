//! How much room a source's snapshots take. Segments that several of them
//! have are counted once.

use crate::error::{IndexError, Result};
use crate::id::{SegmentId, SnapshotId};
use crate::schema::Table;
use crate::source::Source;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

/// The room that one snapshot takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotUsage {
    /// The snapshot.
    pub id: SnapshotId,
    /// Bytes of all its segments, the bundle's included.
    pub size_bytes: u64,
    /// Bytes of those that no other snapshot has: what its removal frees.
    pub alone_bytes: u64,
}

/// The room that a source takes, as far as this process may know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of all segments, each counted once.
    pub size_bytes: u64,
    /// The snapshots, oldest first.
    pub snapshots: Vec<SnapshotUsage>,
    files: HashMap<FileKey, Held>,
}

/// A file of a source: its shard's directory, its segment, its table; none for
/// the name sidecar.
type FileKey = (PathBuf, SegmentId, Option<Table>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Held {
    size_bytes: u64,
    /// Places of the snapshots that have it.
    by: Vec<usize>,
}

impl Usage {
    /// What is freed when these snapshots go.
    pub fn freed_bytes(&self, gone: &BTreeSet<SnapshotId>) -> u64 {
        let is_gone = |at: &usize| {
            self.snapshots
                .get(*at)
                .is_some_and(|s| gone.contains(&s.id))
        };
        let freed = self
            .files
            .values()
            .filter(|held| held.by.iter().all(is_gone));
        freed.map(|held| held.size_bytes).sum()
    }
}

/// Adds up what the snapshots of a source take. One that is removed meanwhile
/// does not count.
///
/// # Errors
/// If manifests cannot be read.
pub fn usage(source: &Source) -> Result<Usage> {
    let mut found = Usage::default();
    for info in source.snapshots()? {
        let snapshot = match source.snapshot(info.id) {
            Ok(snapshot) => snapshot,
            Err(IndexError::NoSnapshot { .. }) => continue,
            Err(error) => return Err(error),
        };
        let at = found.snapshots.len();
        let mut size_bytes = 0;
        for shard in snapshot.shards.iter().chain(snapshot.bundle()) {
            let tables = shard.files().map(|(segment, table, file)| {
                let key = (segment.id, Some(table));
                (key, file.size_bytes)
            });
            let segments = shard.manifest.segments.iter();
            let names = segments.filter_map(|segment| {
                let names = segment.names.as_ref()?;
                Some(((segment.id, None), names.size_bytes))
            });
            for ((segment, table), file_bytes) in tables.chain(names) {
                size_bytes += file_bytes;
                let key = (shard.dir_path(), segment, table);
                let held = found.files.entry(key).or_default();
                held.size_bytes = file_bytes;
                held.by.push(at);
            }
        }
        found.snapshots.push(SnapshotUsage {
            id: info.id,
            size_bytes,
            alone_bytes: 0,
        });
    }
    for held in found.files.values() {
        found.size_bytes += held.size_bytes;
        if let [at] = held.by[..]
            && let Some(snapshot) = found.snapshots.get_mut(at)
        {
            snapshot.alone_bytes += held.size_bytes;
        }
    }
    Ok(found)
}
