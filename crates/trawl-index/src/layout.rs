//! What lies where below an index directory. Pure: names only, no I/O.
//!
//! ```text
//! FORMAT
//! sources/<source>/source.json  lock  current
//!                  snapshots/<snapshot>.json  <snapshot>.shards
//!                  guards/<element>/…/data/<snapshot>.manifest
//!                                          <segment>.<table>.parquet
//! ```
//! An element is `p<hash>` for a predicate of that hash. A name barrier is
//! two: `b<hash>` for the predicate of those who may list, and in it the hash
//! of the path behind the barrier, so that who knows the path finds it and
//! who may not list learns nothing. Hashes are xxh3-64, 16 hex digits.

use crate::id::{SegmentId, SnapshotId, parse_hex_64};
use crate::manifest::GuardStep;
use crate::schema::Table;
use std::path::PathBuf;
use xxhash_rust::xxh3::xxh3_64;

/// The file that names the format, and marks an index.
pub const FORMAT_FILE: &str = "FORMAT";
/// First line of [`FORMAT_FILE`].
pub const MAGIC_LINE: &str = "trawl index";
/// Directory of the sources.
pub const SOURCES: &str = "sources";
/// A source's description.
pub const SOURCE_FILE: &str = "source.json";
/// The file that a source's writer locks.
pub const LOCK_FILE: &str = "lock";
/// The file that names a source's current snapshot.
pub const CURRENT_FILE: &str = "current";
/// Directory of a source's snapshot files.
pub const SNAPSHOTS: &str = "snapshots";
/// Root of a source's guard directories.
pub const GUARDS: &str = "guards";
/// The directory below a guard directory that holds its shard's files.
pub const DATA: &str = "data";
/// Ending of a snapshot file.
pub const SNAPSHOT_ENDING: &str = ".json";
/// Ending of the private list of a snapshot's shards.
pub const SHARD_LIST_ENDING: &str = ".shards";
/// Ending of a manifest.
pub const MANIFEST_ENDING: &str = ".manifest";
/// Ending of a segment's file, after the table's name.
pub const SEGMENT_ENDING: &str = ".parquet";
/// Ending of a file in progress; it belongs to no snapshot.
pub const TEMPORARY_ENDING: &str = ".tmp";

/// `<snapshot>.json`.
pub fn snapshot_file(id: SnapshotId) -> String {
    format!("{id}{SNAPSHOT_ENDING}")
}

/// `<snapshot>.shards`.
pub fn shard_list_file(id: SnapshotId) -> String {
    format!("{id}{SHARD_LIST_ENDING}")
}

/// `<snapshot>.manifest`.
pub fn manifest_file(id: SnapshotId) -> String {
    format!("{id}{MANIFEST_ENDING}")
}

/// `<segment>.<table>.parquet`.
pub fn segment_file(id: SegmentId, table: Table) -> String {
    format!("{id}.{table}{SEGMENT_ENDING}")
}

/// Directory names from `guards/` to a guard's `data`, `data` included.
pub fn data_components(guard: &[GuardStep]) -> Vec<String> {
    let mut components = Vec::with_capacity(guard.len() + 1);
    for step in guard {
        match step {
            GuardStep::Predicate { who } => components.push(format!("p{}", hashed(who.as_bytes()))),
            GuardStep::Barrier { path, list } => {
                components.push(format!("b{}", hashed(list.as_bytes())));
                components.push(hashed(path));
            }
        }
    }
    components.push(DATA.to_owned());
    components
}

fn hashed(bytes: &[u8]) -> String {
    format!("{:016x}", xxh3_64(bytes))
}

/// What a name in a guard directory means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardName {
    /// The shard's files.
    Data,
    /// A directory of barriers that the same users may list.
    Barriers,
    /// A predicate's guard directory.
    Predicate,
    /// Nothing that the format knows.
    Foreign,
}

/// Reads a name found in a guard directory.
pub fn guard_name(name: &str) -> GuardName {
    let is_hash_after = |letter| name.strip_prefix(letter).and_then(parse_hex_64).is_some();
    match name {
        DATA => GuardName::Data,
        _ if is_hash_after('b') => GuardName::Barriers,
        _ if is_hash_after('p') => GuardName::Predicate,
        _ => GuardName::Foreign,
    }
}

/// True if `name` can be a guard directory in a directory of barriers.
pub fn is_barrier_name(name: &str) -> bool {
    parse_hex_64(name).is_some()
}

/// What a name in a `data` directory means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataName {
    /// A manifest.
    Manifest(SnapshotId),
    /// One of a segment's files.
    Segment(SegmentId, Table),
    /// Being written, or left by a writer that was killed.
    Temporary,
    /// Nothing that the format knows.
    Foreign,
}

/// Reads a name found in a `data` directory.
pub fn data_name(name: &str) -> DataName {
    if name.ends_with(TEMPORARY_ENDING) {
        return DataName::Temporary;
    }
    let manifest = |name: &str| name.strip_suffix(MANIFEST_ENDING)?.parse().ok();
    let segment = |name: &str| {
        let (id, table) = name.strip_suffix(SEGMENT_ENDING)?.split_once('.')?;
        Some((id.parse().ok()?, Table::from_name(table)?))
    };
    if let Some(id) = manifest(name) {
        return DataName::Manifest(id);
    }
    segment(name).map_or(DataName::Foreign, |(id, table)| {
        DataName::Segment(id, table)
    })
}

/// The snapshot whose writer made a file in a `data` directory.
pub fn snapshot_of(name: &str) -> Option<SnapshotId> {
    match data_name(name) {
        DataName::Manifest(id) => Some(id),
        DataName::Segment(id, _) => Some(id.snapshot),
        DataName::Temporary | DataName::Foreign => None,
    }
}

/// The snapshot that this file describes.
pub fn snapshot_name(name: &str) -> Option<SnapshotId> {
    name.strip_suffix(SNAPSHOT_ENDING)?.parse().ok()
}

/// The snapshot whose shards this file lists.
pub fn shard_list_name(name: &str) -> Option<SnapshotId> {
    name.strip_suffix(SHARD_LIST_ENDING)?.parse().ok()
}

/// Directory names as a path, for messages.
pub(crate) fn display_path(components: &[String]) -> PathBuf {
    components.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::DirAccess;
    use trawl_model::guard::{Bit, Element, Guard, Predicate};

    #[test]
    fn names_read_back_as_what_they_are() {
        let id = SegmentId {
            snapshot: SnapshotId(0x1234),
            number: 7,
        };
        for table in Table::ALL {
            let name = segment_file(id, table);
            assert_eq!(data_name(&name), DataName::Segment(id, table));
        }
        let manifest = manifest_file(id.snapshot);
        assert_eq!(data_name(&manifest), DataName::Manifest(id.snapshot));
        assert_eq!(data_name("x.tmp"), DataName::Temporary);
        assert_eq!(data_name("core"), DataName::Foreign);
        assert_eq!(
            snapshot_name(&snapshot_file(id.snapshot)),
            Some(id.snapshot)
        );
    }

    #[test]
    fn guards_become_directories_in_tree_order() {
        let private = Predicate::of(&DirAccess::default(), Bit::Read);
        let guard = Guard(vec![
            Element::Predicate(private.clone()),
            Element::Barrier {
                path: b"/home/ann".to_vec(),
                list: private,
            },
        ]);
        let steps = GuardStep::of_guard(&guard);
        let names = data_components(&steps);
        assert_eq!(names.len(), 4);
        assert_eq!(guard_name(&names[0]), GuardName::Predicate);
        assert_eq!(guard_name(&names[1]), GuardName::Barriers);
        assert!(is_barrier_name(&names[2]));
        assert_eq!(names[3], "data");
        assert_eq!(data_components(&[]), ["data"]);
    }
}
