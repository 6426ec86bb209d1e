//! Differences are the same whatever the size of the buffer for them.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use trawl_diff::{AttributeSet, BUFFER_BYTES, Difference, Kind, Moves, Question, differences};
use trawl_format::Readers;
use trawl_model::Timestamp;
use trawl_model::guard::Credentials;
use trawl_query::{Located, Start, View};
use trawl_scan::{ScanProgress, WalkOptions, walk};
use trawl_testkit::{Prng, Scratch};
use trawl_writer::{DEFAULT_MEMORY_BYTES, SnapshotWriter, WriterOptions};

/// Scans the tree into a new index and locates its root.
fn indexed(scratch: &Scratch, name: &str, memory_bytes: usize) -> Start {
    let root = scratch.join("tree").canonicalize().unwrap();
    let root = root.into_os_string().into_encoded_bytes();
    let index = trawl_writer::create_index(&scratch.join(name), Some(Readers::Owner)).unwrap();
    let options = WriterOptions {
        memory_bytes,
        started: Timestamp::default(),
        version: "test".to_owned(),
        options: BTreeMap::new(),
    };
    let mut writer = SnapshotWriter::begin(&index, &root, options).unwrap();
    let cancel = AtomicBool::new(false);
    let progress = ScanProgress::default();
    walk(&root, &WalkOptions::new(&cancel), &progress, &mut writer).unwrap();
    writer.commit(Timestamp::default()).unwrap();
    let source = index.source(&root).unwrap().unwrap();
    let snapshot = source.current().unwrap().unwrap();
    let view = Arc::new(View::new(snapshot, Arc::new(Credentials::default())));
    match view.locate(&root).unwrap() {
        Located::Found(start) => *start,
        other => panic!("{other:?}"),
    }
}

fn found(before: &Start, after: &Start, buffer_bytes: usize, moves: Moves) -> Vec<Difference> {
    let question = Question {
        before: Some(before),
        after: Some(after),
        compare: AttributeSet::all(),
        read: AttributeSet::all(),
        moves,
        buffer_bytes,
        cancel: None,
    };
    let mut all = Vec::new();
    let outcome = differences(&question, |difference| {
        all.push(difference);
        ControlFlow::Continue(())
    });
    assert_eq!(outcome.unwrap().not_compared, []);
    all
}

fn fill(top: &Path, random: &mut Prng) {
    for dir in 0..20 {
        let dir = top.join(format!("d{dir}"));
        std::fs::create_dir(&dir).unwrap();
        for file in 0..random.below(30) {
            std::fs::write(dir.join(format!("f{file}")), "x").unwrap();
        }
        // Several hard links to one file, which move detection must tell apart.
        for name in 0..4 {
            let _ = std::fs::hard_link(dir.join("f0"), dir.join(format!("h{name}")));
        }
    }
}

fn change(top: &Path, random: &mut Prng) {
    for dir in 0..20 {
        let old = top.join(format!("d{dir}"));
        match random.below(4) {
            0 => std::fs::rename(&old, top.join(format!("moved{dir}"))).unwrap(),
            1 => std::fs::remove_dir_all(&old).unwrap(),
            2 => {
                let _ = std::fs::rename(old.join("f1"), top.join(format!("out{dir}")));
                let _ = std::fs::rename(old.join("h1"), old.join("h9"));
                let _ = std::fs::write(old.join("f2"), "longer");
                std::fs::write(old.join("new"), "new").unwrap();
            }
            _ => {}
        }
    }
}

#[test]
fn differences_are_the_same_in_one_pass_and_in_more() {
    let scratch = Scratch::new("diff-passes");
    let top = scratch.join("tree");
    std::fs::create_dir(&top).unwrap();
    let mut random = Prng::new(7);
    fill(&top, &mut random);
    // A small memory limit makes the writer produce several segments.
    let before = indexed(&scratch, "before", 4096);
    change(&top, &mut random);
    let after = indexed(&scratch, "after", DEFAULT_MEMORY_BYTES);

    let one = found(&before, &after, BUFFER_BYTES, Moves::Find);
    for kind in [Kind::Created, Kind::Deleted, Kind::Changed, Kind::Moved] {
        assert!(
            one.iter().any(|difference| difference.kind == kind),
            "{kind:?}"
        );
    }
    assert_eq!(one, found(&before, &after, 0, Moves::Find));
    assert_eq!(one, found(&before, &after, 1000, Moves::Find));
    let plain = found(&before, &after, 0, Moves::Ignore);
    assert_eq!(plain, found(&before, &after, BUFFER_BYTES, Moves::Ignore));
    let moved = one
        .iter()
        .filter(|difference| difference.kind == Kind::Moved);
    assert_eq!(plain.len(), one.len() + moved.count());
    assert_eq!(found(&after, &after, 0, Moves::Find), []);

    // Order: directories in path order, names within each.
    let key = |difference: &Difference| {
        let (dir, name) = trawl_model::path::split(&difference.path).unwrap();
        (dir.to_vec(), name.to_vec())
    };
    let keys: Vec<_> = plain.iter().map(key).collect();
    let is_ordered = |pair: &[(Vec<u8>, Vec<u8>)]| {
        let dirs = trawl_model::path::cmp(&pair[0].0, &pair[1].0);
        dirs.then_with(|| pair[0].1.cmp(&pair[1].1)).is_lt()
    };
    assert!(keys.windows(2).all(is_ordered));
}
