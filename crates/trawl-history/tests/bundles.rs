//! Checks that bundles hold the rows of small segments, are shared while these stay, and are
//! reported if they differ.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use trawl_format::{IndexDir, ListingKind, Readers, SegmentId, Snapshot, Source};
use trawl_history::{SegmentReader, tighten};
use trawl_model::Timestamp;
use trawl_model::guard::Credentials;
use trawl_query::{QueryError, View};
use trawl_writer::gc::{Retention, collect};
use trawl_writer::revision::Stored;
use trawl_writer::verify::{Scope, verify};
use trawl_writer::{ReadBack, SnapshotWriter, WriterOptions, Writing, check_bundles};

mod support;

use support::{ROOT, Random, State};

/// Reads the stored content, but changes the size of one file.
struct Lying;

impl ReadBack for Lying {
    fn read(
        &mut self,
        snapshot: Snapshot,
        wanted: &[(usize, SegmentId)],
        visit: &mut dyn FnMut(usize, Stored) -> trawl_format::Result<()>,
    ) -> trawl_format::Result<()> {
        let mut has_lied = false;
        SegmentReader.read(snapshot, wanted, &mut |at, mut what| {
            if let Stored::Rows(ListingKind::Listed, batch) = &mut what
                && let Some(entry) = batch.entries.first_mut()
                && !std::mem::replace(&mut has_lied, true)
            {
                entry.meta.size += 1;
            }
            visit(at, what)
        })
    }
}

/// Fails in the middle of reading.
struct Failing;

impl ReadBack for Failing {
    fn read(
        &mut self,
        snapshot: Snapshot,
        wanted: &[(usize, SegmentId)],
        visit: &mut dyn FnMut(usize, Stored) -> trawl_format::Result<()>,
    ) -> trawl_format::Result<()> {
        SegmentReader.read(snapshot, &wanted[..wanted.len() / 2], visit)?;
        Err(trawl_format::IndexError::read_back("no more"))
    }
}

fn write(index: &Path, state: &State, at: i64, memory_bytes: usize, bundler: Box<dyn ReadBack>) {
    let index = trawl_writer::create_index(index, Some(Readers::Owner)).unwrap();
    let options = WriterOptions {
        memory_bytes,
        started: Timestamp { secs: at, nanos: 0 },
        version: "test".to_owned(),
        options: BTreeMap::new(),
    };
    let sharing = Writing::Sharing(Box::new(SegmentReader));
    let writer = SnapshotWriter::begin(&index, ROOT, options).unwrap();
    let mut writer = writer.with_writing(sharing).with_bundle(bundler);
    state.feed(&mut writer);
    let prepared = writer.prepare(Timestamp { secs: at, nanos: 1 }).unwrap();
    let done = tighten(&prepared).unwrap();
    prepared.publish(&done.damaged).unwrap();
}

fn source(index: &Path) -> Source {
    let index = IndexDir::open(index).unwrap();
    index.source(ROOT).unwrap().unwrap()
}

/// Returns everything read from a snapshot, regardless of its location, except copies.
fn rows(snapshot: Snapshot) -> BTreeMap<String, usize> {
    let view = View::new(snapshot, Arc::new(Credentials::default()));
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    let mut values = BTreeSet::new();
    for segment in 0..view.stored_segments() {
        let (_, _, info) = view.stored_segment(segment).unwrap();
        view.stored_listings::<QueryError>(segment, 0..info.dirs, |stored, batch| {
            if stored.kind == ListingKind::Barrier {
                return Ok(());
            }
            values.insert(format!("{:?} {:?}", batch.path, batch.own));
            for entry in &batch.entries {
                let spans = [entry.name, entry.xattr_names, entry.acl];
                let texts = spans.map(|span| batch.bytes(span));
                let line = format!("{:?} {texts:?} {:?}", batch.path, entry.meta);
                *lines.entry(line).or_default() += 1;
            }
            Ok(())
        })
        .unwrap();
        view.stored_values::<QueryError>(segment, |_, value| {
            values.insert(format!("{value:?}"));
            Ok(())
        })
        .unwrap();
        let issues = info.files.get(&trawl_format::Table::Issues);
        let issues = 0..issues.map_or(0, |file| file.rows);
        for issue in view.stored_issues(segment, issues).unwrap() {
            *lines.entry(format!("{issue:?}")).or_default() += 1;
        }
    }
    lines.extend(values.into_iter().map(|value| (value, 1)));
    lines
}

fn bundle_files(snapshot: &Snapshot) -> Vec<SegmentId> {
    let segments = snapshot.bundle().map(|bundle| &bundle.manifest.segments);
    segments.into_iter().flatten().map(|s| s.id).collect()
}

#[test]
fn a_bundle_holds_the_rows_of_small_segments() {
    for seed in 0..8 {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("index");
        let mut random = Random(seed);
        let mut state = State::random(&mut random, 600);
        for scan in 0..4 {
            let memory = [1 << 20, 4_000][random.below(2) as usize];
            write(&at, &state, 100 + scan, memory, Box::new(SegmentReader));
            let snapshot = source(&at).current().unwrap().unwrap();
            assert!(
                !bundle_files(&snapshot).is_empty(),
                "seed {seed}, scan {scan}"
            );
            let alone = snapshot.clone().without_bundle();
            assert!(rows(snapshot) == rows(alone), "seed {seed}, scan {scan}");
            let index = IndexDir::open(&at).unwrap();
            assert_eq!(verify(&index, Scope::All).unwrap().findings, []);
            assert_eq!(check_bundles(&source(&at), &mut SegmentReader).unwrap(), []);
            if scan % 2 == 0 {
                state = state.changed(&mut random, 3);
            }
        }
    }
}

#[test]
fn a_bundle_is_shared_until_what_it_is_made_of_changes() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("index");
    let mut random = Random(5);
    let state = State::random(&mut random, 600);
    write(&at, &state, 100, 1 << 20, Box::new(SegmentReader));
    let first = source(&at).current().unwrap().unwrap();
    write(&at, &state, 101, 1 << 20, Box::new(SegmentReader));
    let second = source(&at).current().unwrap().unwrap();
    assert_eq!(bundle_files(&first), bundle_files(&second));
    // Another group for everything: every segment changes.
    let mut other = state.clone();
    other.nodes.values_mut().for_each(|node| node.gid += 10);
    write(&at, &other, 102, 1 << 20, Box::new(SegmentReader));
    let third = source(&at).current().unwrap().unwrap();
    let new = bundle_files(&third);
    assert!(!new.is_empty() && new.iter().all(|id| !bundle_files(&first).contains(id)));
    let gone = bundle_files(&first);
    // Nobody reads them any more.
    drop((first, second, third));
    let newest = Retention {
        newest: 1,
        since: None,
    };
    collect(&source(&at), newest).unwrap();
    let private = source(&at).path().join("private/data");
    let names = std::fs::read_dir(private).unwrap();
    let names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let has = |id: &SegmentId| names.iter().any(|name| name.starts_with(&id.to_string()));
    assert!(!gone.iter().any(has), "{names:?}");
    assert!(new.iter().all(has), "{names:?}");
}

#[test]
fn a_bundle_that_differs_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("index");
    let state = State::random(&mut Random(9), 600);
    write(&at, &state, 100, 1 << 20, Box::new(Lying));
    let index = IndexDir::open(&at).unwrap();
    // Every byte matches its hash.
    assert_eq!(verify(&index, Scope::All).unwrap().findings, []);
    let found = check_bundles(&source(&at), &mut SegmentReader).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].problem.is_damage());
    let file = found[0].path.to_string_lossy();
    assert!(
        file.contains("private/data") && file.contains("entries"),
        "{file}"
    );
}

#[test]
fn a_snapshot_of_which_no_bundle_can_be_made_goes_without() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("index");
    let state = State::random(&mut Random(9), 600);
    write(&at, &state, 100, 1 << 10, Box::new(Failing));
    let snapshot = source(&at).current().unwrap().unwrap();
    assert!(snapshot.bundle().is_none());
    let index = IndexDir::open(&at).unwrap();
    assert_eq!(verify(&index, Scope::All).unwrap().findings, []);
    write(&at, &state, 101, 1 << 20, Box::new(SegmentReader));
    let snapshot = source(&at).current().unwrap().unwrap();
    assert!(snapshot.bundle().is_some());
}
