//! Names every file and directory below an index directory. Pure: names only, no I/O.
//!
//! ```text
//! FORMAT  watched
//! sources/…/<source>/source.json  lock  current
//!                    snapshots/<snapshot>.json
//!                    live/state  live/socket
//!                    private/data/watch
//!                    private/data/<edition>.shards  <edition>.pack
//!                                 <edition>.<generation>.overlays
//!                                 <snapshot>.items
//!                                 <segment>.<table>.parquet  <segment>.names
//!                    data/<edition>.manifest  <segment>.<table>.parquet
//!                         <segment>.names  <edition>.<generation>.overlay
//!                         p<hash>/data/…
//!                         b<hash>/<hash>/data/…
//! ```
//! A `data` directory holds the files of the shard whose guard leads to it, and the guard
//! directories of stricter guards. `p<hash>` is the directory for the predicate with that hash. It
//! contains only the next `data` directory, so that its attributes as seen from outside never
//! change. A name barrier is two directories: `b<hash>` for the predicate of the users who may
//! list, and inside it a directory named by the hash of the path behind the barrier. A user who
//! knows the path finds it; a user who may not list learns nothing. `sources` itself is such a
//! `data` directory: the permissions above a source's root guard the whole source. Hashes are the
//! first half of BLAKE3 in 32 hex digits, so that nobody can construct a collision.

use crate::id::{Edition, SegmentId, SnapshotId, parse_hex_64};
use crate::manifest::GuardStep;
use crate::schema::Table;
use std::path::PathBuf;
use trawl_model::guard::{Element, Predicate};

/// The file that names the format and marks a directory as an index.
pub const FORMAT_FILE: &str = "FORMAT";
/// First line of [`FORMAT_FILE`].
pub const MAGIC_LINE: &str = "trawl index";
/// Directory that contains the sources.
pub const SOURCES: &str = "sources";
/// File with a source's description.
pub const SOURCE_FILE: &str = "source.json";
/// The file that a source's writer locks.
pub const LOCK_FILE: &str = "lock";
/// The file that names a source's current snapshot.
pub const CURRENT_FILE: &str = "current";
/// Directory of files for the index's owner alone; others cannot even see the lengths of its files.
pub const PRIVATE: &str = "private";
/// Directory of the socket of the daemon that watches a source.
pub const LIVE: &str = "live";
/// Name of that socket.
pub const SOCKET_FILE: &str = "socket";
/// Marker file that exists while a service manager listens on that socket, even when no daemon
/// runs.
pub const MANAGER_FILE: &str = "manager";
/// Private file that a daemon locks and keeps its state in.
pub const WATCH_FILE: &str = "watch";
/// Marker file that exists while a daemon watches any source of the index.
pub const WATCHED_FILE: &str = "watched";
/// Directory of a source's snapshot files.
pub const SNAPSHOTS: &str = "snapshots";
/// The directory below a guard directory, and below a source, that holds a
/// shard's files and further guard directories.
pub const DATA: &str = "data";
/// Suffix of a snapshot file.
pub const SNAPSHOT_ENDING: &str = ".json";
/// Suffix of the private list of a snapshot's shards.
pub const SHARD_LIST_ENDING: &str = ".shards";
/// Suffix of the private file with all manifests of an edition.
pub const PACK_ENDING: &str = ".pack";
/// Suffix of the private file with the items of a snapshot's segments.
pub const ITEMS_ENDING: &str = ".items";
/// Suffix of a manifest.
pub const MANIFEST_ENDING: &str = ".manifest";
/// Suffix of a shard's overlay.
pub const OVERLAY_ENDING: &str = ".overlay";
/// Suffix of the private file with all overlays of a generation.
pub const OVERLAYS_ENDING: &str = ".overlays";
/// Suffix of a segment's file, after the table's name.
pub const SEGMENT_ENDING: &str = ".parquet";
/// Suffix of a segment's name sidecar.
pub const NAMES_ENDING: &str = ".names";
/// Directory of a source's packs of n-grams, a `data` directory with guards of its own.
pub const TEXT: &str = "text";
/// The file there with the limits for the files that are covered.
pub const TEXT_SETTINGS: &str = "settings";
/// Suffix of a pack of n-grams.
pub const GRAMS_ENDING: &str = ".grams";
/// Directory of a source's packs of keywords, like that of its packs of n-grams.
pub const KEYWORDS: &str = "keywords";
/// Suffix of a pack of keywords.
pub const KEYWORDS_ENDING: &str = ".keywords";
/// Directory of the files of a source's named indices, like that of its packs of n-grams.
pub const INDICES: &str = "indices";
/// The file there with the definitions.
pub const INDICES_SETTINGS: &str = TEXT_SETTINGS;
/// Suffix of the file of a named index for a segment.
pub const INDEX_ENDING: &str = ".index";
/// Suffix of a file in progress; such a file belongs to no snapshot.
pub const TEMPORARY_ENDING: &str = ".tmp";

/// `<snapshot>.json`.
pub fn snapshot_file(id: SnapshotId) -> String {
    format!("{id}{SNAPSHOT_ENDING}")
}

/// `<edition>.shards`.
pub fn shard_list_file(id: Edition) -> String {
    format!("{id}{SHARD_LIST_ENDING}")
}

/// `<edition>.pack`.
pub fn pack_file(id: Edition) -> String {
    format!("{id}{PACK_ENDING}")
}

/// `<snapshot>.items`.
pub fn items_file(id: SnapshotId) -> String {
    format!("{id}{ITEMS_ENDING}")
}

/// `<edition>.manifest`.
pub fn manifest_file(id: Edition) -> String {
    format!("{id}{MANIFEST_ENDING}")
}

/// `<edition>.<generation>.overlay`.
pub fn overlay_file(id: Edition, generation: u64) -> String {
    format!("{id}.{generation:016x}{OVERLAY_ENDING}")
}

/// `<edition>.<generation>.overlays`.
pub fn overlays_file(id: Edition, generation: u64) -> String {
    format!("{id}.{generation:016x}{OVERLAYS_ENDING}")
}

/// `<segment>.<table>.parquet`.
pub fn segment_file(id: SegmentId, table: Table) -> String {
    format!("{id}.{table}{SEGMENT_ENDING}")
}

/// `<segment>.names`.
pub fn names_file(id: SegmentId) -> String {
    format!("{id}{NAMES_ENDING}")
}

/// `<segment>.<definition>.index`.
pub fn index_file(id: SegmentId, definition: u64) -> String {
    format!("{id}.{definition:016x}{INDEX_ENDING}")
}

/// Returns the elements that guard packs, and files of named indices, in place of the guard of rows:
/// name barriers become the predicates that list the directories, which admit fewer users.
pub fn guard_of_packs(rows: &[Element]) -> Vec<Element> {
    let mut kept: Vec<Element> = Vec::with_capacity(rows.len());
    for element in rows {
        let who = match element {
            Element::Predicate(who) => who,
            Element::Barrier { list, .. } => list,
        };
        let element = Element::Predicate(who.clone());
        if !who.is_trivial() && !kept.iter().any(|before| before.implies(&element)) {
            kept.push(element);
        }
    }
    kept
}

/// Returns the directory names from a source's `data` directory to a guard's `data` directory,
/// inclusive. Empty for the guard that everyone passes.
pub fn data_components(guard: &[Element]) -> Vec<String> {
    let mut components = Vec::with_capacity(2 * guard.len());
    for element in guard {
        match element {
            Element::Predicate(who) => components.push(predicate_dir(who)),
            Element::Barrier { path, list } => {
                components.push(barriers_dir(list));
                components.push(barrier_dir(path));
            }
        }
        components.push(DATA.to_owned());
    }
    components
}

/// Like [`data_components`], for the guard elements of a manifest. `None` if their text is invalid.
pub(crate) fn components_of(guard: &[GuardStep]) -> Option<Vec<String>> {
    GuardStep::to_guard(guard).map(|guard| data_components(&guard.0))
}

/// Returns the number of names that an element adds to [`data_components`].
pub fn levels(element: &Element) -> usize {
    match element {
        Element::Predicate(_) => 2,
        Element::Barrier { .. } => 3,
    }
}

/// `p<hash>`: the guard directory of a predicate.
pub fn predicate_dir(who: &Predicate) -> String {
    format!("p{}", hashed(who.to_string().as_bytes()))
}

/// `b<hash>`: the directory of barriers for names that the users of this predicate may list.
pub fn barriers_dir(list: &Predicate) -> String {
    format!("b{}", hashed(list.to_string().as_bytes()))
}

/// Returns the directory names of the shard for the users who may list a directory of barriers.
/// That shard holds the listings of directories whose names are hidden from other users. `None` if
/// the last name is not a directory of barriers.
pub fn listed_beside(barriers: &[String]) -> Option<Vec<String>> {
    let (last, above) = barriers.split_last()?;
    let hash = last.strip_prefix('b')?;
    let mut components = above.to_vec();
    components.extend([format!("p{hash}"), DATA.to_owned()]);
    Some(components)
}

/// `<hash>`: the directory behind the barrier for this path.
pub fn barrier_dir(path: &[u8]) -> String {
    hashed(path)
}

/// Number of hex digits of a hash in a name.
pub const HASH_DIGITS: usize = 32;

fn hashed(bytes: &[u8]) -> String {
    let mut hex = blake3::hash(bytes).to_hex().to_string();
    hex.truncate(HASH_DIGITS);
    hex
}

fn is_hash(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == HASH_DIGITS && text.bytes().all(is_digit)
}

/// Meaning of a directory name found in a `data` directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardName {
    /// A directory of barriers whose parents the same users may list.
    Barriers,
    /// A predicate's guard directory.
    Predicate,
    /// A name that the format does not define.
    Foreign,
}

/// Interprets the name of a directory found in a `data` directory.
pub fn guard_name(name: &str) -> GuardName {
    match (name.strip_prefix('p'), name.strip_prefix('b')) {
        (Some(hash), _) if is_hash(hash) => GuardName::Predicate,
        (_, Some(hash)) if is_hash(hash) => GuardName::Barriers,
        _ => GuardName::Foreign,
    }
}

/// True if `name` can be a guard directory within a directory of barriers.
pub fn is_barrier_name(name: &str) -> bool {
    is_hash(name)
}

/// Meaning of a file name found in a `data` directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataName {
    /// A manifest.
    Manifest(Edition),
    /// One of a segment's files.
    Segment(SegmentId, Table),
    /// A segment's name sidecar.
    Names(SegmentId),
    /// A shard's overlay of an edition, with its generation number.
    Overlay(Edition, u64),
    /// A file that is being written or was left by a killed writer.
    Temporary,
    /// A name that the format does not define.
    Foreign,
}

/// Interprets the name of a file found in a `data` directory.
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
    let names = |name: &str| name.strip_suffix(NAMES_ENDING)?.parse().ok();
    if let Some(id) = names(name) {
        return DataName::Names(id);
    }
    if let Some((edition, generation)) = overlay_name(name) {
        return DataName::Overlay(edition, generation);
    }
    segment(name).map_or(DataName::Foreign, |(id, table)| {
        DataName::Segment(id, table)
    })
}

/// Returns the snapshot that a file in a `data` directory belongs to.
pub fn snapshot_of(name: &str) -> Option<SnapshotId> {
    match data_name(name) {
        DataName::Manifest(edition) => Some(edition.id),
        DataName::Segment(id, _) | DataName::Names(id) => Some(id.snapshot),
        // An overlay belongs to no snapshot; it continues from one.
        DataName::Overlay(..) | DataName::Temporary | DataName::Foreign => None,
    }
}

/// Returns the edition and generation in an overlay's name; `None` for other names.
pub fn overlay_name(name: &str) -> Option<(Edition, u64)> {
    generation_of(name.strip_suffix(OVERLAY_ENDING)?)
}

/// Like [`overlay_name`], for the private file with all overlays.
pub fn overlays_name(name: &str) -> Option<(Edition, u64)> {
    generation_of(name.strip_suffix(OVERLAYS_ENDING)?)
}

fn generation_of(name: &str) -> Option<(Edition, u64)> {
    let (edition, generation) = name.split_once('.')?;
    Some((edition.parse().ok()?, parse_hex_64(generation)?))
}

/// Returns the segment that a file belongs to.
pub fn segment_of(name: &str) -> Option<SegmentId> {
    match data_name(name) {
        DataName::Segment(id, _) | DataName::Names(id) => Some(id),
        DataName::Manifest(_) | DataName::Overlay(..) | DataName::Temporary | DataName::Foreign => {
            None
        }
    }
}

/// Returns the snapshot that a file describes.
pub fn snapshot_name(name: &str) -> Option<SnapshotId> {
    name.strip_suffix(SNAPSHOT_ENDING)?.parse().ok()
}

/// Returns the edition whose shards a file lists.
pub fn shard_list_name(name: &str) -> Option<Edition> {
    name.strip_suffix(SHARD_LIST_ENDING)?.parse().ok()
}

/// Returns the edition that a private file belongs to: a list of shards or a pack.
pub fn private_name(name: &str) -> Option<Edition> {
    shard_list_name(name).or_else(|| pack_name(name))
}

/// Returns the edition whose manifests a pack file holds.
pub fn pack_name(name: &str) -> Option<Edition> {
    name.strip_suffix(PACK_ENDING)?.parse().ok()
}

/// Returns the snapshot whose writer made the segments that an items file describes.
pub fn items_name(name: &str) -> Option<SnapshotId> {
    name.strip_suffix(ITEMS_ENDING)?.parse().ok()
}

/// Joins directory names into a path, for messages.
pub fn display_path(components: &[String]) -> PathBuf {
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
        assert_eq!(data_name(&names_file(id)), DataName::Names(id));
        let manifest = manifest_file(id.snapshot.into());
        assert_eq!(data_name(&manifest), DataName::Manifest(id.snapshot.into()));
        let revised = Edition {
            id: id.snapshot,
            revision: Some(SnapshotId(0x1235)),
        };
        let manifest = manifest_file(revised);
        assert_eq!(data_name(&manifest), DataName::Manifest(revised));
        assert_eq!(shard_list_name(&shard_list_file(revised)), Some(revised));
        assert_eq!(shard_list_name(&pack_file(revised)), None);
        for name in [shard_list_file(revised), pack_file(revised)] {
            assert_eq!(private_name(&name), Some(revised));
        }
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
        let names = data_components(&guard.0);
        assert_eq!(names.len(), 5);
        assert_eq!(guard_name(&names[0]), GuardName::Predicate);
        assert_eq!(guard_name(&names[2]), GuardName::Barriers);
        assert!(is_barrier_name(&names[3]));
        assert_eq!([&names[1], &names[4]], ["data", "data"]);
        assert!(data_components(&[]).is_empty());
    }
}
