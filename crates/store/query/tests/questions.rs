//! Writes random trees to an index and reads them back: answers must match the
//! generated tree, however it was cut into fragments, segments and shards.

mod support;

use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use support::{Made, Random, Shape, Tree, is_dir, made_of};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::filter::{Clause, Filter};
use trawl_model::guard::Credentials;
use trawl_model::path;
use trawl_model::rows::Row;
use trawl_query::{
    AttributeRequest, Detail, DirRequest, Index, Links, Listings, Located, Order, QueryError,
    Request, RowSelection, SeenLinks, Start, UsageRequest, View,
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

type Listed = (Vec<u8>, usize, Vec<Made>);

fn walk(index: &Index, start: &Start, request: &Request<'_>) -> Vec<Listed> {
    let mut all = Vec::new();
    let work = |listing: &trawl_query::Listing<'_>, out: &mut Vec<Listed>| {
        let row = |at| {
            made_of(&Row {
                batch: listing.batch,
                at,
                dir: listing.dir.path,
            })
        };
        let mut rows: Vec<Made> = listing.range.clone().map(row).collect();
        if request.order == Order::Backward {
            rows.reverse();
        }
        out.push((listing.dir.path.to_vec(), listing.dir.depth, rows));
    };
    let emit = |part: Vec<Listed>| {
        all.extend(part);
        ControlFlow::Continue(())
    };
    index.walk(start, request, work, emit).unwrap();
    all
}

/// Returns the expected result of a walk, by directory.
fn expected<'t>(
    tree: &'t Tree,
    start: &[u8],
    request: &Request<'_>,
) -> HashMap<&'t [u8], Vec<Made>> {
    let start_depth = path::depth(start);
    let mut expected = HashMap::new();
    for (path, dir) in tree.within(start) {
        let depth = path::depth(path) - start_depth + 1;
        let is_skipped = request
            .skip
            .roots()
            .iter()
            .any(|skip| path::is_within(path, skip));
        if is_skipped
            || depth < request.min_depth
            || request.max_depth.is_some_and(|max| depth > max)
        {
            continue;
        }
        let admits = |made: &&Made| {
            request.filter.clauses.iter().all(|clause| {
                let value: i128 = match clause.column {
                    Column::Size => made.meta.size.into(),
                    Column::Mtime => made.meta.mtime.secs.into(),
                    Column::Uid => made.meta.uid.0.into(),
                    other => panic!("{other:?}"),
                };
                clause.admits(value)
            })
        };
        let rows: Vec<Made> = dir.entries.iter().filter(admits).cloned().collect();
        if !rows.is_empty() || request.filter.clauses.is_empty() {
            expected.insert(path, rows);
        }
    }
    expected
}

fn assert_walk(tree: &Tree, start: &[u8], request: &Request<'_>, got: &[Listed]) {
    let mut wanted = expected(tree, start, request);
    let is_sorted = got.is_sorted_by(|a, b| match request.order {
        Order::Forward => path::cmp(&a.0, &b.0).is_le(),
        Order::Backward => path::cmp(&a.0, &b.0).is_ge(),
    });
    assert!(is_sorted);
    let mut merged: HashMap<&[u8], Vec<Made>> = HashMap::new();
    for (path, depth, rows) in got {
        assert_eq!(*depth, path::depth(path) - path::depth(start));
        let is_sorted = rows.is_sorted_by(|a, b| match request.order {
            Order::Forward => a.name < b.name,
            Order::Backward => a.name > b.name,
        });
        assert!(is_sorted);
        merged.entry(path).or_default().extend(rows.iter().cloned());
    }
    for (path, rows) in merged {
        let mut rows = rows;
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        let wanted = wanted
            .remove(path)
            .unwrap_or_else(|| panic!("unexpected {path:?}"));
        assert_eq!(rows.len(), wanted.len());
        assert_eq!(rows, wanted);
    }
    assert!(wanted.is_empty(), "{wanted:?}");
}

fn random_request<'a>(tree: &Tree, random: &mut Random) -> Request<'a> {
    let mut filter = Filter::default();
    if random.one_in(2) {
        let low = i128::from(random.below(6000));
        let columns = [Column::Size, Column::Mtime, Column::Uid];
        for column in columns.into_iter().take(1 + random.below(3) as usize) {
            filter.add(match column {
                Column::Size => Clause {
                    column,
                    low,
                    high: if random.one_in(2) {
                        i128::MAX
                    } else {
                        low + 500
                    },
                },
                Column::Mtime => Clause {
                    column,
                    low: i128::MIN,
                    high: i128::from(random.below(2_000_000_000)),
                },
                _ => Clause {
                    column,
                    low: 1,
                    high: 2,
                },
            });
        }
    }
    let skip = (0..random.below(3)).map(|_| {
        let dir = random.below(tree.dirs.len() as u64) as usize;
        tree.dirs[dir].path.clone()
    });
    let skip = skip.collect();
    Request {
        columns: ColumnSet::all(),
        filter,
        min_depth: random.below(3) as usize,
        max_depth: random.one_in(2).then(|| random.below(4) as usize),
        skip,
        only: None,
        rows: None,
        order: if random.one_in(2) {
            Order::Forward
        } else {
            Order::Backward
        },
        threads: NonZeroUsize::new(1 + random.below(3) as usize),
        cancel: None,
    }
}

#[test]
fn rows_that_are_not_selected_are_not_given() {
    let shape = Shape {
        dirs: 12,
        entries: 900,
    };
    let Written { tree, index, _dir } = written(5, "/r", shape);
    let start = found(&index, &tree.root);
    let mut wanted = 0;
    let mut selection = RowSelection::default();
    for segment in 0..start.view.stored_segments() {
        let (_, _, info) = start.view.stored_segment(segment).unwrap();
        // The first row may be an own row, which no walk returns.
        let picked: Vec<u64> = (1..info.rows).filter(|row| row % 7 < 2).collect();
        wanted += picked.len();
        selection.restrict(segment, picked.iter().map(|row| *row..row + 1).collect());
    }
    assert!(wanted > 100, "{wanted}");
    for order in [Order::Forward, Order::Backward] {
        let request = Request {
            columns: ColumnSet::all(),
            rows: Some(&selection),
            order,
            ..Request::default()
        };
        assert_eq!(names(walk(&index, &start, &request)).len(), wanted);
    }
}

#[test]
fn random_trees_are_cut_into_shards_and_segments() {
    let shape = Shape {
        dirs: 300,
        entries: 6,
    };
    let (mut shards, mut segments) = (0, 0);
    for number in 1..9u64 {
        // Spread as widely as the seeds of the properties below.
        let seed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let Written { tree, index, _dir } = written(seed, "/r", shape);
        let view = found(&index, &tree.root).view;
        shards = shards.max(view.shards().len());
        let in_shard = view
            .shards()
            .iter()
            .map(|shard| shard.manifest.segments.len());
        segments = segments.max(in_shard.max().unwrap_or(0));
    }
    assert!(shards > 3, "{shards}");
    assert!(segments > 10, "{segments}");
}

#[test]
fn a_walk_ends_when_it_is_told_to() {
    let shape = Shape {
        dirs: 14,
        entries: 15_000,
    };
    let Written { tree, index, _dir } = written(3, "/r", shape);
    let start = found(&index, &tree.root);
    let cancel = AtomicBool::new(false);
    for threads in [1, 2] {
        let request = Request {
            columns: ColumnSet::of(&[Column::Name]),
            threads: NonZeroUsize::new(threads),
            cancel: Some(&cancel),
            ..Request::default()
        };
        let mut parts = 0;
        let nothing = |_: &trawl_query::Listing<'_>, _: &mut ()| {};
        let first_only = |()| {
            parts += 1;
            ControlFlow::Break(())
        };
        index.walk(&start, &request, nothing, first_only).unwrap();
        assert_eq!(parts, 1);
        cancel.store(true, Ordering::Relaxed);
        let all = |()| ControlFlow::Continue(());
        let ended = index.walk(&start, &request, nothing, all);
        assert!(matches!(ended, Err(QueryError::Cancelled)));
        cancel.store(false, Ordering::Relaxed);
    }
}

/// `find … | head` and a page of the API read few rows: no worker renders others ahead of them.
#[test]
fn a_caller_that_takes_the_first_rows_causes_no_work_for_others() {
    let shape = Shape {
        dirs: 14,
        entries: 15_000,
    };
    let Written { tree, index, _dir } = written(3, "/r", shape);
    let start = found(&index, &tree.root);
    for order in [Order::Forward, Order::Backward] {
        let request = Request {
            columns: ColumnSet::of(&[Column::Name]),
            threads: NonZeroUsize::new(4),
            order,
            ..Request::default()
        };
        let worked = AtomicUsize::new(0);
        let count = |listing: &trawl_query::Listing<'_>, rows: &mut usize| {
            worked.fetch_add(listing.range.len(), Ordering::Relaxed);
            *rows += listing.range.len();
        };
        let mut taken = 0;
        let first_only = |rows| {
            // Workers that had begun would go on meanwhile.
            std::thread::sleep(Duration::from_millis(20));
            taken = rows;
            ControlFlow::Break(())
        };
        index.walk(&start, &request, count, first_only).unwrap();
        let worked = worked.into_inner();
        assert!((1..=1024).contains(&taken), "{taken}");
        assert_eq!(worked, taken);
    }
}

/// Returns a selection of random rows of each segment, and one of all other
/// rows.
fn random_selections(start: &Start, random: &mut Random) -> [RowSelection; 2] {
    let mut both = [RowSelection::default(), RowSelection::default()];
    for segment in 0..start.view.stored_segments() {
        let rows = start.view.stored_segment(segment).map(|(_, _, s)| s.rows);
        let mut ranges = [Vec::new(), Vec::new()];
        let (mut at, mut which) = (0, random.below(2) as usize);
        while at < rows.unwrap_or(0) {
            let end = at + 1 + random.below(40);
            ranges[which].push(at..end);
            (at, which) = (end, 1 - which);
        }
        for (selection, ranges) in both.iter_mut().zip(ranges) {
            selection.restrict(segment, ranges);
        }
    }
    both
}

/// Returns the rows of a walk by directory and name.
fn names(listed: Vec<Listed>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let row = |dir: &Vec<u8>, made: Made| (dir.clone(), made.name);
    let of_dir = |(dir, _, rows): Listed| {
        assert!(!rows.is_empty(), "an empty listing of a selection");
        rows.into_iter()
            .map(move |made| row(&dir, made))
            .collect::<Vec<_>>()
    };
    let mut all: Vec<_> = listed.into_iter().flat_map(of_dir).collect();
    all.sort();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_selection_and_the_rest_make_the_whole(seed: u64, many in any::<bool>()) {
        let shape = match many {
            true => Shape { dirs: 150, entries: 6 },
            false => Shape { dirs: 12, entries: 900 },
        };
        let Written { tree, index, _dir } = written(seed, "/r", shape);
        let mut random = Random(seed ^ 77);
        for _ in 0..4 {
            let at = &tree.dirs[random.below(tree.dirs.len() as u64) as usize].path;
            let start = found(&index, at);
            let whole = random_request(&tree, &mut random);
            let halves = random_selections(&start, &mut random);
            let parts = halves.each_ref().map(|half| {
                let request = Request { rows: Some(half), ..whole.clone() };
                names(walk(&index, &start, &request))
            });
            let mut together = parts.concat();
            together.sort();
            let all = walk(&index, &start, &whole);
            let all = all.into_iter().filter(|(_, _, rows)| !rows.is_empty()).collect();
            prop_assert_eq!(together, names(all));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]

    #[test]
    fn single_listings_give_what_was_made(
        seed: u64,
        shape in prop_oneof![
            Just(Shape { dirs: 300, entries: 6 }),
            Just(Shape { dirs: 12, entries: 900 }),
        ],
        in_order: bool,
    ) {
        let Written { tree, index, _dir } = written(seed, "/r", shape);
        let start = found(&index, &tree.root);
        let mut listings = Listings::new(&start.view, ColumnSet::all());
        let mut dirs: Vec<_> = tree.within(&tree.root).into_iter().collect();
        match in_order {
            true => dirs.sort_by(|a, b| path::cmp(a.0, b.0)),
            false => dirs.sort_by_key(|(path, _)| Random(seed ^ path.len() as u64).below(1 << 20)),
        }
        for (path, dir) in dirs {
            let place = listings.find(path).unwrap();
            let mut rows = Vec::new();
            listings.rows(path, &place, |row| rows.push(made_of(row))).unwrap();
            rows.sort_by(|a, b| a.name.cmp(&b.name));
            let mut wanted = dir.entries.clone();
            wanted.sort_by(|a, b| a.name.cmp(&b.name));
            prop_assert_eq!(rows, wanted);
            for made in dir.entries.iter().take(1) {
                let row = listings.entry(path, &made.name, made_of).unwrap();
                prop_assert_eq!(row.as_ref(), Some(made));
            }
            let other = listings.entry(path, b"no such name", |_| ()).unwrap();
            prop_assert!(other.is_none());
            let below = path::join(path, b"no such name");
            prop_assert!(listings.entry(&below, b"x", |_| ()).unwrap().is_none());
        }
    }
}

/// Returns views of the tree's snapshot that keep no decoded pages, few, and as many as usual.
fn views(index: &Index) -> Vec<Arc<View>> {
    let open = |most_bytes: Option<usize>| {
        let snapshot = index.open_source(&index.sources()[0]).unwrap().unwrap();
        let view = View::new(snapshot, Arc::clone(index.who()));
        Arc::new(match most_bytes {
            Some(most_bytes) => view.keeping_page_bytes(most_bytes),
            None => view,
        })
    };
    [Some(0), Some(20_000), None].map(open).into()
}

/// Looks up entries in random order, and what is not below them.
fn look_up(tree: &Tree, view: &Arc<View>, mut random: Random) {
    for _ in 0..30 {
        let dir = &tree.dirs[random.below(tree.dirs.len() as u64) as usize];
        let none = view
            .locate(&path::join(&dir.path, b"no such name"))
            .unwrap();
        assert!(matches!(none, Located::Missing { .. }), "{none:?}");
        if dir.entries.is_empty() {
            continue;
        }
        let entry = &dir.entries[random.below(dir.entries.len() as u64) as usize];
        let path = path::join(&dir.path, &entry.name);
        let Located::Found(start) = view.locate(&path).unwrap() else {
            panic!("{path:?}");
        };
        assert_eq!(made_of(&start.own_row()), *entry);
        let below = view.locate(&path::join(&path, b"x")).unwrap();
        assert_eq!(is_dir(entry), matches!(below, Located::Missing { .. }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2))]

    #[test]
    fn lookups_find_the_same_whatever_was_kept(
        seed: u64,
        root in prop_oneof![Just(""), Just("/r")],
        shape in prop_oneof![
            Just(Shape { dirs: 300, entries: 6 }),
            Just(Shape { dirs: 12, entries: 900 }),
        ],
    ) {
        let Written { tree, index, _dir } = written(seed, root, shape);
        for view in views(&index) {
            std::thread::scope(|scope| {
                let run = |thread| look_up(&tree, &view, Random(seed ^ thread));
                (0..3).for_each(|thread| drop(scope.spawn(move || run(thread))));
            });
        }
        // Many paths at once, from pages that earlier paths needed.
        let mut random = Random(seed ^ 11);
        for _ in 0..6 {
            let entries = tree.dirs.iter().flat_map(|dir| {
                let entries = dir.entries.iter();
                entries.map(|entry| (path::join(&dir.path, &entry.name), entry))
            });
            let some: Vec<_> = entries.filter(|_| random.one_in(50)).collect();
            let paths: Vec<Vec<u8>> = some.iter().map(|(path, _)| path.clone()).collect();
            let found = index.locate_all(&paths, ColumnSet::all()).unwrap();
            for (located, (path, entry)) in found.into_iter().zip(some) {
                let Located::Found(start) = located else {
                    panic!("{path:?}");
                };
                prop_assert_eq!(&start.path, &path);
                prop_assert_eq!(&made_of(&start.own_row()), entry);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn walks_give_what_was_made(
        seed: u64,
        root in prop_oneof![Just(""), Just("/r"), Just("/a/b c")],
        shape in prop_oneof![
            Just(Shape { dirs: 1, entries: 5 }),
            Just(Shape { dirs: 60, entries: 12 }),
            Just(Shape { dirs: 300, entries: 6 }),
            Just(Shape { dirs: 12, entries: 900 }),
        ],
    ) {
        let Written { tree, index, _dir } = written(seed, root, shape);
        let mut random = Random(seed ^ 99);
        let whole = Request { columns: ColumnSet::all(), ..Request::default() };
        let start = found(&index, &tree.root);
        assert_walk(&tree, &tree.root, &whole, &walk(&index, &start, &whole));
        for _ in 0..8 {
            let at = tree.dirs[random.below(tree.dirs.len() as u64) as usize].path.clone();
            let start = found(&index, &at);
            prop_assert!(start.is_dir);
            let request = random_request(&tree, &mut random);
            assert_walk(&tree, &at, &request, &walk(&index, &start, &request));
        }
    }

    #[test]
    fn lookups_find_what_was_made(seed: u64, root in prop_oneof![Just(""), Just("/r")]) {
        let Written { tree, index, _dir } = written(seed, root, Shape { dirs: 40, entries: 40 });
        let mut random = Random(seed ^ 5);
        for _ in 0..30 {
            let dir = &tree.dirs[random.below(tree.dirs.len() as u64) as usize];
            let none = path::join(&dir.path, b"no such name");
            let is_missing = matches!(index.locate(&none).unwrap(), Located::Missing { .. });
            prop_assert!(is_missing);
            if dir.entries.is_empty() {
                continue;
            }
            let entry = &dir.entries[random.below(dir.entries.len() as u64) as usize];
            let path = path::join(&dir.path, &entry.name);
            let start = found(&index, &path);
            prop_assert_eq!(start.is_dir, is_dir(entry));
            prop_assert_eq!(&made_of(&Row { batch: &start.row, at: 0, dir: &dir.path }), entry);
            let below = path::join(&path, b"x");
            match index.locate(&below).unwrap() {
                Located::NotDirectory { path: found } => {
                    prop_assert!(!is_dir(entry));
                    prop_assert_eq!(found, path);
                }
                Located::Missing { .. } => prop_assert!(is_dir(entry)),
                other => panic!("{other:?}"),
            }
        }
        let start = found(&index, &tree.root);
        prop_assert_eq!(made_of(&Row { batch: &start.row, at: 0, dir: b"" }).meta, tree.dirs[0].own);
    }

    #[test]
    fn attributes_come_with_the_values_that_are_there(seed: u64, root in prop_oneof![Just(""), Just("/r")]) {
        let Written { tree, index, _dir } = written(seed, root, Shape { dirs: 80, entries: 12 });
        let mut random = Random(seed ^ 5);
        for round in 0..4 {
            let at = match round {
                0 => 0,
                _ => random.below(tree.dirs.len() as u64) as usize,
            };
            let at = tree.dirs[at].path.clone();
            let start = found(&index, &at);
            let max_depth = random.one_in(2).then(|| random.below(4) as usize);
            let links = match random.one_in(2) {
                true => Links::Always,
                false => Links::LikeOthers,
            };
            let request = AttributeRequest { max_depth, links, ..AttributeRequest::default() };
            let mut got = Vec::new();
            index.attributes_below(&start, &request, |entry| {
                let each = entry.attributes.into_iter();
                got.push((entry.path, each.map(|a| (a.name, a.value)).collect::<Vec<_>>()));
                ControlFlow::Continue(())
            }).unwrap();
            let mut dirs: Vec<_> = tree.within(&at).into_values().collect();
            dirs.sort_by(|a, b| path::cmp(&a.path, &b.path));
            let mut expected = Vec::new();
            let mut values = Vec::new();
            for dir in dirs {
                let depth = path::depth(&dir.path) - path::depth(&at) + 1;
                for made in &dir.entries {
                    let path = path::join(&dir.path, &made.name);
                    let is_link = made.meta.mode >> 12 == 0o12 && links == Links::Always;
                    let all = made.attributes();
                    for (name, value) in made.values() {
                        values.push((path.clone(), name.to_vec(), value));
                    }
                    if depth <= max_depth.unwrap_or(usize::MAX) && (is_link || !all.is_empty()) {
                        expected.push((path, all));
                    }
                }
            }
            prop_assert_eq!(&got, &expected);
            let mut seen = Vec::new();
            index.attribute_values(&start, None, |_| true, |path, name, value| {
                if path != at {
                    seen.push((path.to_vec(), name.to_vec(), value.to_vec()));
                }
            }).unwrap();
            seen.sort();
            values.sort();
            prop_assert_eq!(seen, values);
            if let Some((path, all)) = expected.first() {
                let own = index.attributes(&found(&index, path)).unwrap();
                let own: Vec<_> = own.into_iter().map(|a| (a.name, a.value)).collect();
                prop_assert_eq!(&own, all);
            }
        }
    }

    #[test]
    fn sums_are_naive_sums(seed: u64, root in prop_oneof![Just(""), Just("/r")]) {
        let Written { tree, index, _dir } = written(seed, root, Shape { dirs: 80, entries: 12 });
        let mut random = Random(seed ^ 3);
        for round in 0..6 {
            let at = match round {
                0 => 0,
                _ => random.below(tree.dirs.len() as u64) as usize,
            };
            let at = tree.dirs[at].path.clone();
            let start = found(&index, &at);
            let within = tree.within(&at);
            let rows = || within.values().flat_map(|dir| &dir.entries);
            let totals = index.totals(&start).unwrap();
            prop_assert_eq!(totals.sums.entries(), rows().count() as u64);
            prop_assert_eq!(totals.sums.dirs, rows().filter(|made| is_dir(made)).count() as u64);
            prop_assert_eq!(totals.sums.size_bytes, rows().map(|made| made.meta.size).fold(0, u64::wrapping_add));
            let mut seen = HashSet::new();
            let links = rows().filter(|made| !is_dir(made) && made.meta.nlink > 1);
            let repeats = links.filter(|made| !seen.insert((made.meta.dev, made.meta.ino))).count();
            prop_assert_eq!(totals.repeats.entries, repeats as u64);

            let mut listed = HashMap::new();
            let each = |directory: &trawl_query::Directory| {
                listed.insert(directory.path.clone(), (directory.sums, directory.own));
                ControlFlow::Continue(())
            };
            index.directories(&start, &DirRequest::default(), each).unwrap();
            prop_assert_eq!(listed.len(), within.len());
            for (path, dir) in &within {
                let (sums, own) = &listed[*path];
                prop_assert_eq!(sums.entries(), dir.entries.len() as u64);
                prop_assert_eq!(sums.blocks, dir.entries.iter().map(|made| made.meta.blocks).sum::<u64>());
                prop_assert_eq!((own.ino, own.size, own.mtime), (dir.own.ino, dir.own.size, dir.own.mtime));
            }
            let issues = index.issues(&start, None).unwrap();
            let wanted = tree.issues.iter().filter(|issue| path::is_within(&issue.path, &at)).count();
            prop_assert_eq!(issues.len(), wanted);
        }
    }

    #[test]
    fn usage_is_what_a_naive_count_gives(seed: u64, root in prop_oneof![Just(""), Just("/r")]) {
        let Written { tree, index, _dir } = written(seed, root, Shape { dirs: 60, entries: 12 });
        let mut random = Random(seed ^ 3);
        let at = tree.dirs[random.below(tree.dirs.len() as u64) as usize].path.clone();
        let start = found(&index, &at);
        for detail in [Detail::Directories, Detail::Everything] {
            let request = UsageRequest { detail, ..UsageRequest::default() };
            let mut given: Vec<(Vec<u8>, bool, trawl_query::Usage)> = Vec::new();
            let total = index.usage(&start, &request, &mut SeenLinks::new(), |of| {
                given.push((of.path.to_vec(), of.is_dir, of.usage));
                ControlFlow::Continue(())
            }).unwrap();
            // Same order as the query: directories by path, each object once.
            let mut dirs: Vec<_> = tree.within(&at).into_values().collect();
            dirs.sort_by(|a, b| path::cmp(&a.path, &b.path));
            let mut seen = HashSet::new();
            let mut objects: Vec<(Vec<u8>, &Made)> = Vec::new();
            for dir in &dirs {
                for made in &dir.entries {
                    let counts = is_dir(made) || made.meta.nlink < 2 || seen.insert((made.meta.dev, made.meta.ino));
                    if counts {
                        objects.push((path::join(&dir.path, &made.name), made));
                    }
                }
            }
            let own = |path: &[u8]| tree.dirs.iter().find(|dir| dir.path == path).map(|dir| dir.own);
            let inode_total = |path: &[u8]| 1 + objects.iter().filter(|(p, _)| p != path && path::is_within(p, path)).count() as u64;
            let all_dirs = objects.iter().filter(|(_, made)| is_dir(made)).count() + 1;
            prop_assert_eq!(given.iter().filter(|(_, is_dir, _)| *is_dir).count(), all_dirs);
            if detail == Detail::Everything {
                prop_assert_eq!(given.len(), objects.len() + 1);
            }
            prop_assert_eq!(&given.last().unwrap().0, &at);
            prop_assert_eq!(given.last().unwrap().2, total);
            // Which of an object's names counts may differ if several segments
            // have parts of a directory, so only sums are compared.
            for (path, is_dir, usage) in &given {
                if *is_dir && path == &at {
                    prop_assert_eq!(usage.inodes, inode_total(path));
                    let dir_sizes: u64 = objects.iter().filter(|(_, made)| support::is_dir(made)).map(|(_, made)| made.meta.size).sum();
                    prop_assert_eq!(usage.dir_size_bytes, own(path).unwrap().size.wrapping_add(dir_sizes));
                }
            }
        }
    }
}
