//! Counts and sums up the entries of a scope by type, extension, size, age,
//! owner and other traits, or by several of these at once.
//!
//! Reads only the columns that the requested traits need; directories are read
//! only if a trait concerns them.

use crate::directories::{DirRequest, DirStream, Facts};
use crate::error::Result;
use crate::index::{Index, Start};
use crate::sweep::{Columns, LinkCount, SweepRequest};
use crate::walk::{DirInfo, Listing, Order, Request};
use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::AtomicBool;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::filter::Filter;
use trawl_model::rows::{NO_PROJECT, Row, RowBatch};
use trawl_model::{FileType, Gid, Timestamp, Uid};

/// Maximum number of distinct extensions; further ones count in
/// [`Stats::other_extensions`].
const MOST_EXTENSIONS: usize = 100_000;
/// Maximum number of distinct combinations; further ones count in
/// [`Stats::other_combined`].
const MOST_COMBINED: usize = 100_000;
/// Maximum bytes of an extension; a longer one counts as none.
const LONGEST_EXTENSION: usize = 32;

/// Bounds of the age buckets in seconds: a file is in the first bucket whose
/// bound exceeds its age.
pub const AGE_BOUNDS_SECS: [i64; 8] = [
    3600,
    86_400,
    7 * 86_400,
    30 * 86_400,
    90 * 86_400,
    365 * 86_400,
    2 * 365 * 86_400,
    5 * 365 * 86_400,
];

/// Number of size buckets: 0, then 2^k to 2^(k+1) - 1.
pub const SIZE_BUCKETS: usize = 65;
/// Number of age buckets: one before the first bound (and for the future), one
/// after the last.
pub const AGE_BUCKETS: usize = AGE_BOUNDS_SECS.len() + 1;

/// Number of depths; deeper entries count at the last one.
pub const DEPTHS: usize = 64;
/// Number of buckets for name lengths in bytes, up to the maximum of Linux.
pub const NAME_LENGTHS: usize = 256;

/// A trait by which entries are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trait {
    /// [`Stats::types`].
    Type,
    /// [`Stats::extensions`].
    Extension,
    /// [`Stats::sizes`].
    Size,
    /// [`Stats::ages`].
    Modified,
    /// [`Stats::accessed`].
    Accessed,
    /// [`Stats::changed`].
    Changed,
    /// [`Stats::owners`].
    Owner,
    /// [`Stats::groups`].
    Group,
    /// [`Stats::projects`].
    Project,
    /// [`Stats::name_lengths`].
    NameLength,
    /// [`Stats::depths`].
    Depth,
    /// [`Stats::fullness`].
    Fullness,
}

impl Trait {
    /// The columns that the trait is read from; none if rows do not have it.
    fn columns(self) -> ColumnSet {
        ColumnSet::of(match self {
            Trait::Type => &[Column::Mode],
            Trait::Extension => &[Column::Name, Column::Mode],
            Trait::Size => &[Column::Mode, Column::Size],
            Trait::Modified => &[Column::Mode, Column::Mtime, Column::MtimeNs],
            Trait::Accessed => &[Column::Mode, Column::Atime, Column::AtimeNs],
            Trait::Changed => &[Column::Mode, Column::Ctime, Column::CtimeNs],
            Trait::Owner => &[Column::Uid],
            Trait::Group => &[Column::Gid],
            Trait::Project => &[Column::Project],
            Trait::NameLength => &[Column::Name],
            Trait::Depth | Trait::Fullness => &[],
        })
    }

    /// True if rows have the trait.
    pub fn is_of_rows(self) -> bool {
        !matches!(self, Trait::Depth | Trait::Fullness)
    }

    /// True if only regular files have the trait.
    pub fn is_of_files(self) -> bool {
        matches!(
            self,
            Trait::Extension | Trait::Size | Trait::Modified | Trait::Accessed | Trait::Changed
        )
    }
}

/// A value of a [`Trait`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// File type.
    Type(FileType),
    /// File name extension.
    Extension(Vec<u8>),
    /// A bucket of sizes, ages or lengths.
    Bucket(usize),
    /// An owner, a group or a project.
    Id(u32),
}

/// A number of entries and their sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of entries.
    pub entries: u64,
    /// Sum of apparent sizes in bytes.
    pub size_bytes: u64,
    /// Sum of allocated 512-byte units.
    pub blocks: u64,
}

impl Count {
    /// Adds another count, modulo 2^64.
    pub fn add(&mut self, other: &Count) {
        self.entries = self.entries.wrapping_add(other.entries);
        self.size_bytes = self.size_bytes.wrapping_add(other.size_bytes);
        self.blocks = self.blocks.wrapping_add(other.blocks);
    }
}

/// Entries of a scope in groups. Groups that were not requested are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// All counted entries.
    pub whole: Count,
    /// By type.
    pub types: HashMap<FileType, Count>,
    /// Regular files by extension: the part after the last dot of the name,
    /// unless the name begins with that dot. The empty key is for files without
    /// one.
    pub extensions: HashMap<Vec<u8>, Count>,
    /// Regular files with extensions beyond the maximum number.
    pub other_extensions: Count,
    /// Regular files by size; see [`size_bucket`].
    pub sizes: [Count; SIZE_BUCKETS],
    /// Regular files by the age of their content; see [`AGE_BOUNDS_SECS`].
    pub ages: [Count; AGE_BUCKETS],
    /// Regular files by the time since their last access.
    pub accessed: [Count; AGE_BUCKETS],
    /// Regular files by the time since their last inode change.
    pub changed: [Count; AGE_BUCKETS],
    /// All entries by owner.
    pub owners: HashMap<Uid, Count>,
    /// All entries by owning group.
    pub groups: HashMap<Gid, Count>,
    /// All entries by project; `None` for entries without one.
    pub projects: HashMap<Option<u32>, Count>,
    /// All entries by the length of their name in bytes.
    pub name_lengths: Box<[Count; NAME_LENGTHS]>,
    /// All entries by depth below the start, which has depth 0.
    pub depths: Box<[Count; DEPTHS]>,
    /// Directories by number of entries ([`size_bucket`]): how many directories
    /// there are, and the sums over their entries.
    pub fullness: [(u64, Count); SIZE_BUCKETS],
    /// Entries by several traits at once, in the requested order.
    pub combined: HashMap<Vec<Key>, Count>,
    /// Entries with combinations beyond the maximum number.
    pub other_combined: Count,
}

impl Default for Stats {
    fn default() -> Stats {
        Stats {
            whole: Count::default(),
            types: HashMap::new(),
            extensions: HashMap::new(),
            other_extensions: Count::default(),
            sizes: [Count::default(); SIZE_BUCKETS],
            ages: [Count::default(); AGE_BUCKETS],
            accessed: [Count::default(); AGE_BUCKETS],
            changed: [Count::default(); AGE_BUCKETS],
            owners: HashMap::new(),
            groups: HashMap::new(),
            projects: HashMap::new(),
            name_lengths: Box::new([Count::default(); NAME_LENGTHS]),
            depths: Box::new([Count::default(); DEPTHS]),
            fullness: [(0, Count::default()); SIZE_BUCKETS],
            combined: HashMap::new(),
            other_combined: Count::default(),
        }
    }
}

/// A test of rows supplied by the caller.
pub trait RowTest: Sync {
    /// The columns that the test needs.
    fn columns(&self) -> ColumnSet;

    /// A necessary condition for rows that pass; other rows need not be read.
    fn filter(&self) -> Filter;

    /// Minimum and maximum depth below the start of entries that may pass.
    fn depths(&self) -> (usize, Option<usize>);

    /// True if a row at this depth below the start passes.
    fn admits(&self, row: &Row<'_>, depth: usize) -> bool;
}

/// A query for statistics.
#[derive(Clone, Copy, Default)]
pub struct StatsRequest<'a> {
    /// The time that ages refer to.
    pub now: Timestamp,
    /// The traits to group by.
    pub traits: &'a [Trait],
    /// Traits to group by together; only traits of rows.
    pub combined: &'a [Trait],
    /// How objects with several names count. If `test` is set, every name
    /// counts.
    pub links: LinkCount,
    /// A test that rows must pass to count; `None` for all rows. It is not
    /// applied for depth and fullness.
    pub test: Option<&'a dyn RowTest>,
    /// Number of threads; `None` for as many as there are processors.
    pub threads: Option<NonZeroUsize>,
    /// Cancels the query with
    /// [`QueryError::Cancelled`](crate::QueryError::Cancelled) soon after it is
    /// set.
    pub cancel: Option<&'a AtomicBool>,
}

impl Index {
    /// Groups `start` and everything below it.
    pub fn stats(&self, start: &Start, request: &StatsRequest<'_>) -> Result<Stats> {
        let mut all = Stats::default();
        let of_rows = |traits: &[Trait]| traits.iter().any(|by| by.is_of_rows());
        if of_rows(request.traits) || of_rows(request.combined) {
            self.count_rows(start, request, &mut all)?;
        }
        if request.traits.iter().any(|by| !by.is_of_rows()) {
            all.count_directories(start, request)?;
        }
        Ok(all)
    }

    fn count_rows(&self, start: &Start, request: &StatsRequest<'_>, all: &mut Stats) -> Result<()> {
        let is_in = |row: &Row<'_>| {
            let test = request.test;
            test.is_none_or(|test| test.depths().0 == 0 && test.admits(row, 0))
        };
        let row = start.own_row();
        if start.row.len > 0 && is_in(&row) {
            all.count(&start.row, &[0..1], request);
        }
        let traits = request.traits.iter().chain(request.combined);
        let sums = ColumnSet::of(&[Column::Size, Column::Blocks]);
        let columns = traits.fold(sums, |columns, by| columns.union(by.columns()));
        let Some(test) = request.test else {
            let sweep = SweepRequest {
                columns,
                links: request.links,
                threads: request.threads,
                cancel: request.cancel,
            };
            let work = |columns: &Columns<'_>, stats: &mut Stats| {
                stats.count(columns.batch, columns.runs, request);
            };
            return self.sweep(start, &sweep, work, |stats| all.merge(stats));
        };
        let (min_depth, max_depth) = test.depths();
        let walk = Request {
            columns: columns.union(test.columns()),
            filter: test.filter(),
            min_depth,
            max_depth,
            order: Order::Forward,
            threads: request.threads,
            cancel: request.cancel,
            ..Request::default()
        };
        let work = |listing: &Listing<'_>, stats: &mut Stats| {
            let runs = admitted(test, listing);
            stats.count(listing.batch, &runs, request);
        };
        self.walk(start, &walk, work, |stats: Stats| {
            all.merge(stats);
            ControlFlow::Continue(())
        })
    }
}

/// Returns the rows of a listing that pass a test.
fn admitted(test: &dyn RowTest, listing: &Listing<'_>) -> Vec<Range<usize>> {
    let DirInfo { path, depth, .. } = listing.dir;
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in listing.range.clone() {
        let row = Row {
            batch: listing.batch,
            at,
            dir: path,
        };
        if !test.admits(&row, depth + 1) {
            continue;
        }
        match runs.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// Returns the sums over consecutive rows of a batch.
fn sum_of(batch: &RowBatch, rows: Range<usize>) -> Count {
    let sum = |column: &[u64]| {
        let values = column.get(rows.clone()).unwrap_or_default();
        values
            .iter()
            .fold(0u64, |sum, value| sum.wrapping_add(*value))
    };
    Count {
        entries: rows.len() as u64,
        size_bytes: sum(&batch.size),
        blocks: sum(&batch.blocks),
    }
}

/// Number of keys whose sums are kept open.
const OPEN: usize = 64;

/// Sums up rows by key and calls `flush` with partial sums. Equal keys often
/// follow each other or alternate with a few others, and adding many rows at
/// once is cheaper than adding each. `slot` should differ for keys that are
/// likely to alternate.
fn by_runs<K: PartialEq + Copy>(
    batch: &RowBatch,
    rows: &[Range<usize>],
    key: impl Fn(usize) -> K,
    slot: impl Fn(K) -> u32,
    mut flush: impl FnMut(K, &Count),
) {
    let mut open: [Option<(K, Count)>; OPEN] = [None; OPEN];
    for range in rows {
        let mut start = range.start;
        while start < range.end {
            let own = key(start);
            let mut others = start + 1..range.end;
            let end = others.find(|at| key(*at) != own).unwrap_or(range.end);
            let sum = sum_of(batch, start..end);
            start = end;
            match &mut open[slot(own) as usize % OPEN] {
                Some((known, count)) if *known == own => count.add(&sum),
                other => {
                    if let Some((known, count)) = other.replace((own, sum)) {
                        flush(known, &count);
                    }
                }
            }
        }
    }
    for (known, count) in open.iter().flatten() {
        flush(*known, count);
    }
}

impl Stats {
    fn count(&mut self, batch: &RowBatch, rows: &[Range<usize>], request: &StatsRequest<'_>) {
        let one = |at: usize| Count {
            entries: 1,
            size_bytes: batch.size.get(at).copied().unwrap_or_default(),
            blocks: batch.blocks.get(at).copied().unwrap_or_default(),
        };
        by_runs(
            batch,
            rows,
            |_| (),
            |()| 0,
            |(), count| self.whole.add(count),
        );
        for by in request.traits.iter().filter(|by| by.is_of_rows()) {
            self.count_by(*by, batch, rows, one, request.now);
        }
        if request.combined.is_empty() {
            return;
        }
        for at in rows.iter().cloned().flatten() {
            let row = row_at(batch, at);
            let keys = request.combined.iter();
            let keys: Option<Vec<Key>> = keys.map(|by| key_of(*by, &row, request.now)).collect();
            if let Some(keys) = keys {
                self.add_combined(keys, &one(at));
            }
        }
    }

    fn count_by(
        &mut self,
        by: Trait,
        batch: &RowBatch,
        rows: &[Range<usize>],
        one: impl Fn(usize) -> Count,
        now: Timestamp,
    ) {
        let value = |column: &[u32], at: usize| column.get(at).copied().unwrap_or_default();
        let is_file = |at: usize| FileType::from_mode(value(&batch.mode, at)) == FileType::Regular;
        let files = || rows.iter().cloned().flatten().filter(|at| is_file(*at));
        match by {
            Trait::Type => by_runs(
                batch,
                rows,
                |at| value(&batch.mode, at) & FileType::MASK,
                |kind| kind >> FileType::MASK.trailing_zeros(),
                |kind, count| {
                    let kind = FileType::from_mode(kind);
                    self.types.entry(kind).or_default().add(count);
                },
            ),
            Trait::Owner => by_runs(
                batch,
                rows,
                |at| Uid(value(&batch.uid, at)),
                |uid| uid.0,
                |uid, count| self.owners.entry(uid).or_default().add(count),
            ),
            Trait::Group => by_runs(
                batch,
                rows,
                |at| Gid(value(&batch.gid, at)),
                |gid| gid.0,
                |gid, count| self.groups.entry(gid).or_default().add(count),
            ),
            Trait::Project => by_runs(
                batch,
                rows,
                |at| project(&row_at(batch, at)),
                |project| project.unwrap_or_default(),
                |project, count| self.projects.entry(project).or_default().add(count),
            ),
            Trait::Extension => {
                files().for_each(|at| self.add_extension(extension(batch.name.get(at)), &one(at)))
            }
            Trait::Size => files()
                .for_each(|at| self.sizes[size_bucket(row_at(batch, at).size())].add(&one(at))),
            Trait::Modified => files()
                .for_each(|at| self.ages[age_bucket(now, row_at(batch, at).mtime())].add(&one(at))),
            Trait::Accessed => files().for_each(|at| {
                self.accessed[age_bucket(now, row_at(batch, at).atime())].add(&one(at));
            }),
            Trait::Changed => files().for_each(|at| {
                self.changed[age_bucket(now, row_at(batch, at).ctime())].add(&one(at));
            }),
            Trait::NameLength => rows.iter().cloned().flatten().for_each(|at| {
                self.name_lengths[name_length(batch.name.get(at))].add(&one(at));
            }),
            Trait::Depth | Trait::Fullness => {}
        }
    }

    /// Counts depths and fullness from the rows of the dirs table.
    fn count_directories(&mut self, start: &Start, request: &StatsRequest<'_>) -> Result<()> {
        let row = start.own_row();
        self.depths[0].add(&Count {
            entries: 1,
            size_bytes: row.size(),
            blocks: row.blocks(),
        });
        let dirs = DirRequest {
            cancel: request.cancel,
            ..DirRequest::default()
        };
        let mut stream = DirStream::new(start, &dirs, Facts::Usage)?;
        while let Some(directory) = stream.next()? {
            let count = Count {
                entries: directory.rows(),
                size_bytes: directory.sums.size_bytes,
                blocks: directory.sums.blocks,
            };
            self.depths[(directory.depth + 1).min(DEPTHS - 1)].add(&count);
            let (number, sums) = &mut self.fullness[size_bucket(count.entries)];
            *number += 1;
            sums.add(&count);
        }
        Ok(())
    }

    fn add_combined(&mut self, keys: Vec<Key>, count: &Count) {
        if let Some(known) = self.combined.get_mut(&keys) {
            known.add(count);
        } else if self.combined.len() < MOST_COMBINED {
            self.combined.insert(keys, *count);
        } else {
            self.other_combined.add(count);
        }
    }

    fn add_extension(&mut self, extension: &[u8], count: &Count) {
        if let Some(known) = self.extensions.get_mut(extension) {
            known.add(count);
        } else if self.extensions.len() < MOST_EXTENSIONS {
            self.extensions.insert(extension.to_vec(), *count);
        } else {
            self.other_extensions.add(count);
        }
    }

    /// Adds counts made elsewhere, except counts of directories.
    pub fn merge(&mut self, other: Stats) {
        self.whole.add(&other.whole);
        merge_map(&mut self.types, other.types);
        merge_map(&mut self.owners, other.owners);
        merge_map(&mut self.groups, other.groups);
        merge_map(&mut self.projects, other.projects);
        for (into, from) in [
            (&mut self.sizes[..], &other.sizes[..]),
            (&mut self.ages[..], &other.ages[..]),
            (&mut self.accessed[..], &other.accessed[..]),
            (&mut self.changed[..], &other.changed[..]),
            (&mut self.name_lengths[..], &other.name_lengths[..]),
        ] {
            into.iter_mut().zip(from).for_each(|(a, b)| a.add(b));
        }
        // In a fixed order, so that the same keys always count as "other".
        let is_much = self.extensions.len() + other.extensions.len() > MOST_EXTENSIONS;
        for (extension, count) in in_order_if(is_much, other.extensions) {
            self.add_extension(&extension, &count);
        }
        self.other_extensions.add(&other.other_extensions);
        let is_much = self.combined.len() + other.combined.len() > MOST_COMBINED;
        for (keys, count) in in_order_if(is_much, other.combined) {
            self.add_combined(keys, &count);
        }
        self.other_combined.add(&other.other_combined);
    }
}

fn merge_map<K: Eq + Hash>(into: &mut HashMap<K, Count>, from: HashMap<K, Count>) {
    for (key, count) in from {
        into.entry(key).or_default().add(&count);
    }
}

fn in_order_if<K: Ord>(is_much: bool, counts: HashMap<K, Count>) -> Vec<(K, Count)> {
    let mut counts: Vec<(K, Count)> = counts.into_iter().collect();
    if is_much {
        counts.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    }
    counts
}

fn row_at(batch: &RowBatch, at: usize) -> Row<'_> {
    Row {
        batch,
        at,
        dir: b"",
    }
}

fn project(row: &Row<'_>) -> Option<u32> {
    let stored = row.batch.project.get(row.at).copied();
    stored.filter(|project| *project != NO_PROJECT)
}

/// Returns the bucket of a name in [`Stats::name_lengths`].
fn name_length(name: &[u8]) -> usize {
    name.len().min(NAME_LENGTHS - 1)
}

/// Returns the value of a trait, if the row has it.
fn key_of(by: Trait, row: &Row<'_>, now: Timestamp) -> Option<Key> {
    if by.is_of_files() && row.file_type() != FileType::Regular {
        return None;
    }
    Some(match by {
        Trait::Type => Key::Type(row.file_type()),
        Trait::Extension => Key::Extension(extension(row.name()).to_vec()),
        Trait::Size => Key::Bucket(size_bucket(row.size())),
        Trait::Modified => Key::Bucket(age_bucket(now, row.mtime())),
        Trait::Accessed => Key::Bucket(age_bucket(now, row.atime())),
        Trait::Changed => Key::Bucket(age_bucket(now, row.ctime())),
        Trait::Owner => Key::Id(row.uid().0),
        Trait::Group => Key::Id(row.gid().0),
        Trait::Project => Key::Id(project(row)?),
        Trait::NameLength => Key::Bucket(name_length(row.name())),
        Trait::Depth | Trait::Fullness => return None,
    })
}

/// Returns the bucket of a size in [`Stats::sizes`]: 0 for size 0, otherwise
/// one more than the exponent of the greatest power of two that is not larger.
pub fn size_bucket(size: u64) -> usize {
    (u64::BITS - size.leading_zeros()) as usize
}

/// Returns the bucket of a time in [`Stats::ages`].
pub fn age_bucket(now: Timestamp, time: Timestamp) -> usize {
    let age_secs = now.secs.saturating_sub(time.secs);
    // In whole seconds, like the bounds.
    let age_secs = age_secs.saturating_sub(i64::from(now.nanos < time.nanos));
    AGE_BOUNDS_SECS
        .iter()
        .filter(|bound| **bound <= age_secs)
        .count()
}

/// Returns the part of a name after its last dot; empty if there is no dot,
/// nothing or too much after it, or the name begins with it.
pub fn extension(name: &[u8]) -> &[u8] {
    match name.iter().rposition(|byte| *byte == b'.') {
        Some(dot) if dot > 0 && name.len() - dot - 1 <= LONGEST_EXTENSION => &name[dot + 1..],
        _ => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_extensions_that_people_mean() {
        let cases = [
            ("a.c", "c"),
            ("a.tar.gz", "gz"),
            (".bashrc", ""),
            ("a.", ""),
            ("a", ""),
            (".a.b", "b"),
        ];
        for (name, expected) in cases {
            assert_eq!(extension(name.as_bytes()), expected.as_bytes(), "{name}");
        }
    }

    #[test]
    fn buckets_have_their_bounds() {
        assert_eq!(
            [0, 1, 2, 3, 4, u64::MAX].map(size_bucket),
            [0, 1, 2, 2, 3, 64]
        );
        let now = Timestamp {
            secs: 10_000_000,
            nanos: 5,
        };
        let bucket = |secs, nanos| age_bucket(now, Timestamp { secs, nanos });
        assert_eq!(bucket(10_000_001, 0), 0);
        assert_eq!(bucket(10_000_000 - 3600, 6), 0);
        assert_eq!(bucket(10_000_000 - 3600, 5), 1);
        assert_eq!(bucket(i64::MIN, 0), AGE_BUCKETS - 1);
    }

    #[test]
    fn too_many_extensions_become_others() {
        let mut stats = Stats::default();
        let one = Count {
            entries: 1,
            ..Count::default()
        };
        for n in 0..MOST_EXTENSIONS + 5 {
            stats.add_extension(n.to_string().as_bytes(), &one);
        }
        assert_eq!(
            (stats.extensions.len(), stats.other_extensions.entries),
            (MOST_EXTENSIONS, 5)
        );
    }
}
