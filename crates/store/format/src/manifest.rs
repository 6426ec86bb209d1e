//! Reads and writes a shard's manifest: the segments that belong to a snapshot, and the hashes that
//! their files must have.

use crate::dir_filter::DirFilter;
use crate::error::{IndexError, Result};
use crate::id::{Hash, SegmentId, SnapshotId};
use crate::layout;
use crate::schema::{FORMAT, Table};
use crate::{sealed, text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use trawl_model::guard::{Element, Guard, Predicate};

/// One file of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// Number of rows in the table.
    pub rows: u64,
    /// The file's length in bytes.
    pub size_bytes: u64,
    /// Hash of the whole file.
    pub hash: Hash,
    /// Length in bytes of the part after the last column chunk: page indexes, footer, footer length
    /// and magic bytes.
    pub tail_bytes: u64,
    /// Hash of that part.
    pub tail_hash: Hash,
}

/// A segment's name sidecar. It is derived from the segment's tables, so a reader that cannot use
/// it reads those instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamesRef {
    /// The file's length in bytes.
    pub size_bytes: u64,
    /// Hash of the whole file.
    pub hash: Hash,
}

/// One segment: up to five files with the rows of some directories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentInfo {
    /// The segment's id, from which its file names are made.
    pub id: SegmentId,
    /// Number of rows of the entries table.
    pub rows: u64,
    /// Number of rows of the dirs table.
    pub dirs: u64,
    /// True if row 0 of the dirs table is of kind 1: the own row of the source's root or of the
    /// directory behind the barrier that the guard ends with.
    #[serde(default, skip_serializing_if = "is_false")]
    pub own_row: bool,
    /// The first directory in path order; `None` if the segment has only attribute values or
    /// issues.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "optional_text"
    )]
    pub first_dir: Option<Vec<u8>>,
    /// The last directory in path order.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "optional_text"
    )]
    pub last_dir: Option<Vec<u8>>,
    /// Its files, by table.
    #[serde(with = "files")]
    pub files: BTreeMap<Table, FileRef>,
    /// Its name sidecar, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<NamesRef>,
    /// Sums over its listings; `None` in segments of older writers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sums: Option<SegmentSums>,
    /// Filter of the directories that the segment may list; `None` if it lists many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<DirFilter>,
}

/// Sums over the rows of a segment's listings without own rows: the final running sums of its dirs
/// table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentSums {
    /// Number of regular files.
    pub files: u64,
    /// Number of directories.
    pub dirs: u64,
    /// Number of symbolic links.
    pub symlinks: u64,
    /// Number of other objects.
    pub others: u64,
    /// Sum of all apparent sizes in bytes, modulo 2^64.
    pub size_bytes: u64,
    /// Sum of all allocated 512-byte blocks, modulo 2^64.
    pub blocks: u64,
}

impl SegmentSums {
    /// Returns the sums in stored order.
    pub fn numbers(&self) -> [u64; 6] {
        [
            self.files,
            self.dirs,
            self.symlinks,
            self.others,
            self.size_bytes,
            self.blocks,
        ]
    }

    /// The inverse of [`SegmentSums::numbers`].
    pub(crate) fn from_numbers(numbers: [u64; 6]) -> SegmentSums {
        let [files, dirs, symlinks, others, size_bytes, blocks] = numbers;
        SegmentSums {
            files,
            dirs,
            symlinks,
            others,
            size_bytes,
            blocks,
        }
    }
}

/// Sums over all segments of a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Number of rows of entries tables, including the source root's own row.
    pub entries: u64,
    /// Number of regular files among them.
    pub files: u64,
    /// Number of directories among them.
    pub dirs: u64,
    /// Number of symbolic links among them.
    pub symlinks: u64,
    /// Number of other objects among them.
    pub others: u64,
    /// Sum of their apparent sizes in bytes, modulo 2^64.
    pub size_bytes: u64,
    /// Sum of their allocated 512-byte blocks, modulo 2^64.
    pub blocks: u64,
    /// Number of rows of links tables.
    pub links: u64,
    /// Number of rows of xattrs tables.
    pub xattrs: u64,
    /// Number of rows of issues tables.
    pub issues: u64,
    /// Number of directories listed.
    pub listed: u64,
}

/// One element of a guard in the form that people and programs read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum GuardStep {
    /// A permission bit.
    Predicate {
        /// A `trawl_model::guard::Predicate` as text.
        who: String,
    },
    /// A name barrier.
    Barrier {
        /// The path that a reader must know.
        #[serde(with = "text")]
        path: Vec<u8>,
        /// The users who may list the directory that contains the path: a predicate as text.
        list: String,
    },
}

/// Content of a shard in one snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format version of the segments.
    pub format: u32,
    /// The snapshot.
    pub snapshot: SnapshotId,
    /// The source's root path.
    #[serde(with = "text")]
    pub root: Vec<u8>,
    /// The shard's guard in tree order.
    pub guard: Vec<GuardStep>,
    /// The shard's segments, oldest first.
    pub segments: Vec<SegmentInfo>,
    /// Sums over the segments.
    pub totals: Totals,
}

impl Totals {
    /// Returns the sums in stored order.
    pub fn numbers(&self) -> [u64; 11] {
        [
            self.entries,
            self.files,
            self.dirs,
            self.symlinks,
            self.others,
            self.size_bytes,
            self.blocks,
            self.links,
            self.xattrs,
            self.issues,
            self.listed,
        ]
    }

    /// The inverse of [`Totals::numbers`].
    pub(crate) fn from_numbers(numbers: [u64; 11]) -> Totals {
        let [
            entries,
            files,
            dirs,
            symlinks,
            others,
            size_bytes,
            blocks,
            links,
            xattrs,
            issues,
            listed,
        ] = numbers;
        Totals {
            entries,
            files,
            dirs,
            symlinks,
            others,
            size_bytes,
            blocks,
            links,
            xattrs,
            issues,
            listed,
        }
    }

    /// Adds another shard's sums.
    pub fn add(&mut self, other: &Totals) {
        self.combine(other, u64::wrapping_add);
    }

    /// Subtracts sums that were added before.
    pub fn subtract(&mut self, other: &Totals) {
        self.combine(other, u64::wrapping_sub);
    }

    fn combine(&mut self, other: &Totals, by: fn(u64, u64) -> u64) {
        let mut numbers = self.numbers();
        for (own, other) in numbers.iter_mut().zip(other.numbers()) {
            *own = by(*own, other);
        }
        *self = Totals::from_numbers(numbers);
    }
}

impl GuardStep {
    /// Returns the steps of a guard.
    pub fn of_guard(guard: &Guard) -> Vec<GuardStep> {
        let step = |element: &Element| match element {
            Element::Predicate(p) => GuardStep::Predicate { who: p.to_string() },
            Element::Barrier { path, list } => GuardStep::Barrier {
                path: path.clone(),
                list: list.to_string(),
            },
        };
        guard.0.iter().map(step).collect()
    }
}

impl GuardStep {
    /// Returns the guard element that this step describes; `None` if its text is invalid.
    fn element(&self) -> Option<Element> {
        match self {
            GuardStep::Predicate { who } => Predicate::parse(who).map(Element::Predicate),
            GuardStep::Barrier { path, list } => {
                let path = path.clone();
                Predicate::parse(list).map(|list| Element::Barrier { path, list })
            }
        }
    }

    /// Returns the guard that these steps describe; `None` if the text of one is invalid.
    pub fn to_guard(steps: &[GuardStep]) -> Option<Guard> {
        let elements = steps.iter().map(GuardStep::element);
        elements.collect::<Option<Vec<_>>>().map(Guard)
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Manifest {
    /// Returns the shard's guard, below the guard of the source as a whole.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] if its text is invalid.
    pub fn guard(&self) -> Result<Guard> {
        GuardStep::to_guard(&self.guard).ok_or_else(|| {
            let path = Path::new(layout::DATA).join(layout::manifest_file(self.snapshot.into()));
            IndexError::damaged(&path, "its guard is invalid")
        })
    }

    /// True if `other` differs at most in its snapshot.
    pub fn says_the_same(&self, other: &Manifest) -> bool {
        self.format == other.format
            && self.root == other.root
            && self.guard == other.guard
            && self.segments == other.segments
            && self.totals == other.totals
    }

    /// Encodes the manifest's file.
    pub fn to_bytes(&self, path: &Path) -> Result<Vec<u8>> {
        sealed::seal_json(self, path)
    }

    /// Decodes a manifest of `snapshot`. `path` names the file in errors.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] and [`IndexError::Format`].
    pub fn from_bytes(bytes: &[u8], path: &Path, snapshot: SnapshotId) -> Result<Manifest> {
        let manifest: Manifest = sealed::unseal_json(bytes, path)?;
        check_format(manifest.format, path)?;
        // The manifest of an unchanged shard may be a link to an older snapshot's.
        if manifest.snapshot > snapshot {
            let problem = format!("it belongs to snapshot {}", manifest.snapshot);
            return Err(IndexError::damaged(path, problem));
        }
        for segment in &manifest.segments {
            segment.check(path)?;
        }
        Ok(manifest)
    }
}

impl SegmentInfo {
    /// Returns the number of files.
    pub fn file_count(&self) -> usize {
        self.files.len() + usize::from(self.names.is_some())
    }

    /// Returns the size of all files in bytes.
    pub fn size_bytes(&self) -> u64 {
        let tables: u64 = self.files.values().map(|file| file.size_bytes).sum();
        tables + self.names.map_or(0, |names| names.size_bytes)
    }

    /// Returns the names, lengths in bytes and hashes of all files.
    pub fn named_files(&self) -> impl Iterator<Item = (String, u64, Hash)> {
        let tables = self.files.iter().map(|(table, file)| {
            let name = layout::segment_file(self.id, *table);
            (name, file.size_bytes, file.hash)
        });
        let names = self.names.iter().map(|names| {
            let name = layout::names_file(self.id);
            (name, names.size_bytes, names.hash)
        });
        tables.chain(names)
    }

    /// Checks the properties that readers rely on without opening the files.
    fn check(&self, path: &Path) -> Result<()> {
        let problem = |what: &str| {
            Err(IndexError::damaged(
                path,
                format!("segment {}: {what}", self.id),
            ))
        };
        let rows = |table| self.files.get(&table).map_or(0, |file| file.rows);
        if rows(Table::Entries) != self.rows || rows(Table::Dirs) != self.dirs {
            return problem("its row counts disagree");
        }
        if self.own_row && self.dirs == 0 {
            return problem("its own row is missing");
        }
        if (self.dirs > 0) != (self.first_dir.is_some() && self.last_dir.is_some()) {
            return problem("its range of directories is missing");
        }
        if self.files.values().any(|f| f.tail_bytes > f.size_bytes) {
            return problem("a file is shorter than its tail");
        }
        Ok(())
    }
}

/// Returns an error for formats that this program does not read.
pub(crate) fn check_format(found: u32, path: &Path) -> Result<()> {
    if found != FORMAT {
        return Err(IndexError::Format {
            path: path.to_owned(),
            found,
            known: FORMAT,
        });
    }
    Ok(())
}

/// Serializes tables by name; an unknown name is an error.
mod files {
    use super::{BTreeMap, FileRef, Table};
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(
        files: &BTreeMap<Table, FileRef>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(files.iter().map(|(table, file)| (table.name(), file)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<Table, FileRef>, D::Error> {
        let by_name = BTreeMap::<String, FileRef>::deserialize(from)?;
        let known = |(name, file): (String, FileRef)| match Table::from_name(&name) {
            Some(table) => Ok((table, file)),
            None => Err(de::Error::custom(format_args!("no table {name:?}"))),
        };
        by_name.into_iter().map(known).collect()
    }
}

mod optional_text {
    use crate::text;
    use serde::{Deserialize, Deserializer, Serializer};

    #[derive(Deserialize)]
    struct Bytes(#[serde(deserialize_with = "text::deserialize")] Vec<u8>);

    pub(super) fn serialize<S: Serializer>(
        bytes: &Option<Vec<u8>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match bytes {
            Some(bytes) => text::serialize(bytes, to),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Vec<u8>>, D::Error> {
        Ok(Option::<Bytes>::deserialize(from)?.map(|bytes| bytes.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Manifest {
        let file = FileRef {
            rows: 3,
            size_bytes: 1000,
            hash: Hash(1 << 100),
            tail_bytes: 300,
            tail_hash: Hash(7),
        };
        Manifest {
            format: FORMAT,
            snapshot: SnapshotId(9),
            root: b"/srv/\xff".to_vec(),
            guard: vec![
                GuardStep::Predicate {
                    who: "u5+ other-".to_owned(),
                },
                GuardStep::Barrier {
                    path: b"/srv/a".to_vec(),
                    list: "other-".to_owned(),
                },
            ],
            segments: vec![SegmentInfo {
                id: SegmentId {
                    snapshot: SnapshotId(9),
                    number: 0,
                },
                rows: 3,
                dirs: 3,
                own_row: false,
                first_dir: Some(b"/srv".to_vec()),
                last_dir: Some(b"/srv/b\xfe".to_vec()),
                files: BTreeMap::from([(Table::Entries, file), (Table::Dirs, file)]),
                names: Some(NamesRef {
                    size_bytes: 5,
                    hash: Hash(6),
                }),
                sums: Some(SegmentSums {
                    files: 2,
                    size_bytes: u64::MAX,
                    ..SegmentSums::default()
                }),
                filter: Some(DirFilter(vec![0x80, 1])),
            }],
            totals: Totals::default(),
        }
    }

    fn read(bytes: &[u8]) -> Result<Manifest> {
        Manifest::from_bytes(bytes, Path::new("the-file"), SnapshotId(9))
    }

    #[test]
    fn a_manifest_comes_back() {
        let manifest = sample();
        let bytes = manifest.to_bytes(Path::new("the-file")).unwrap();
        assert_eq!(read(&bytes).unwrap(), manifest);
    }

    #[test]
    fn manifests_that_contradict_themselves_are_refused() {
        let changes: [fn(&mut Manifest); 5] = [
            |m| m.format = FORMAT + 1,
            |m| m.snapshot = SnapshotId(10),
            |m| m.segments[0].rows = 4,
            |m| m.segments[0].last_dir = None,
            |m| {
                m.segments[0]
                    .files
                    .values_mut()
                    .for_each(|f| f.tail_bytes = 1001)
            },
        ];
        for change in changes {
            let mut manifest = sample();
            change(&mut manifest);
            let bytes = manifest.to_bytes(Path::new("the-file")).unwrap();
            let message = read(&bytes).unwrap_err().to_string();
            assert!(message.contains("the-file"), "{message}");
        }
    }

    proptest! {
        /// The checksum is right, so that the damage reaches the decoder.
        #[test]
        fn hostile_json_never_panics(at: prop::sample::Index, cut: prop::sample::Index, with: String) {
            let text = serde_json::to_string(&sample()).unwrap();
            let bytes = text.as_bytes();
            let (start, end) = (at.index(bytes.len()), cut.index(bytes.len()));
            let (start, end) = (start.min(end), start.max(end));
            for end in [start, start + 1, end] {
                let hostile = [&bytes[..start], with.as_bytes(), &bytes[end..]].concat();
                if let Ok(hostile) = String::from_utf8(hostile)
                    && let Err(error) = read(&sealed::seal(&hostile))
                {
                    prop_assert!(error.to_string().contains("the-file"));
                }
            }
        }
    }
}
