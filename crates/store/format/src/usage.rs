//! Computes the disk usage of a source's snapshots. Segments shared by several snapshots count
//! once.

use crate::error::{IndexError, Result};
use crate::id::{SegmentId, SnapshotId};
use crate::schema::Table;
use crate::source::Source;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

/// Disk usage of one snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotUsage {
    /// The snapshot.
    pub id: SnapshotId,
    /// Size of all its segments, including the bundle's, in bytes.
    pub size_bytes: u64,
    /// Size of the segments that no other snapshot shares, in bytes: removing this snapshot frees
    /// them.
    pub alone_bytes: u64,
}

/// Disk usage of a source, as far as this process may see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Size of all segments in bytes, each counted once.
    pub size_bytes: u64,
    /// The snapshots, oldest first.
    pub snapshots: Vec<SnapshotUsage>,
    files: HashMap<FileKey, Held>,
}

/// A file of a source: its shard's directory, its segment, and its table (`None` for the name
/// sidecar).
type FileKey = (PathBuf, SegmentId, Option<Table>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Held {
    size_bytes: u64,
    /// Indexes into `snapshots` of those that have the file.
    by: Vec<usize>,
}

impl Usage {
    /// Returns the number of bytes freed when these snapshots are removed.
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

/// Adds up the disk usage of a source's snapshots. A snapshot that is removed in the meantime does
/// not count.
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
