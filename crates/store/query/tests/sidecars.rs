//! Name sidecars made from tables equal those that the writer made, and damaged
//! or missing ones are rebuilt.

mod support;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use support::{Random, Shape, Tree};
use trawl_format::IndexDir;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::filter::{Clause, Filter};
use trawl_model::guard::Credentials;
use trawl_model::need::{At, Letters, Literal, Need, Within};
use trawl_model::path;
use trawl_names::{Anchor, Case, Names, Pattern, Subject};
use trawl_query::{Index, Listing, Located, Request};
use trawl_writer::verify::{Problem, Scope, verify};
use trawl_writer::{Rebuilt, rebuild_names};

fn sidecars_below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sidecars_below(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "names") {
            found.push(path);
        }
    }
}

#[test]
fn damaged_and_missing_sidecars_are_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("index");
    let shape = Shape {
        dirs: 200,
        entries: 60,
    };
    let tree = Tree::random(5, "/r", shape);
    tree.write(&place, &mut Random(4));
    let index = IndexDir::open(&place).unwrap();
    let source = index.sources().unwrap().remove(0);
    let mut files = Vec::new();
    sidecars_below(&place, &mut files);
    files.sort();
    assert!(
        !files.is_empty(),
        "no segment is large enough for a sidecar"
    );
    let right: Vec<Vec<u8>> = files
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect();
    let sound = Rebuilt {
        sound: files.len() as u64,
        written: 0,
    };
    assert_eq!(rebuild_names(&source).unwrap(), sound);
    let damages: [fn(&Path, &[u8]); 4] = [
        |file, _| std::fs::remove_file(file).unwrap(),
        |file, bytes| std::fs::write(file, &bytes[..bytes.len() / 2]).unwrap(),
        |file, bytes| std::fs::write(file, [bytes, b"x"].concat()).unwrap(),
        |file, bytes| {
            let mut bytes = bytes.to_vec();
            bytes[100] ^= 1;
            std::fs::write(file, bytes).unwrap();
        },
    ];
    for damage in damages {
        files
            .iter()
            .zip(&right)
            .for_each(|(file, bytes)| damage(file, bytes));
        let found = verify(&index, Scope::All).unwrap();
        assert_eq!(found.findings.len(), files.len());
        let is_sidecar = |problem: &Problem| matches!(problem, Problem::Sidecar(_));
        assert!(
            found
                .findings
                .iter()
                .all(|found| is_sidecar(&found.problem))
        );
        assert!(!found.has_damage());
        let done = rebuild_names(&source).unwrap();
        assert_eq!((done.sound, done.written), (0, files.len() as u64));
        for (file, bytes) in files.iter().zip(&right) {
            assert!(std::fs::read(file).unwrap() == *bytes, "{}", file.display());
        }
        assert_eq!(verify(&index, Scope::All).unwrap().findings, []);
    }
}

/// Every row of the segments is in their sidecars, in order.
#[test]
fn sidecars_hold_every_row() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("index");
    let shape = Shape {
        dirs: 120,
        entries: 60,
    };
    let tree = Tree::random(6, "/r", shape);
    tree.write(&place, &mut Random(4));
    let source = IndexDir::open(&place).unwrap().sources().unwrap().remove(0);
    let snapshot = source.current().unwrap().unwrap();
    let mut found = Vec::new();
    for shard in &snapshot.shards {
        for segment in &shard.manifest.segments {
            let Some((file, len, path)) = shard.open_names(segment).unwrap() else {
                assert!(segment.rows < trawl_writer::NAMES_ROWS_LEAST as u64);
                continue;
            };
            let names = Names::open(file, len, &path).unwrap();
            assert_eq!((names.rows(), names.dirs()), (segment.rows, segment.dirs));
            let literal = trawl_names::Literal {
                bytes: b"/".to_vec(),
                anchor: Anchor::Start,
            };
            let pattern = Pattern::literal(literal, Subject::Path, Case::Sensitive);
            let told = names.search(&pattern, u64::from(segment.own_row)..u64::MAX, &mut |row| {
                found.push([row.dir, b"/", row.name].concat());
                ControlFlow::Continue(())
            });
            assert!(told.unwrap().is_continue());
        }
    }
    assert!(found.len() >= trawl_writer::NAMES_ROWS_LEAST);
    let all: std::collections::HashSet<Vec<u8>> = tree
        .dirs
        .iter()
        .flat_map(|dir| {
            dir.entries
                .iter()
                .map(|made| [&dir.path[..], b"/", &made.name].concat())
        })
        .collect();
    let distinct: std::collections::HashSet<&Vec<u8>> = found.iter().collect();
    assert_eq!(distinct.len(), found.len());
    assert!(found.iter().all(|path| all.contains(path)));
}

/// Returns the paths of the rows that the filter admits, in the order of the
/// walk.
fn walked(place: &Path, filter: &Filter) -> Vec<Vec<u8>> {
    let index = Index::open(place, Credentials::default()).unwrap();
    let Located::Found(start) = index.locate(b"/r").unwrap() else {
        panic!("the tree is not there");
    };
    let request = Request {
        columns: ColumnSet::of(&[Column::Name]),
        filter: filter.clone(),
        ..Request::default()
    };
    let mut all = Vec::new();
    let work = |listing: &Listing<'_>, paths: &mut Vec<Vec<u8>>| {
        let name = |at| listing.batch.name.get(at);
        paths.extend(
            listing
                .range
                .clone()
                .map(|at| path::join(listing.dir.path, name(at))),
        );
    };
    let take = |paths: Vec<Vec<u8>>| {
        all.extend(paths);
        ControlFlow::Continue(())
    };
    index.walk(&start, &request, work, take).unwrap();
    all
}

/// A walk takes names from sidecars, and from the tables if there are none.
#[test]
fn walks_give_the_same_names_with_and_without_sidecars() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("index");
    let shape = Shape {
        dirs: 150,
        entries: 60,
    };
    let tree = Tree::random(9, "/r", shape);
    tree.write(&place, &mut Random(4));
    let mut some = Filter::default();
    some.add(Clause {
        column: Column::Mtime,
        low: 1_000_000_000,
        high: i64::MAX.into(),
    });
    // Without a sidecar a walk does not check the need, so the caller must.
    let is_asked =
        |filter: &Filter, path: &Vec<u8>| filter.need.is_nothing() || path.ends_with(b".c");
    let ending = Literal {
        bytes: b".c".to_vec(),
        within: Within::Name,
        at: At::End,
        letters: Letters::Exact,
    };
    let filters = [Filter::default(), some, Filter::of_need(Need::Has(ending))];
    let ask = |filter: &Filter| {
        let mut paths = walked(&place, filter);
        paths.retain(|path| is_asked(filter, path));
        paths
    };
    let before = filters.each_ref().map(ask);
    let joined = |dir: &support::MadeDir| {
        let entries = dir.entries.iter();
        let paths = entries.map(|made| path::join(&dir.path, &made.name));
        paths.collect::<Vec<_>>()
    };
    let made: BTreeSet<Vec<u8>> = tree.dirs.iter().flat_map(joined).collect();
    assert!(before[0].iter().cloned().collect::<BTreeSet<_>>() == made);
    assert!(before[1].len() < before[0].len() && !before[1].is_empty());
    let ended = before[0].iter().filter(|path| path.ends_with(b".c"));
    assert!(ended.eq(&before[2]) && !before[2].is_empty());
    let mut files = Vec::new();
    sidecars_below(&place, &mut files);
    assert!(!files.is_empty());
    for file in &files {
        let mut bytes = std::fs::read(file).unwrap();
        let middle = bytes.len() / 3;
        bytes[middle] ^= 1;
        std::fs::write(file, bytes).unwrap();
    }
    assert!(filters.each_ref().map(ask) == before);
    files
        .iter()
        .for_each(|file| std::fs::remove_file(file).unwrap());
    assert!(filters.each_ref().map(ask) == before);
}
