//! Counting rows by kind of thing: pure, one row at a time, tallies of
//! different threads added up in order.
//!
//! Entries count names. Bytes count each object once, however many names it
//! has: the first in path order has them, as for du.

use std::collections::{HashMap, HashSet};

use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::Row;
use trawl_model::{FileType, Timestamp};

/// The columns that [`Tally::add`] reads.
pub(crate) const COLUMNS: ColumnSet = ColumnSet::of(&[
    Column::Name,
    Column::Ino,
    Column::Dev,
    Column::Mode,
    Column::Nlink,
    Column::Uid,
    Column::Gid,
    Column::Size,
    Column::Blocks,
    Column::Mtime,
    Column::MtimeNs,
]);

/// What is counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub(crate) enum By {
    /// File, directory, symbolic link, …
    Type,
    /// What follows the last dot of a regular file's name.
    Extension,
    /// Apparent size of regular files.
    Size,
    /// Time since the last change of the content.
    Age,
    /// Owner.
    Owner,
    /// Owning group.
    Group,
}

impl By {
    /// Every kind, in the order in which they are shown.
    pub(crate) const ALL: [By; 6] = [
        By::Type,
        By::Extension,
        By::Size,
        By::Age,
        By::Owner,
        By::Group,
    ];

    /// The name that options and machine-readable output use.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            By::Type => "type",
            By::Extension => "extension",
            By::Size => "size",
            By::Age => "age",
            By::Owner => "owner",
            By::Group => "group",
        }
    }
}

/// Sums over some entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Names.
    pub(crate) entries: u64,
    /// Apparent size, bytes.
    pub(crate) size_bytes: u64,
    /// Allocated space, bytes.
    pub(crate) disk_bytes: u64,
}

impl Count {
    /// Adds another count.
    pub(crate) fn add(&mut self, other: Count) {
        self.entries = self.entries.saturating_add(other.entries);
        self.size_bytes = self.size_bytes.saturating_add(other.size_bytes);
        self.disk_bytes = self.disk_bytes.saturating_add(other.disk_bytes);
    }
}

/// What one entry is counted under.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Keys {
    kind: FileType,
    extension: Option<Vec<u8>>,
    size: Option<usize>,
    age: usize,
    uid: u32,
    gid: u32,
}

/// Exclusive upper bounds of the size buckets, bytes; a last bucket holds
/// the rest. The first is for empty files.
pub(crate) const SIZE_BOUNDS: [(u64, &str); 12] = [
    (1, "empty"),
    (1 << 10, "< 1 KiB"),
    (4 << 10, "< 4 KiB"),
    (16 << 10, "< 16 KiB"),
    (64 << 10, "< 64 KiB"),
    (256 << 10, "< 256 KiB"),
    (1 << 20, "< 1 MiB"),
    (16 << 20, "< 16 MiB"),
    (256 << 20, "< 256 MiB"),
    (1 << 30, "< 1 GiB"),
    (16 << 30, "< 16 GiB"),
    (1 << 40, "< 1 TiB"),
];
const SIZE_REST: &str = ">= 1 TiB";

const DAY: i64 = 86_400;

/// Exclusive upper bounds of the age buckets, seconds; a last bucket holds
/// the rest.
pub(crate) const AGE_BOUNDS: [(i64, &str); 10] = [
    (0, "in the future"),
    (DAY, "< 1 day"),
    (7 * DAY, "< 1 week"),
    (30 * DAY, "< 30 days"),
    (90 * DAY, "< 90 days"),
    (180 * DAY, "< 180 days"),
    (365 * DAY, "< 1 year"),
    (2 * 365 * DAY, "< 2 years"),
    (5 * 365 * DAY, "< 5 years"),
    (10 * 365 * DAY, "< 10 years"),
];
const AGE_REST: &str = ">= 10 years";

/// Counts by every kind at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Everything.
    pub(crate) all: Count,
    types: HashMap<FileType, Count>,
    extensions: HashMap<Vec<u8>, Count>,
    without_extension: Count,
    sizes: [Count; SIZE_BOUNDS.len() + 1],
    ages: [Count; AGE_BOUNDS.len() + 1],
    /// By user id.
    pub(crate) owners: HashMap<u32, Count>,
    /// By group id.
    pub(crate) groups: HashMap<u32, Count>,
    /// Entries with more names, in path order: decided on when tallies are
    /// added up.
    linked: Vec<((u64, u64), Keys, Count)>,
}

impl Tally {
    /// Counts a row; `now` is what ages are measured from.
    pub(crate) fn add(&mut self, row: &Row<'_>, now: Timestamp) {
        let kind = row.file_type();
        let regular = kind == FileType::Regular;
        let count = Count {
            entries: 1,
            size_bytes: row.size(),
            disk_bytes: row.blocks().saturating_mul(512),
        };
        let keys = Keys {
            kind,
            extension: if regular {
                extension(row.name()).map(<[u8]>::to_vec)
            } else {
                None
            },
            size: regular.then(|| bucket(&SIZE_BOUNDS, row.size())),
            age: bucket(&AGE_BOUNDS, age_secs(row.mtime(), now)),
            uid: row.uid().0,
            gid: row.gid().0,
        };
        if row.nlink() > 1 && kind != FileType::Directory {
            self.linked
                .push(((row.dev().as_u64(), row.ino()), keys, count));
        } else {
            self.count(keys, count);
        }
    }

    fn count(&mut self, keys: Keys, count: Count) {
        self.all.add(count);
        self.types.entry(keys.kind).or_default().add(count);
        self.ages[keys.age].add(count);
        self.owners.entry(keys.uid).or_default().add(count);
        self.groups.entry(keys.gid).or_default().add(count);
        if let Some(size) = keys.size {
            self.sizes[size].add(count);
            match keys.extension {
                Some(extension) => self.extensions.entry(extension).or_default().add(count),
                None => self.without_extension.add(count),
            }
        }
    }

    /// Adds the tally of rows that follow in path order; `seen` holds the
    /// linked objects so far.
    pub(crate) fn absorb(&mut self, other: Tally, seen: &mut HashSet<(u64, u64)>) {
        self.all.add(other.all);
        self.without_extension.add(other.without_extension);
        add_all(&mut self.types, other.types);
        add_all(&mut self.extensions, other.extensions);
        add_all(&mut self.owners, other.owners);
        add_all(&mut self.groups, other.groups);
        for (mine, theirs) in self.sizes.iter_mut().zip(other.sizes) {
            mine.add(theirs);
        }
        for (mine, theirs) in self.ages.iter_mut().zip(other.ages) {
            mine.add(theirs);
        }
        for (object, keys, mut count) in other.linked {
            if !seen.insert(object) {
                (count.size_bytes, count.disk_bytes) = (0, 0);
            }
            self.count(keys, count);
        }
    }

    /// Counts by type, the most frequent first.
    pub(crate) fn types(&self) -> Vec<(FileType, Count)> {
        let mut list: Vec<_> = self
            .types
            .iter()
            .map(|(key, count)| (*key, *count))
            .collect();
        list.sort_by_key(|(key, count)| (std::cmp::Reverse(count.entries), *key));
        list
    }

    /// The `limit` extensions with most files (`None`: files without one),
    /// and what all others have together.
    pub(crate) fn extensions(&self, limit: usize) -> (Vec<(Option<&[u8]>, Count)>, Count) {
        let mut list: Vec<_> = self
            .extensions
            .iter()
            .map(|(key, count)| (Some(key.as_slice()), *count))
            .collect();
        if self.without_extension.entries > 0 {
            list.push((None, self.without_extension));
        }
        list.sort_by(|(a, x), (b, y)| y.entries.cmp(&x.entries).then(a.cmp(b)));
        let mut rest = Count::default();
        for (_, count) in list.drain(limit.min(list.len())..) {
            rest.add(count);
        }
        (list, rest)
    }

    /// Counts by size bucket, smallest first, without empty ends.
    pub(crate) fn sizes(&self) -> Vec<(&'static str, Count)> {
        labelled(&SIZE_BOUNDS, SIZE_REST, &self.sizes)
    }

    /// Counts by age bucket, youngest first, without empty ends.
    pub(crate) fn ages(&self) -> Vec<(&'static str, Count)> {
        labelled(&AGE_BOUNDS, AGE_REST, &self.ages)
    }
}

fn add_all<K: std::hash::Hash + Eq>(mine: &mut HashMap<K, Count>, theirs: HashMap<K, Count>) {
    if mine.is_empty() {
        *mine = theirs;
        return;
    }
    for (key, count) in theirs {
        mine.entry(key).or_default().add(count);
    }
}

fn labelled<T>(
    bounds: &[(T, &'static str)],
    rest: &'static str,
    counts: &[Count],
) -> Vec<(&'static str, Count)> {
    let labels = bounds.iter().map(|(_, label)| *label).chain([rest]);
    let mut list: Vec<_> = labels.zip(counts.iter().copied()).collect();
    while list.last().is_some_and(|(_, count)| count.entries == 0) {
        list.pop();
    }
    let empty = list
        .iter()
        .take_while(|(_, count)| count.entries == 0)
        .count();
    list.split_off(empty)
}

/// The first bucket whose bound lies above `value`.
fn bucket<T: PartialOrd>(bounds: &[(T, &str)], value: T) -> usize {
    bounds.partition_point(|(bound, _)| *bound <= value)
}

fn age_secs(then: Timestamp, now: Timestamp) -> i64 {
    let nanos = now.as_nanos() - then.as_nanos();
    i64::try_from(nanos.div_euclid(1_000_000_000)).unwrap_or(i64::MAX)
}

/// What follows the last dot; `None` for names without
/// one, for `.profile` and for `name.`. Longer than 16 bytes it is no
/// extension but a part of the name.
fn extension(name: &[u8]) -> Option<&[u8]> {
    let dot = name.iter().rposition(|b| *b == b'.')?;
    let extension = &name[dot + 1..];
    (dot > 0 && !extension.is_empty() && extension.len() <= 16).then_some(extension)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::rows::RowBatch;

    struct File(&'static [u8], u32, u64, u64, u32, i64);

    fn batch(files: &[File]) -> RowBatch {
        let mut batch = RowBatch {
            len: files.len(),
            ..RowBatch::default()
        };
        for File(name, mode, ino, size, nlink, mtime) in files {
            batch.name.push(name);
            batch.mode.push(*mode);
            batch.ino.push(*ino);
            batch.size.push(*size);
            batch.blocks.push(size.div_ceil(512));
            batch.nlink.push(*nlink);
            batch.mtime.push(*mtime);
            batch.uid.push(*ino as u32 % 2);
        }
        batch
    }

    fn tally(batch: &RowBatch) -> Tally {
        let mut tally = Tally::default();
        for at in 0..batch.len {
            let now = Timestamp {
                secs: 1_000_000,
                nanos: 0,
            };
            tally.add(
                &Row {
                    batch,
                    at,
                    dir: b"/d",
                },
                now,
            );
        }
        tally
    }

    #[test]
    fn an_object_with_two_names_has_its_bytes_once() {
        let rows = batch(&[
            File(b"a.c", 0o100_644, 1, 1000, 2, 0),
            File(b"b.c", 0o100_644, 1, 1000, 2, 0),
            File(b"d", 0o040_755, 2, 4096, 2, 0),
        ]);
        let (mut sum, mut seen) = (Tally::default(), HashSet::new());
        sum.absorb(tally(&rows), &mut seen);
        sum.absorb(tally(&rows), &mut seen);
        assert_eq!(sum.all.entries, 6);
        assert_eq!(sum.all.size_bytes, 1000 + 2 * 4096);
        let (extensions, rest) = sum.extensions(20);
        assert_eq!(extensions[0].0, Some(&b"c"[..]));
        assert_eq!(
            (extensions[0].1.entries, extensions[0].1.disk_bytes),
            (4, 1024)
        );
        assert_eq!(rest, Count::default());
    }

    #[test]
    fn every_kind_adds_up_to_the_whole() {
        let rows = batch(&[
            File(b"x.tar.gz", 0o100_600, 1, 0, 1, 1_000_001),
            File(b".profile", 0o100_600, 2, 5 << 40, 1, i64::MIN),
            File(b"l", 0o120_777, 3, 9, 1, 999_999),
        ]);
        let mut sum = Tally::default();
        sum.absorb(tally(&rows), &mut HashSet::new());
        let total = |list: &[(&str, Count)]| list.iter().map(|(_, c)| c.entries).sum::<u64>();
        assert_eq!(total(&sum.ages()), 3);
        assert_eq!(total(&sum.sizes()), 2, "sizes are those of regular files");
        assert_eq!(
            sum.ages().first().map(|(label, _)| *label),
            Some("in the future")
        );
        assert_eq!(
            sum.sizes().last().map(|(label, _)| *label),
            Some(">= 1 TiB")
        );
        assert_eq!(sum.owners.values().map(|c| c.entries).sum::<u64>(), 3);
        let (top, rest) = sum.extensions(1);
        assert_eq!(top.len(), 1);
        assert_eq!(rest.entries, 1);
    }

    #[test]
    fn extensions_are_what_people_call_so() {
        for (name, want) in [
            (&b"a.c"[..], Some(&b"c"[..])),
            (b"a.tar.gz", Some(b"gz")),
            (b".profile", None),
            (b"a.", None),
            (b"README", None),
            (b"a.abcdefghijklmnopq", None),
            (b"\xff.\xfe", Some(b"\xfe")),
        ] {
            assert_eq!(extension(name), want, "{name:?}");
        }
    }

    #[test]
    fn bounds_rise() {
        assert!(SIZE_BOUNDS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(AGE_BOUNDS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(bucket(&SIZE_BOUNDS, 0), 0);
        assert_eq!(bucket(&SIZE_BOUNDS, 1), 1);
        assert_eq!(bucket(&SIZE_BOUNDS, u64::MAX), SIZE_BOUNDS.len());
    }
}
