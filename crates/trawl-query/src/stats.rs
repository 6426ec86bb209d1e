//! Counts and sizes of the entries of a scope by type, extension, size, age
//! and owner.

use crate::error::Result;
use crate::index::{Index, Start};
use crate::walk::{Listing, Request};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::Row;
use trawl_model::{FileType, Gid, Timestamp, Uid};

/// Distinct extensions that are kept apart; what comes after is
/// [`Stats::other_extensions`].
const MOST_EXTENSIONS: usize = 100_000;
/// Longer "extensions" are counted as none.
const LONGEST_EXTENSION: usize = 32;

/// Ages by which files are told apart: less than this many seconds.
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
/// Number of age buckets: one before the first bound (and the future), one
/// after the last.
pub const AGE_BUCKETS: usize = AGE_BOUNDS_SECS.len() + 1;

/// A number of entries and what they take up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Entries.
    pub entries: u64,
    /// Sum of apparent sizes, bytes.
    pub size_bytes: u64,
    /// Sum of allocated 512-byte units.
    pub blocks: u64,
}

impl Count {
    fn add(&mut self, other: &Count) {
        self.entries = self.entries.wrapping_add(other.entries);
        self.size_bytes = self.size_bytes.wrapping_add(other.size_bytes);
        self.blocks = self.blocks.wrapping_add(other.blocks);
    }
}

/// Entries of a scope in groups. Each name counts, links or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// By type.
    pub types: HashMap<FileType, Count>,
    /// Regular files by what follows the last dot of their name, if that
    /// does not begin with it; the empty key is those without.
    pub extensions: HashMap<Vec<u8>, Count>,
    /// Regular files with extensions that came after very many others.
    pub other_extensions: Count,
    /// Regular files by size: [`size_bucket`].
    pub sizes: [Count; SIZE_BUCKETS],
    /// Regular files by the age of their content: [`AGE_BOUNDS_SECS`].
    pub ages: [Count; AGE_BUCKETS],
    /// All entries by owner.
    pub owners: HashMap<Uid, Count>,
    /// All entries by owning group.
    pub groups: HashMap<Gid, Count>,
}

impl Default for Stats {
    fn default() -> Stats {
        Stats {
            types: HashMap::new(),
            extensions: HashMap::new(),
            other_extensions: Count::default(),
            sizes: [Count::default(); SIZE_BUCKETS],
            ages: [Count::default(); AGE_BUCKETS],
            owners: HashMap::new(),
            groups: HashMap::new(),
        }
    }
}

/// What statistics are asked for.
#[derive(Clone, Copy, Debug)]
pub struct StatsRequest<'a> {
    /// The time that ages are counted from.
    pub now: Timestamp,
    /// Threads; as many as there are processors if `None`.
    pub threads: Option<NonZeroUsize>,
    /// Ends it with [`QueryError::Cancelled`](crate::QueryError::Cancelled)
    /// soon after it is set.
    pub cancel: Option<&'a AtomicBool>,
}

impl Index {
    /// Groups everything below `start`, and `start` itself.
    pub fn stats(&self, start: &Start, request: &StatsRequest<'_>) -> Result<Stats> {
        let walk = Request {
            columns: ColumnSet::of(&[
                Column::Name,
                Column::Mode,
                Column::Uid,
                Column::Gid,
                Column::Size,
                Column::Blocks,
                Column::Mtime,
                Column::MtimeNs,
            ]),
            threads: request.threads,
            cancel: request.cancel,
            ..Request::default()
        };
        let mut all = Stats::default();
        let own = Listing {
            dir: &crate::walk::DirInfo {
                path: b"",
                depth: 0,
                rows: 1,
            },
            batch: &start.row,
            range: &(0..start.row.len.min(1)),
        };
        let work = |listing: &Listing<'_>, stats: &mut Stats| stats.count(listing, request.now);
        work(&own, &mut all);
        self.walk(start, &walk, work, |stats: Stats| {
            all.merge(stats);
            ControlFlow::Continue(())
        })?;
        Ok(all)
    }
}

impl Stats {
    fn count(&mut self, listing: &Listing<'_>, now: Timestamp) {
        let (batch, dir) = (listing.batch, listing.dir.path);
        for at in listing.range.clone() {
            let row = Row { batch, at, dir };
            let one = Count {
                entries: 1,
                size_bytes: row.size(),
                blocks: row.blocks(),
            };
            let kind = row.file_type();
            self.types.entry(kind).or_default().add(&one);
            self.owners.entry(row.uid()).or_default().add(&one);
            self.groups.entry(row.gid()).or_default().add(&one);
            if kind == FileType::Regular {
                self.sizes[size_bucket(row.size())].add(&one);
                self.ages[age_bucket(now, row.mtime())].add(&one);
                self.add_extension(extension(row.name()), &one);
            }
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

    fn merge(&mut self, other: Stats) {
        for (kind, count) in &other.types {
            self.types.entry(*kind).or_default().add(count);
        }
        for (owner, count) in &other.owners {
            self.owners.entry(*owner).or_default().add(count);
        }
        for (group, count) in &other.groups {
            self.groups.entry(*group).or_default().add(count);
        }
        for (bucket, count) in self.sizes.iter_mut().zip(&other.sizes) {
            bucket.add(count);
        }
        for (bucket, count) in self.ages.iter_mut().zip(&other.ages) {
            bucket.add(count);
        }
        // In a fixed order, so that which are "other" is always the same.
        let mut extensions: Vec<_> = other.extensions.into_iter().collect();
        if self.extensions.len() + extensions.len() > MOST_EXTENSIONS {
            extensions.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        }
        for (extension, count) in extensions {
            self.add_extension(&extension, &count);
        }
        self.other_extensions.add(&other.other_extensions);
    }
}

/// Which of [`Stats::sizes`] a size belongs to: 0 for 0, else one more than
/// the greatest power of two that is not larger.
pub fn size_bucket(size: u64) -> usize {
    (u64::BITS - size.leading_zeros()) as usize
}

/// Which of [`Stats::ages`] a time belongs to.
pub fn age_bucket(now: Timestamp, time: Timestamp) -> usize {
    let age_ns = now.as_nanos() - time.as_nanos();
    let is_younger = |bound: &&i64| age_ns < i128::from(**bound) * 1_000_000_000;
    AGE_BOUNDS_SECS
        .iter()
        .take_while(|bound| !is_younger(bound))
        .count()
}

/// What follows a name's last dot; empty if there is none, or nothing, or
/// too much, or if the name begins with it.
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
