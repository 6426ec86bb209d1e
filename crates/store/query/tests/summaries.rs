//! Compares counts, rankings, duplicates and lookups of many paths over random
//! trees with naive answers.

mod support;

use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use support::{Made, Random, Shape, Tree, made_of};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::filter::Filter;
use trawl_model::guard::Credentials;
use trawl_model::rows::Row;
use trawl_model::{FileType, Timestamp, path};
use trawl_query::{
    Alike, Count, DuplicateRequest, Entry, Index, Located, RankBy, RankEnd, RankRequest, Ranked,
    RowTest, Start, StatsRequest, Trait, age_bucket, extension, size_bucket,
};

struct Written {
    tree: Tree,
    index: Index,
    _dir: tempfile::TempDir,
}

fn written(seed: u64, root: &str, shape: Shape) -> Written {
    let dir = tempfile::tempdir().unwrap();
    let tree = Tree::random(seed, root, shape);
    let place = dir.path().join("index");
    tree.write(&place, &mut Random(seed ^ 7));
    Written {
        tree,
        index: Index::open(&place, Credentials::default()).unwrap(),
        _dir: dir,
    }
}

fn found(index: &Index, path: &[u8]) -> Start {
    match index.locate(path).unwrap() {
        Located::Found(start) => *start,
        other => panic!("{}: {other:?}", String::from_utf8_lossy(path)),
    }
}

/// Returns every entry below `start` with its path.
fn below<'t>(tree: &'t Tree, start: &[u8]) -> Vec<(Vec<u8>, &'t Made)> {
    let dirs = tree.within(start);
    let rows = dirs.into_iter().flat_map(|(dir, made)| {
        let row = |entry: &'t Made| (path::join(dir, &entry.name), entry);
        made.entries.iter().map(row).collect::<Vec<_>>()
    });
    rows.collect()
}

fn kind(made: &Made) -> FileType {
    FileType::from_mode(made.meta.mode)
}

fn any_start(tree: &Tree, random: &mut Random) -> Vec<u8> {
    tree.dirs[random.below(tree.dirs.len() as u64) as usize]
        .path
        .clone()
}

/// Accepts entries with one name and an even owner.
struct Single;

impl RowTest for Single {
    fn columns(&self) -> ColumnSet {
        ColumnSet::of(&[Column::Nlink, Column::Uid])
    }

    fn filter(&self) -> Filter {
        Filter::default()
    }

    fn depths(&self) -> (usize, Option<usize>) {
        (1, Some(4))
    }

    fn admits(&self, row: &Row<'_>, depth: usize) -> bool {
        row.nlink() == 1 && row.uid().0.is_multiple_of(2) && (1..=4).contains(&depth)
    }
}

fn count_of(made: &Made) -> Count {
    Count {
        entries: 1,
        size_bytes: made.meta.size,
        blocks: made.meta.blocks,
    }
}

const BY: [RankBy; 6] = [
    RankBy::Size,
    RankBy::Blocks,
    RankBy::Accessed,
    RankBy::Modified,
    RankBy::Changed,
    RankBy::Created,
];

fn key_of(made: &Made, by: RankBy) -> Option<i128> {
    Some(match by {
        RankBy::Size => made.meta.size.into(),
        RankBy::Blocks => made.meta.blocks.into(),
        RankBy::Accessed => made.meta.atime.as_nanos(),
        RankBy::Modified => made.meta.mtime.as_nanos(),
        RankBy::Changed => made.meta.ctime.as_nanos(),
        _ => made.meta.btime?.as_nanos(),
    })
}

/// Returns the keys and paths of the expected ranking.
fn naive_ranking(
    tree: &Tree,
    start: &[u8],
    by: RankBy,
    end: RankEnd,
    of: Ranked,
) -> Vec<(i128, Vec<u8>)> {
    let depth = |path: &[u8]| path::depth(path) - path::depth(start);
    let mut all: Vec<(i128, Vec<u8>)> = below(tree, start)
        .into_iter()
        .filter(|(path, made)| {
            let is_in = made.meta.nlink == 1 && made.meta.uid.0 % 2 == 0;
            is_in
                && depth(path) <= 4
                && (of == Ranked::Everything || kind(made) == FileType::Regular)
        })
        .filter_map(|(path, made)| Some((key_of(made, by)?, path)))
        .collect();
    all.sort_by(|a, b| {
        let keys = match end {
            RankEnd::Greatest => b.0.cmp(&a.0),
            RankEnd::Least => a.0.cmp(&b.0),
        };
        keys.then_with(|| path::cmp(&a.1, &b.1))
    });
    all
}

fn assert_ranking(index: &Index, tree: &Tree, at: &[u8], request: &RankRequest<'_>) {
    let start = found(index, at);
    let got: Vec<Entry> = index.ranked(&start, request).unwrap();
    let wanted = naive_ranking(tree, at, request.by, request.end, request.of);
    let keys = |entry: &Entry| key_of(&made_of(&entry.row()), request.by).unwrap();
    let got_keys: Vec<i128> = got.iter().map(keys).collect();
    let limit = request.limit.min(wanted.len());
    let wanted_keys: Vec<i128> = wanted[..limit].iter().map(|(key, _)| *key).collect();
    assert_eq!(got_keys, wanted_keys, "{:?} {:?}", request.by, request.end);
    // The ranking does not define which of the equal entries at its end are
    // included.
    let last = wanted_keys.last().copied();
    for (entry, (key, path)) in got.iter().zip(&wanted) {
        assert!(wanted.iter().any(|(k, p)| k == key && *p == entry.path));
        if Some(*key) != last {
            assert_eq!(entry.path, *path);
        }
    }
}

/// Returns existing and missing paths.
fn any_paths(tree: &Tree, random: &mut Random) -> Vec<Vec<u8>> {
    let mut paths: Vec<Vec<u8>> = vec![tree.root.clone()];
    for dir in &tree.dirs {
        for entry in &dir.entries {
            let path = path::join(&dir.path, &entry.name);
            if random.one_in(5) {
                paths.push(path::join(&path, b"no such"));
            }
            if random.one_in(9) {
                paths.push(path::join(&path::join(&dir.path, b"none"), b"none"));
            }
            if random.one_in(3) {
                paths.push(path);
            }
        }
    }
    paths.push(b"/elsewhere".to_vec());
    let again = paths[paths.len() / 2].clone();
    paths.push(again);
    for at in 0..paths.len() {
        let other = random.below(paths.len() as u64) as usize;
        paths.swap(at, other);
    }
    paths
}

fn told(located: &Located) -> String {
    match located {
        Located::Found(start) => format!(
            "{:?} {} {:?}",
            start.path,
            start.is_dir,
            made_of(&start.own_row())
        ),
        Located::Missing { root } => format!("missing {root:?}"),
        Located::NotDirectory { path } => format!("not a directory {path:?}"),
        other => format!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn many_paths_are_located_as_each_alone(seed: u64, root in prop_oneof![Just(""), Just("/r")]) {
        let Written { tree, index, _dir } = written(seed, root, Shape { dirs: 90, entries: 14 });
        let paths = any_paths(&tree, &mut Random(seed));
        let all = index.locate_all(&paths, ColumnSet::all()).unwrap();
        prop_assert_eq!(all.len(), paths.len());
        for (path, located) in paths.iter().zip(&all) {
            let alone = index.locate(path).unwrap();
            prop_assert_eq!(told(located), told(&alone));
        }
    }

    #[test]
    fn rankings_are_those_of_a_naive_sort(seed: u64, root in prop_oneof![Just(""), Just("/r")]) {
        let shape = Shape { dirs: 80, entries: 40 };
        let Written { tree, index, _dir } = written(seed, root, shape);
        let mut random = Random(seed);
        for by in BY {
            for end in [RankEnd::Greatest, RankEnd::Least] {
                let start = any_start(&tree, &mut random);
                let request = RankRequest {
                    by,
                    end,
                    of: if random.one_in(2) { Ranked::Files } else { Ranked::Everything },
                    limit: 1 + random.below(90) as usize,
                    columns: ColumnSet::all(),
                    test: Some(&Single),
                    threads: NonZeroUsize::new(1 + random.below(3) as usize),
                    cancel: None,
                };
                assert_ranking(&index, &tree, &start, &request);
            }
        }
    }

    #[test]
    fn counts_are_naive_counts(seed: u64, root in prop_oneof![Just(""), Just("/r")]) {
        let Written { tree, index, _dir } = written(seed, root, Shape { dirs: 70, entries: 14 });
        let path = any_start(&tree, &mut Random(seed));
        let start = found(&index, &path);
        let now = Timestamp { secs: 1_500_000_000, nanos: 9 };
        let traits = [
            Trait::Type, Trait::Extension, Trait::Size, Trait::Modified, Trait::Accessed,
            Trait::Changed, Trait::Owner, Trait::Group, Trait::Project, Trait::NameLength,
            Trait::Depth, Trait::Fullness,
        ];
        let request = StatsRequest {
            now,
            traits: &traits,
            combined: &[Trait::Owner, Trait::Type],
            threads: NonZeroUsize::new(2),
            ..StatsRequest::default()
        };
        let stats = index.stats(&start, &request).unwrap();
        let own = made_of(&start.own_row());
        let mut all = below(&tree, &path);
        all.push((path.clone(), &own));
        let mut types: HashMap<FileType, Count> = HashMap::new();
        let mut owners: HashMap<_, Count> = HashMap::new();
        let mut both: BTreeMap<String, Count> = BTreeMap::new();
        let mut projects: HashMap<Option<u32>, Count> = HashMap::new();
        let mut extensions: HashMap<Vec<u8>, Count> = HashMap::new();
        let mut files = Stats4::default();
        for (at, made) in &all {
            let count = count_of(made);
            types.entry(kind(made)).or_default().add(&count);
            owners.entry(made.meta.uid).or_default().add(&count);
            let key = format!("{}{:?}", made.meta.uid.0, kind(made));
            both.entry(key).or_default().add(&count);
            projects.entry(made.meta.project).or_default().add(&count);
            files.depths.entry(path::depth(at) - path::depth(&path)).or_default().add(&count);
            if kind(made) == FileType::Regular {
                let key = extension(&made.name).to_vec();
                extensions.entry(key).or_default().add(&count);
                files.sizes.entry(size_bucket(made.meta.size)).or_default().add(&count);
                files.ages.entry(age_bucket(now, made.meta.mtime)).or_default().add(&count);
                files.changed.entry(age_bucket(now, made.meta.ctime)).or_default().add(&count);
                files.accessed.entry(age_bucket(now, made.meta.atime)).or_default().add(&count);
            }
        }
        prop_assert_eq!(&stats.types, &types);
        prop_assert_eq!(&stats.owners, &owners);
        prop_assert_eq!(&stats.projects, &projects);
        prop_assert_eq!(&stats.extensions, &extensions);
        prop_assert_eq!(buckets(&stats.sizes), files.sizes);
        prop_assert_eq!(buckets(&stats.ages), files.ages);
        prop_assert_eq!(buckets(&stats.changed), files.changed);
        prop_assert_eq!(buckets(&stats.accessed), files.accessed);
        prop_assert_eq!(buckets(&stats.depths[..]), files.depths);
        prop_assert_eq!(stats.whole.entries, all.len() as u64);
        prop_assert_eq!(stats.combined.len(), both.len());
        for (keys, count) in &stats.combined {
            let [trawl_query::Key::Id(uid), trawl_query::Key::Type(kind)] = &keys[..] else {
                panic!("{keys:?}");
            };
            prop_assert_eq!(Some(count), both.get(&format!("{uid}{kind:?}")));
        }
        let dirs = tree.within(&path);
        let fullness: u64 = stats.fullness.iter().map(|(dirs, _)| dirs).sum();
        prop_assert_eq!(fullness, dirs.len() as u64);
        let empty = dirs.values().filter(|dir| dir.entries.is_empty()).count();
        prop_assert_eq!(stats.fullness[0].0, empty as u64);
    }

    #[test]
    fn tested_counts_are_those_of_rows_that_pass(seed: u64) {
        let Written { tree, index, _dir } = written(seed, "/r", Shape { dirs: 70, entries: 14 });
        let path = any_start(&tree, &mut Random(seed));
        let start = found(&index, &path);
        let request = StatsRequest {
            traits: &[Trait::Owner],
            test: Some(&Single),
            ..StatsRequest::default()
        };
        let stats = index.stats(&start, &request).unwrap();
        let ranking = naive_ranking(&tree, &path, RankBy::Size, RankEnd::Least, Ranked::Everything);
        prop_assert_eq!(stats.whole.entries, ranking.len() as u64);
        let sizes = ranking.iter().map(|(size, _)| size).sum::<i128>();
        prop_assert_eq!(i128::from(stats.whole.size_bytes), sizes);
    }

    #[test]
    fn duplicates_are_all_that_are_alike(seed: u64, named: bool) {
        let Written { tree, index, _dir } = written(seed, "/r", Shape { dirs: 60, entries: 40 });
        let path = any_start(&tree, &mut Random(seed));
        let start = found(&index, &path);
        let request = DuplicateRequest {
            alike: if named { Alike::SizeAndName } else { Alike::Size },
            least_bytes: 100,
            columns: ColumnSet::all(),
            ..DuplicateRequest::default()
        };
        let mut told: HashSet<Vec<u8>> = HashSet::new();
        let mut objects = HashSet::new();
        let mut before = u64::MAX;
        index.duplicates(&start, &request, |group| {
            assert!(group.len() > 1);
            let first = made_of(&group[0].row());
            assert!(first.meta.size <= before && first.meta.size >= 100);
            before = first.meta.size;
            for entry in group {
                let made = made_of(&entry.row());
                assert_eq!(kind(&made), FileType::Regular);
                assert_eq!(made.meta.size, first.meta.size);
                assert!(!named || made.name == first.name);
                let object = (made.meta.dev.as_u64(), made.meta.ino);
                assert!(made.meta.nlink == 1 || objects.insert(object));
                assert!(told.insert(entry.path.clone()));
            }
            ControlFlow::Continue(())
        }).unwrap();
        let all = below(&tree, &path);
        let mut alike: HashMap<_, Vec<&Vec<u8>>> = HashMap::new();
        for (path, made) in &all {
            if kind(made) == FileType::Regular && made.meta.nlink == 1 && made.meta.size >= 100 {
                let name = named.then_some(&made.name[..]);
                alike.entry((made.meta.size, name)).or_default().push(path);
            }
        }
        for group in alike.values().filter(|group| group.len() > 1) {
            prop_assert!(group.iter().all(|path| told.contains(*path)));
        }
    }
}

#[derive(Default)]
struct Stats4 {
    sizes: BTreeMap<usize, Count>,
    ages: BTreeMap<usize, Count>,
    changed: BTreeMap<usize, Count>,
    accessed: BTreeMap<usize, Count>,
    depths: BTreeMap<usize, Count>,
}

fn buckets(counts: &[Count]) -> BTreeMap<usize, Count> {
    let all = counts.iter().copied().enumerate();
    all.filter(|(_, count)| count.entries > 0).collect()
}

/// Truncates all files of entries tables to 0 bytes; returns the length of the
/// longest.
fn empty_entries(dir: &std::path::Path) -> u64 {
    let mut longest = 0;
    let mut pending = vec![dir.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.to_string_lossy().ends_with(".entries.parquet") {
                longest = longest.max(entry.metadata().unwrap().len());
                let file = std::fs::File::options().write(true).open(path).unwrap();
                file.set_len(0).unwrap();
            }
        }
    }
    longest
}

#[test]
fn directories_are_summed_up_without_their_entries() {
    let shape = Shape {
        dirs: 40,
        entries: 900,
    };
    let Written { tree, index, _dir } = written(11, "/r", shape);
    let start = found(&index, b"/r");
    let listed = |made: &support::MadeDir| {
        let dirs = made.entries.iter().filter(|entry| support::is_dir(entry));
        dirs.count() == made.children.len()
    };
    let whole = tree.dirs.iter().find(|dir| {
        tree.within(&dir.path).len() > 1 && tree.within(&dir.path).values().all(|d| listed(d))
    });
    let whole = whole.map(|dir| found(&index, &dir.path));
    let answers = || {
        let usage = |start: &Start, detail| {
            let mut all = Vec::new();
            let request = trawl_query::UsageRequest {
                detail,
                ..Default::default()
            };
            let mut seen = trawl_query::SeenLinks::new();
            let keep = |of: &trawl_query::UsageOf<'_>| {
                all.push((of.path.to_vec(), of.usage));
                ControlFlow::Continue(())
            };
            index.usage(start, &request, &mut seen, keep).unwrap();
            all
        };
        let fullest = index.fullest(&start, 7, None).unwrap().into_iter();
        (
            usage(&start, trawl_query::Detail::Listed),
            whole
                .as_ref()
                .map(|start| usage(start, trawl_query::Detail::Directories)),
            fullest
                .map(|dir| (dir.rows(), dir.path))
                .collect::<Vec<_>>(),
            index.totals(&start).unwrap(),
        )
    };
    let before = answers();
    let mut naive: Vec<u64> = tree
        .dirs
        .iter()
        .map(|dir| dir.entries.len() as u64)
        .collect();
    naive.sort_unstable_by(|a, b| b.cmp(a));
    let fullest: Vec<u64> = before.2.iter().map(|(rows, _)| *rows).collect();
    assert_eq!(fullest, naive[..7]);
    // The longest table exceeds the size up to which files are read whole on
    // opening and thus cached.
    assert!(empty_entries(_dir.path()) > 64 * 1024);
    assert_eq!(answers(), before);
    let columns = ColumnSet::of(&[Column::Ino]);
    let request = trawl_query::Request {
        columns,
        ..Default::default()
    };
    let walked = index.walk(
        &start,
        &request,
        |_, _: &mut ()| {},
        |()| ControlFlow::Continue(()),
    );
    assert!(walked.is_err(), "rows are read from somewhere else");
}
