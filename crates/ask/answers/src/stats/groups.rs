//! Counts as labelled rows: the groups, their labels and their order.

use std::collections::HashMap;

use trawl_model::{FileType, Gid, Uid};
use trawl_query::{AGE_BUCKETS, Count, Key, SIZE_BUCKETS, Stats};
use trawl_text::owners::{OwnerName, Owners};

use super::kinds::By;

/// A counted group.
#[derive(Clone, Debug)]
pub struct Group {
    /// Name of the kind, or of several kinds joined by commas.
    pub by: String,
    /// True if only regular files are counted.
    pub is_of_files: bool,
    /// Value for programs; `None` for entries without a value, or for the rest.
    pub key: Option<Vec<u8>>,
    /// Number of the owner, the owning group or the project.
    pub id: Option<u32>,
    /// Label for people.
    pub label: Vec<u8>,
    /// Number of entries and bytes.
    pub count: Count,
    /// Number of directories, for groups of directories.
    pub directories: Option<u64>,
}

/// Rows of sizes, each ending at a power of two: the number of buckets of [`Stats::sizes`] up to
/// its end, and its label.
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

/// Labels of the buckets of [`Stats::ages`].
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

/// Returns the groups of one kind. Extensions after the first `shown` are combined into one row.
pub(crate) fn groups(by: By, stats: &Stats, owners: &Owners, shown: usize) -> Vec<Group> {
    let labelled = |(label, count): (&str, Count)| group(by, Some(label.into()), label, count);
    match by {
        By::Type => types(stats),
        By::Extension => extensions(stats, shown),
        By::Size => trimmed(sizes(stats)).into_iter().map(labelled).collect(),
        By::Age => ages(&stats.ages).into_iter().map(labelled).collect(),
        By::Accessed => ages(&stats.accessed).into_iter().map(labelled).collect(),
        By::Changed => ages(&stats.changed).into_iter().map(labelled).collect(),
        By::Owner => by_id(by, &stats.owners, |id| owners.user(id), |id| id.0),
        By::Group => by_id(by, &stats.groups, |id| owners.group(id), |id| id.0),
        By::Project => projects(stats),
        By::NameLength => numbered(by, &stats.name_lengths[..], &NAME_LENGTHS),
        By::Depth => numbered(by, &stats.depths[..], &[]),
        By::Fullness => fullness(stats),
    }
}

/// Returns the groups of several kinds counted together, the one with most space first. Groups
/// after the first `limit` are combined into one row.
pub(crate) fn combined(kinds: &[By], stats: &Stats, owners: &Owners, limit: usize) -> Vec<Group> {
    let name = kinds
        .iter()
        .map(|by| by.name())
        .collect::<Vec<_>>()
        .join(",");
    let mut list: Vec<(&Vec<Key>, Count)> = stats.combined.iter().map(|(k, c)| (k, *c)).collect();
    list.sort_by(|(a, x), (b, y)| y.blocks.cmp(&x.blocks).then(a.cmp(b)));
    let mut rest = stats.other_combined;
    for (_, count) in list.drain(limit.min(list.len())..) {
        rest.add(&count);
    }
    let row = |(keys, count): (&Vec<Key>, Count)| {
        let parts = kinds
            .iter()
            .zip(keys)
            .map(|(by, key)| label(*by, key, owners));
        let label = parts.collect::<Vec<_>>().join(&b", "[..]);
        Group {
            by: name.clone(),
            ..group(kinds[0], Some(label.clone()), label, count)
        }
    };
    let mut rows: Vec<Group> = list.into_iter().map(row).collect();
    if rest.entries > 0 {
        rows.push(Group {
            by: name.clone(),
            ..group(kinds[0], None, "(others)", rest)
        });
    }
    rows
}

/// Returns the label of a key.
fn label(by: By, key: &Key, owners: &Owners) -> Vec<u8> {
    let named = |name: OwnerName, id: &u32| name.map_or_else(|| number(*id), |n| n.to_vec());
    match (by, key) {
        (_, Key::Type(kind)) => type_name(*kind).into(),
        (_, Key::Extension(extension)) if extension.is_empty() => b"(no extension)".to_vec(),
        (_, Key::Extension(extension)) => [&b"."[..], extension].concat(),
        (By::Owner, Key::Id(id)) => named(owners.user(Uid(*id)), id),
        (By::Group, Key::Id(id)) => named(owners.group(Gid(*id)), id),
        (_, Key::Id(id)) => number(*id),
        (By::Size, Key::Bucket(bucket)) => {
            let row = SIZES.iter().find(|(end, _)| bucket < end);
            row.map_or("", |(_, label)| label).into()
        }
        (By::NameLength, Key::Bucket(bucket)) => number(*bucket as u32),
        (_, Key::Bucket(bucket)) => AGES.get(*bucket).copied().unwrap_or_default().into(),
    }
}

fn number(id: u32) -> Vec<u8> {
    id.to_string().into_bytes()
}

fn ages(counts: &[Count; AGE_BUCKETS]) -> Vec<(&'static str, Count)> {
    trimmed(AGES.into_iter().zip(*counts).collect())
}

fn projects(stats: &Stats) -> Vec<Group> {
    let mut list: Vec<_> = stats
        .projects
        .iter()
        .map(|(id, count)| (*id, *count))
        .collect();
    list.sort_by_key(|(id, count)| (std::cmp::Reverse(count.blocks), *id));
    let row = |(id, count): (Option<u32>, Count)| match id {
        Some(id) => Group {
            id: Some(id),
            ..group(By::Project, Some(number(id)), number(id), count)
        },
        None => group(By::Project, None, "(none known)", count),
    };
    list.into_iter().map(row).collect()
}

/// Ends of the rows of name lengths.
const NAME_LENGTHS: [usize; 9] = [4, 8, 12, 16, 24, 32, 64, 128, 256];

/// Returns rows for numbers from 0 on: each ends at one of `ends`, or has a single number if `ends`
/// is empty.
fn numbered(by: By, counts: &[Count], ends: &[usize]) -> Vec<Group> {
    let each: Vec<usize> = (1..=counts.len()).collect();
    let mut rows = Vec::new();
    let mut first = 0;
    for end in if ends.is_empty() { &each[..] } else { ends } {
        let mut count = Count::default();
        let part = counts.get(first..*end).unwrap_or_default();
        part.iter().for_each(|more| count.add(more));
        let label = match end - first {
            1 => first.to_string(),
            _ => format!("{first} to {}", end - 1),
        };
        let key = Some(label.clone().into_bytes());
        if count.entries > 0 {
            rows.push(group(by, key, label, count));
        }
        first = *end;
    }
    rows
}

/// Returns rows of directories by the number of their entries.
fn fullness(stats: &Stats) -> Vec<Group> {
    let row = |(bucket, (directories, count)): (usize, &(u64, Count))| {
        let label = match bucket {
            0 => "no entries".to_owned(),
            1 => "1 entry".to_owned(),
            _ => format!(
                "{} to {} entries",
                1u64 << (bucket - 1),
                (1u128 << bucket) - 1
            ),
        };
        Group {
            directories: Some(*directories),
            ..group(By::Fullness, Some(label.clone().into()), label, *count)
        }
    };
    let rows = stats.fullness.iter().enumerate().map(row);
    rows.filter(|row| row.directories != Some(0)).collect()
}

fn group(by: By, key: Option<Vec<u8>>, label: impl AsRef<[u8]>, count: Count) -> Group {
    Group {
        by: by.name().to_owned(),
        is_of_files: by.of_index().is_of_files(),
        key,
        id: None,
        label: label.as_ref().to_vec(),
        count,
        directories: None,
    }
}

/// Returns the types, the most frequent first.
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

/// Returns the extensions, the most frequent first, and the rest combined into one row.
fn extensions(stats: &Stats, shown: usize) -> Vec<Group> {
    let mut list: Vec<(&[u8], Count)> = stats
        .extensions
        .iter()
        .map(|(name, count)| (name.as_slice(), *count))
        .collect();
    list.sort_by(|(a, x), (b, y)| y.entries.cmp(&x.entries).then(a.cmp(b)));
    let mut rest = stats.other_extensions;
    for (_, count) in list.drain(shown.min(list.len())..) {
        rest.add(&count);
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
        buckets.iter().for_each(|bucket| count.add(bucket));
        rows.push((label, count));
        first = end;
    }
    rows
}

/// Removes the empty rows at both ends.
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

/// Returns the groups by id, the one with most space first.
fn by_id<Id: Copy + Ord>(
    by: By,
    counts: &HashMap<Id, Count>,
    name: impl Fn(Id) -> OwnerName,
    number_of: impl Fn(Id) -> u32,
) -> Vec<Group> {
    let mut list: Vec<(Id, Count)> = counts.iter().map(|(id, count)| (*id, *count)).collect();
    list.sort_by_key(|(id, count)| (std::cmp::Reverse(count.blocks), *id));
    let row = |(id, count): (Id, Count)| {
        let label = name(id).map_or_else(|| number(number_of(id)), |n| n.to_vec());
        Group {
            id: Some(number_of(id)),
            ..group(by, Some(label.clone()), label, count)
        }
    };
    list.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
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
            stats.sizes[size_bucket(size)].add(&count(1));
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
        let rows = groups(By::Extension, &stats, &Owners::default(), 20);
        assert_eq!(rows.len(), 20 + 1);
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
        assert_eq!(
            groups(By::Owner, &stats, &owners, 20)[0].label,
            b"3999999999"
        );
        assert_eq!(groups(By::Group, &stats, &owners, 20)[0].label, b"root");
    }
}
