//! Counts as labelled rows: the groups, their labels and their order.

use std::cmp::Reverse;
use std::collections::HashMap;

use trawl_model::sort_key::Direction;
use trawl_model::{FileType, Gid, SortKey, Uid};
use trawl_query::{AGE_BUCKETS, Count, Key, SIZE_BUCKETS, Stats};
use trawl_text::owners::{OwnerName, Owners};

use super::kinds::{By, Kinds};

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
    /// Position among groups of the same kind that are equally large. Sizes, times, lengths and depths
    /// come in this order.
    pub place: SortKey,
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

/// Label of the row that combines the groups beyond a limit.
const OTHERS: &str = "(others)";

/// Returns the groups of one kind, in no particular order and with those that are empty.
pub(crate) fn groups(by: By, stats: &Stats, owners: &Owners) -> Vec<Group> {
    match by {
        By::Type => types(stats),
        By::Extension => extensions(stats),
        By::Size => numbered(by, &stats.sizes[..], &SIZES),
        By::Age => ages(by, &stats.ages),
        By::Accessed => ages(by, &stats.accessed),
        By::Changed => ages(by, &stats.changed),
        By::Owner => by_id(by, &stats.owners, |id| owners.user(id), |id| id.0),
        By::Group => by_id(by, &stats.groups, |id| owners.group(id), |id| id.0),
        By::Project => projects(stats),
        By::NameLength => lengths(by, &stats.name_lengths[..], &NAME_LENGTHS),
        By::Depth => lengths(by, &stats.depths[..], &[]),
        By::Fullness => fullness(stats),
    }
}

/// Returns the groups of several kinds counted together, in no particular order.
pub(crate) fn combined(kinds: &[By], stats: &Stats, owners: &Owners) -> Vec<Group> {
    let name = kinds
        .iter()
        .map(|by| by.name())
        .collect::<Vec<_>>()
        .join(",");
    let row = |(keys, count): (&Vec<Key>, &Count)| {
        let parts = kinds
            .iter()
            .zip(keys)
            .map(|(by, key)| label(*by, key, owners));
        let label = parts.collect::<Vec<_>>().join(&b", "[..]);
        Group {
            by: name.clone(),
            place: keys.iter().fold(SortKey::default(), after),
            ..group(kinds[0], Some(label.clone()), label, *count)
        }
    };
    // The index counts sizes in more buckets than have labels of their own.
    let mut sums = Sums {
        most_bytes: usize::MAX,
        ..Sums::default()
    };
    stats.combined.iter().map(row).for_each(|row| {
        sums.add(row);
    });
    sums.add(Group {
        by: name.clone(),
        ..group(kinds[0], None, OTHERS, stats.other_combined)
    });
    sums.into_groups()
}

/// Returns a position with a key after its other parts.
fn after(place: SortKey, key: &Key) -> SortKey {
    let number = |place: SortKey, number: i128| place.number(Some(number), Direction::Up);
    match key {
        Key::Type(kind) => number(place, *kind as i128),
        Key::Extension(extension) => place.text(extension, Direction::Up),
        Key::Bucket(bucket) => number(place, *bucket as i128),
        Key::Id(id) => number(place, i128::from(*id)),
    }
}

fn place_of(key: &Key) -> SortKey {
    after(SortKey::default(), key)
}

/// Puts all groups of a kind in order: types and extensions by their entries, owners, groups, projects
/// and several kinds counted together by their space, all others by what they stand for. Of kinds that
/// can have very many groups, those after the first `limit` become one.
pub fn arranged(kinds: &Kinds, mut rows: Vec<Group>, limit: usize) -> Vec<Group> {
    let largest_first: Option<fn(&Count) -> u64> = match &kinds.0[..] {
        [By::Type | By::Extension] => Some(|count| count.entries),
        [By::Owner | By::Group | By::Project] => Some(|count| count.blocks),
        [_] => None,
        _ => Some(|count| count.blocks),
    };
    let mut others = None;
    if matches!(&kinds.0[..], [By::Extension] | [_, _, ..]) {
        others = rows.extract_if(.., |row| row.key.is_none()).next();
    }
    rows.sort_by(|a, b| {
        let size = |row: &Group| largest_first.map(|of| Reverse(of(&row.count)));
        size(a).cmp(&size(b)).then_with(|| a.place.cmp(&b.place))
    });
    if let Some(others) = &mut others {
        for row in rows.drain(limit.min(rows.len())..) {
            others.count.add(&row.count);
        }
    }
    let is_empty = |row: &Group| row.count.entries == 0 && row.directories.is_none_or(|n| n == 0);
    if matches!(
        &kinds.0[..],
        [By::Size | By::Age | By::Accessed | By::Changed]
    ) {
        // Empty rows between others show that nothing is there.
        while rows.pop_if(|row| is_empty(row)).is_some() {}
        let first = rows.iter().position(|row| !is_empty(row));
        rows.drain(..first.unwrap_or(0));
    } else {
        rows.retain(|row| !is_empty(row));
    }
    rows.extend(others.filter(|others| others.count.entries > 0));
    rows
}

/// Sums of groups, those of several machines for example: groups with the same key and label are one.
///
/// Other machines may send anything, so that the size of all keys and labels is bounded.
#[derive(Debug)]
pub struct Sums {
    groups: HashMap<(Option<Vec<u8>>, Vec<u8>), Group>,
    bytes: usize,
    most_bytes: usize,
}

/// Most bytes of groups from other machines: several times those that an index counts apart.
const MOST_BYTES: usize = 256 << 20;

impl Default for Sums {
    fn default() -> Sums {
        Sums {
            groups: HashMap::new(),
            bytes: 0,
            most_bytes: MOST_BYTES,
        }
    }
}

impl Sums {
    /// Adds a group to the one with the same key and label; `None` if there are too many.
    pub fn add(&mut self, group: Group) -> Option<()> {
        let identity = (group.key.clone(), group.label.clone());
        if let Some(known) = self.groups.get_mut(&identity) {
            known.count.add(&group.count);
            known.place = known.place.clone().min(group.place);
            let directories = known.directories.zip(group.directories);
            known.directories = directories.map(|(a, b)| a.saturating_add(b));
            return Some(());
        }
        let texts = 2 * group.label.len() + 2 * group.key.as_ref().map_or(0, Vec::len);
        self.bytes += texts + size_of::<Group>();
        if self.bytes > self.most_bytes {
            return None;
        }
        self.groups.insert(identity, group);
        Some(())
    }

    /// Returns the groups, in no particular order.
    #[must_use]
    pub fn into_groups(self) -> Vec<Group> {
        self.groups.into_values().collect()
    }
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

fn ages(by: By, counts: &[Count; AGE_BUCKETS]) -> Vec<Group> {
    let rows: Vec<(usize, &str)> = (1..).zip(AGES).collect();
    numbered(by, counts, &rows)
}

fn projects(stats: &Stats) -> Vec<Group> {
    let row = |(id, count): (&Option<u32>, &Count)| {
        let label = id.map_or_else(|| b"(none known)".to_vec(), number);
        Group {
            id: *id,
            place: SortKey::default().number(id.map(i128::from), Direction::Up),
            ..group(By::Project, id.map(number), label, *count)
        }
    };
    stats.projects.iter().map(row).collect()
}

/// Ends of the rows of name lengths.
const NAME_LENGTHS: [usize; 9] = [4, 8, 12, 16, 24, 32, 64, 128, 256];

/// Returns a row for each number of `ends`: the buckets from the one before on.
fn numbered(by: By, counts: &[Count], ends: &[(usize, &str)]) -> Vec<Group> {
    let mut first = 0;
    let row = |(end, label): &(usize, &str)| {
        let mut count = Count::default();
        let part = counts.get(first..*end).unwrap_or_default();
        part.iter().for_each(|more| count.add(more));
        let place = place_of(&Key::Bucket(first));
        first = *end;
        Group {
            place,
            ..group(by, Some((*label).into()), label, count)
        }
    };
    ends.iter().map(row).collect()
}

/// Returns rows for numbers from 0 on: each ends at one of `ends`, or has a single number if `ends`
/// is empty.
fn lengths(by: By, counts: &[Count], ends: &[usize]) -> Vec<Group> {
    let each: Vec<usize> = (1..=counts.len()).collect();
    let ends = if ends.is_empty() { &each[..] } else { ends };
    let firsts = [0].iter().chain(ends);
    let labels: Vec<(usize, String)> = firsts
        .zip(ends)
        .map(|(first, end)| match end - first {
            1 => (*end, first.to_string()),
            _ => (*end, format!("{first} to {}", end - 1)),
        })
        .collect();
    let labels: Vec<(usize, &str)> = labels
        .iter()
        .map(|(end, label)| (*end, &label[..]))
        .collect();
    numbered(by, counts, &labels)
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
            place: place_of(&Key::Bucket(bucket)),
            ..group(By::Fullness, Some(label.clone().into()), label, *count)
        }
    };
    stats.fullness.iter().enumerate().map(row).collect()
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
        place: SortKey::default(),
    }
}

fn types(stats: &Stats) -> Vec<Group> {
    let row = |(kind, count): (&FileType, &Count)| Group {
        place: place_of(&Key::Type(*kind)),
        ..group(
            By::Type,
            Some(vec![kind.letter()]),
            type_name(*kind),
            *count,
        )
    };
    stats.types.iter().map(row).collect()
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

fn extensions(stats: &Stats) -> Vec<Group> {
    let row = |(name, count): (&Vec<u8>, &Count)| {
        let label = match &name[..] {
            b"" => b"(none)".to_vec(),
            name => [b".", name].concat(),
        };
        Group {
            place: SortKey::default().text(name, Direction::Up),
            ..group(By::Extension, Some(name.clone()), label, *count)
        }
    };
    let others = group(By::Extension, None, OTHERS, stats.other_extensions);
    let rows = stats.extensions.iter().map(row);
    rows.chain([others]).collect()
}

fn by_id<Id: Copy>(
    by: By,
    counts: &HashMap<Id, Count>,
    name: impl Fn(Id) -> OwnerName,
    number_of: impl Fn(Id) -> u32,
) -> Vec<Group> {
    let row = |(id, count): (&Id, &Count)| {
        let label = name(*id).map_or_else(|| number(number_of(*id)), |n| n.to_vec());
        let id = number_of(*id);
        Group {
            id: Some(id),
            place: place_of(&Key::Id(id)),
            ..group(by, Some(label.clone()), label, *count)
        }
    };
    counts.iter().map(row).collect()
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

    fn of(by: By, stats: &Stats) -> Vec<Group> {
        arranged(&by.into(), groups(by, stats, &Owners::default()), 20)
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
        let rows = groups(By::Size, &stats, &Owners::default());
        let of = |label: &str| {
            let row = rows.iter().find(|row| row.label == label.as_bytes());
            row.map(|row| row.count.entries)
        };
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
        let rows = of(By::Extension, &stats);
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
        assert_eq!(of(By::Owner, &stats)[0].label, b"3999999999");
        assert_eq!(of(By::Group, &stats)[0].label, b"root");
    }

    #[test]
    fn kinds_counted_together_have_one_row_for_each_label() {
        let mut stats = Stats::default();
        for size in [128 << 10, 64 << 10, 1 << 20] {
            let bucket = size_bucket(size);
            let keys = vec![Key::Type(FileType::Regular), Key::Bucket(bucket)];
            stats.combined.insert(keys, count(bucket as u64));
        }
        let kinds = Kinds::new(By::Type, &[By::Size]).unwrap();
        let rows = combined(&kinds.0, &stats, &Owners::default());
        let rows = arranged(&kinds, rows, 20);
        let rows: Vec<_> = rows
            .iter()
            .map(|row| (String::from_utf8_lossy(&row.label), row.count.entries))
            .collect();
        let [small, large] = [128 << 10, 1 << 20].map(|size| size_bucket(size) as u64);
        assert_eq!(
            rows,
            [
                ("files, < 256 KiB".into(), 2 * small - 1),
                ("files, < 16 MiB".into(), large)
            ]
        );
    }

    #[test]
    fn empty_rows_are_shown_between_others_only() {
        let mut stats = Stats::default();
        for size in [1, 1 << 30] {
            stats.sizes[size_bucket(size)].add(&count(1));
        }
        let rows = of(By::Size, &stats);
        let entries: Vec<u64> = rows.iter().map(|row| row.count.entries).collect();
        assert_eq!(rows[0].label, b"< 1 KiB");
        assert_eq!(entries, [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert!(of(By::Age, &stats).is_empty());
        stats.depths[0].add(&count(1));
        stats.depths[5].add(&count(1));
        assert_eq!(of(By::Depth, &stats).len(), 2);
    }

    #[test]
    fn sums_of_parts_are_the_groups_of_the_whole() {
        let parts = [0, 1].map(|part: u64| {
            let mut stats = Stats::default();
            for number in 0..9u64 {
                let id = 100 + (number * 7 + part * 3) % 11;
                let more = Count {
                    entries: 1 + number % 3,
                    size_bytes: 1 << number,
                    blocks: number / 2,
                };
                stats.owners.entry(Uid(id as u32)).or_default().add(&more);
                let name = format!("x{}", (number + part) % 6).into_bytes();
                stats.extensions.entry(name.clone()).or_default().add(&more);
                stats.sizes[(number * (1 + part)) as usize].add(&more);
                stats.fullness[number as usize].0 += part;
                stats.fullness[number as usize].1.add(&more);
                stats.types.entry(FileType::Fifo).or_default().add(&more);
                let keys = vec![Key::Id(id as u32), Key::Extension(name)];
                stats.combined.entry(keys).or_default().add(&more);
            }
            stats.other_extensions = count(part);
            stats
        });
        let mut whole = Stats::default();
        for part in &parts {
            whole.merge(part.clone());
            // The index counts directories after it has merged.
            for (sum, more) in whole.fullness.iter_mut().zip(&part.fullness) {
                sum.0 += more.0;
                sum.1.add(&more.1);
            }
        }
        let owners = Owners::default();
        let both = Kinds::new(By::Owner, &[By::Extension]).unwrap();
        let alone = By::ALL.map(Kinds::from);
        for kinds in alone.into_iter().chain([both]) {
            let all = |stats: &Stats| match &kinds.0[..] {
                [by] => groups(*by, stats, &owners),
                several => combined(several, stats, &owners),
            };
            let mut sums = Sums::default();
            for group in parts.iter().flat_map(all) {
                sums.add(group).unwrap();
            }
            for limit in [0, 3, usize::MAX] {
                let of_parts = sums.groups.values().cloned().collect();
                let of_parts = arranged(&kinds, of_parts, limit);
                let of_whole = arranged(&kinds, all(&whole), limit);
                assert_eq!(format!("{of_parts:?}"), format!("{of_whole:?}"));
            }
        }
    }

    #[test]
    fn too_many_groups_are_refused() {
        let mut sums = Sums {
            most_bytes: 100 * size_of::<Group>(),
            ..Sums::default()
        };
        let named = |number: usize| {
            let name = format!("user{number}").into_bytes();
            group(By::Owner, Some(name.clone()), name, count(1))
        };
        let taken = (0..200).take_while(|number| sums.add(named(*number)).is_some());
        assert!((50..100).contains(&taken.count()));
        assert!(sums.add(named(0)).is_some(), "it is known");
    }
}
