//! Counts as rows under labels: which groups there are, what they are
//! called, and in which order they stand.

use std::collections::HashMap;

use trawl_model::FileType;
use trawl_query::{AGE_BUCKETS, Count, SIZE_BUCKETS, Stats};
use trawl_text::owners::{OwnerName, Owners};

/// Extensions that are named; the others are one row.
const EXTENSIONS_SHOWN: usize = 20;

/// What is counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub(crate) enum By {
    /// File, directory, symbolic link, …
    Type,
    /// What follows the last dot of a regular file's name
    Extension,
    /// Content of regular files
    Size,
    /// Time since the content of regular files changed
    Age,
    /// Owner
    Owner,
    /// Owning group
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

    /// True if only regular files are counted.
    pub(crate) const fn is_of_files(self) -> bool {
        matches!(self, By::Extension | By::Size | By::Age)
    }
}

/// One counted group.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Its kind.
    pub(crate) by: By,
    /// What programs read; `None` for what has no value, or for the rest.
    pub(crate) key: Option<Vec<u8>>,
    /// What people read.
    pub(crate) label: Vec<u8>,
    /// How much there is of it.
    pub(crate) count: Count,
}

/// Sizes of which each row ends where a power of two does: the number of
/// buckets of [`Stats::sizes`] up to it, and what the row is called.
const SIZES: [(usize, &str); 13] = [
    (1, "empty"),
    (11, "< 1 KiB"),
    (13, "< 4 KiB"),
    (15, "< 16 KiB"),
    (17, "< 64 KiB"),
    (19, "< 256 KiB"),
    (21, "< 1 MiB"),
    (25, "< 16 MiB"),
    (29, "< 256 MiB"),
    (31, "< 1 GiB"),
    (35, "< 16 GiB"),
    (41, "< 1 TiB"),
    (SIZE_BUCKETS, "≥ 1 TiB"),
];

/// What the buckets of [`Stats::ages`] are called.
const AGES: [&str; AGE_BUCKETS] = [
    "< 1 hour",
    "< 1 day",
    "< 1 week",
    "< 30 days",
    "< 90 days",
    "< 1 year",
    "< 2 years",
    "< 5 years",
    "≥ 5 years",
];

/// The groups of one kind.
pub(crate) fn groups(by: By, stats: &Stats, owners: &Owners) -> Vec<Group> {
    let labelled = |(label, count): (&str, Count)| group(by, Some(label.into()), label, count);
    match by {
        By::Type => types(stats),
        By::Extension => extensions(stats),
        By::Size => trimmed(sizes(stats)).into_iter().map(labelled).collect(),
        By::Age => {
            let rows = AGES.into_iter().zip(stats.ages).collect();
            trimmed(rows).into_iter().map(labelled).collect()
        }
        By::Owner => by_id(by, &stats.owners, |id| owners.user(id), |id| id.0),
        By::Group => by_id(by, &stats.groups, |id| owners.group(id), |id| id.0),
    }
}

/// Adds a count to another.
pub(crate) fn add(sum: &mut Count, more: &Count) {
    sum.entries = sum.entries.saturating_add(more.entries);
    sum.size_bytes = sum.size_bytes.saturating_add(more.size_bytes);
    sum.blocks = sum.blocks.saturating_add(more.blocks);
}

fn group(by: By, key: Option<Vec<u8>>, label: impl AsRef<[u8]>, count: Count) -> Group {
    Group {
        by,
        key,
        label: label.as_ref().to_vec(),
        count,
    }
}

/// The most frequent first.
fn types(stats: &Stats) -> Vec<Group> {
    let mut list: Vec<_> = stats
        .types
        .iter()
        .map(|(kind, count)| (*kind, *count))
        .collect();
    list.sort_by_key(|(kind, count)| (std::cmp::Reverse(count.entries), *kind));
    let row = |(kind, count): (FileType, Count)| {
        group(By::Type, Some(vec![kind.letter()]), type_name(kind), count)
    };
    list.into_iter().map(row).collect()
}

const fn type_name(kind: FileType) -> &'static str {
    match kind {
        FileType::Regular => "files",
        FileType::Directory => "directories",
        FileType::Symlink => "symbolic links",
        FileType::Fifo => "FIFOs",
        FileType::Socket => "sockets",
        FileType::Block => "block devices",
        FileType::Char => "character devices",
        FileType::Unknown => "unknown",
    }
}

/// The most frequent first, then all others in one row.
fn extensions(stats: &Stats) -> Vec<Group> {
    let mut list: Vec<(&[u8], Count)> = stats
        .extensions
        .iter()
        .map(|(name, count)| (name.as_slice(), *count))
        .collect();
    list.sort_by(|(a, x), (b, y)| y.entries.cmp(&x.entries).then(a.cmp(b)));
    let mut rest = stats.other_extensions;
    for (_, count) in list.drain(EXTENSIONS_SHOWN.min(list.len())..) {
        add(&mut rest, &count);
    }
    let row = |(name, count): (&[u8], Count)| match name {
        b"" => group(By::Extension, Some(Vec::new()), "(none)", count),
        name => group(
            By::Extension,
            Some(name.to_vec()),
            [b".", name].concat(),
            count,
        ),
    };
    let mut rows: Vec<Group> = list.into_iter().map(row).collect();
    if rest.entries > 0 {
        rows.push(group(By::Extension, None, "(others)", rest));
    }
    rows
}

fn sizes(stats: &Stats) -> Vec<(&'static str, Count)> {
    let mut rows = Vec::with_capacity(SIZES.len());
    let mut first = 0;
    for (end, label) in SIZES {
        let mut count = Count::default();
        let buckets = stats.sizes.get(first..end).unwrap_or_default();
        buckets.iter().for_each(|bucket| add(&mut count, bucket));
        rows.push((label, count));
        first = end;
    }
    rows
}

/// Without the empty rows at both ends.
fn trimmed(mut rows: Vec<(&'static str, Count)>) -> Vec<(&'static str, Count)> {
    while rows.last().is_some_and(|(_, count)| count.entries == 0) {
        rows.pop();
    }
    let empty = rows
        .iter()
        .take_while(|(_, count)| count.entries == 0)
        .count();
    rows.split_off(empty)
}

/// Those with most space first.
fn by_id<Id: Copy + Ord>(
    by: By,
    counts: &HashMap<Id, Count>,
    name: impl Fn(Id) -> OwnerName,
    number: impl Fn(Id) -> u32,
) -> Vec<Group> {
    let mut list: Vec<(Id, Count)> = counts.iter().map(|(id, count)| (*id, *count)).collect();
    list.sort_by_key(|(id, count)| (std::cmp::Reverse(count.blocks), *id));
    let row = |(id, count): (Id, Count)| {
        let label = name(id).map_or_else(|| number(id).to_string().into_bytes(), |n| n.to_vec());
        group(by, Some(label.clone()), label, count)
    };
    list.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::{Gid, Uid};
    use trawl_query::size_bucket;

    fn count(entries: u64) -> Count {
        Count {
            entries,
            ..Count::default()
        }
    }

    #[test]
    fn size_rows_end_where_they_say() {
        let mut stats = Stats::default();
        for size in [
            0,
            1,
            1023,
            1024,
            4095,
            4096,
            (1 << 40) - 1,
            1 << 40,
            u64::MAX,
        ] {
            add(&mut stats.sizes[size_bucket(size)], &count(1));
        }
        let rows: Vec<_> = sizes(&stats)
            .into_iter()
            .map(|(label, count)| (label, count.entries))
            .collect();
        let of = |label: &str| rows.iter().find(|row| row.0 == label).map(|row| row.1);
        assert_eq!(of("empty"), Some(1));
        assert_eq!(of("< 1 KiB"), Some(2));
        assert_eq!(of("< 4 KiB"), Some(2));
        assert_eq!(of("< 16 KiB"), Some(1));
        assert_eq!(of("< 1 TiB"), Some(1));
        assert_eq!(of("≥ 1 TiB"), Some(2));
    }

    #[test]
    fn extensions_beyond_the_shown_are_one_row() {
        let mut stats = Stats::default();
        for n in 0..30u64 {
            stats
                .extensions
                .insert(format!("e{n}").into_bytes(), count(n + 1));
        }
        stats.extensions.insert(Vec::new(), count(1000));
        let rows = groups(By::Extension, &stats, &Owners::default());
        assert_eq!(rows.len(), EXTENSIONS_SHOWN + 1);
        assert_eq!(rows[0].label, b"(none)");
        assert_eq!(rows[1].label, b".e29");
        let all: u64 = rows.iter().map(|row| row.count.entries).sum();
        assert_eq!(all, 1000 + 465);
    }

    #[test]
    fn ids_without_a_name_are_numbers() {
        let mut stats = Stats::default();
        stats.owners.insert(Uid(3_999_999_999), count(1));
        stats.groups.insert(Gid(0), count(2));
        let owners = Owners::default();
        assert_eq!(groups(By::Owner, &stats, &owners)[0].label, b"3999999999");
        assert_eq!(groups(By::Group, &stats, &owners)[0].label, b"root");
    }
}
