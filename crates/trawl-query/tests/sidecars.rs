//! Name sidecars: made from tables they equal those that the writer made, and
//! damaged or missing ones come back.

mod support;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use support::{Random, Shape, Tree};
use trawl_index::IndexDir;
use trawl_index::verify::{Problem, Scope, verify};
use trawl_names::{Anchor, Case, Literal, Names, Pattern, Subject};
use trawl_query::{Rebuilt, rebuild_names};

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
                assert!(segment.rows < trawl_index::NAMES_ROWS_LEAST as u64);
                continue;
            };
            let names = Names::open(file, len, &path).unwrap();
            assert_eq!((names.rows(), names.dirs()), (segment.rows, segment.dirs));
            let literal = Literal {
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
    assert!(found.len() >= trawl_index::NAMES_ROWS_LEAST);
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
