//! Checks that bundles hold the rows of small segments, are shared while these stay, and are
//! reported if they differ.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use trawl_format::layout;
use trawl_format::pack::{self, Contents, Pack, Packing};
use trawl_format::{IndexDir, ListingKind, Manifest, Readers, SegmentId, Snapshot, Source, Table};
use trawl_model::Timestamp;
use trawl_model::guard::Credentials;
use trawl_query::{QueryError, View};
use trawl_writer::gc::{Retention, collect};
use trawl_writer::verify::{Scope, verify};
use trawl_writer::{SnapshotWriter, WriterOptions, Writing, check_bundles};

use crate::support::{ROOT, Random, State};

fn begin(index: &Path, at: i64, memory_bytes: usize) -> SnapshotWriter {
    let index = trawl_writer::create_index(index, Some(Readers::Owner)).unwrap();
    let options = WriterOptions {
        memory_bytes,
        started: Timestamp { secs: at, nanos: 0 },
        version: "test".to_owned(),
        options: BTreeMap::new(),
    };
    let writer = SnapshotWriter::begin(&index, ROOT, options).unwrap();
    writer.with_writing(Writing::Sharing)
}

fn write(index: &Path, state: &State, at: i64, memory_bytes: usize) {
    let mut writer = begin(index, at, memory_bytes).with_bundle();
    state.feed(&mut writer);
    writer.commit(Timestamp { secs: at, nanos: 1 }).unwrap();
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
        let issues = info.files.get(&Table::Issues);
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
            write(&at, &state, 100 + scan, memory);
            let snapshot = source(&at).current().unwrap().unwrap();
            assert!(
                !bundle_files(&snapshot).is_empty(),
                "seed {seed}, scan {scan}"
            );
            let alone = snapshot.clone().without_bundle();
            assert!(rows(snapshot) == rows(alone), "seed {seed}, scan {scan}");
            let index = IndexDir::open(&at).unwrap();
            assert_eq!(verify(&index, Scope::All).unwrap().findings, []);
            assert_eq!(check_bundles(&source(&at)).unwrap(), []);
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
    write(&at, &state, 100, 1 << 20);
    let first = source(&at).current().unwrap().unwrap();
    write(&at, &state, 101, 1 << 20);
    let second = source(&at).current().unwrap().unwrap();
    assert_eq!(bundle_files(&first), bundle_files(&second));
    // Another group for everything: every segment changes.
    let mut other = state.clone();
    other.nodes.values_mut().for_each(|node| node.gid += 10);
    write(&at, &other, 102, 1 << 20);
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

/// Replaces the bundle of the current snapshot in `index` by the one in `other`, an index of a tree
/// with the same names: its files, and what the pack says about them.
fn take_bundle(index: &Path, other: &Path) {
    let (here, there) = (source(index), source(other));
    let snapshot = there.current().unwrap().unwrap();
    let edition = snapshot.info.edition();
    let [to, from] = [&here, &there].map(|source| source.path().join("private/data"));
    for id in bundle_files(&snapshot) {
        for name in std::fs::read_dir(&from).unwrap() {
            let name = name.unwrap().file_name();
            if name.to_string_lossy().starts_with(&id.to_string()) {
                std::fs::copy(from.join(&name), to.join(&name)).unwrap();
            }
        }
    }
    let private = here.private().unwrap();
    let ours = pack::read(&private, edition).unwrap();
    let theirs = pack::read(&there.private().unwrap(), edition).unwrap();
    let bundle = theirs.unpack(theirs.shard_count()).unwrap().1.segments;
    let shards: Vec<_> = (0..ours.shard_count())
        .map(|at| ours.unpack(at).unwrap())
        .collect();
    let contents = Contents {
        edition,
        root: ROOT,
        above: &ours.above,
        key: ours.key,
        shards: (shards.iter().enumerate())
            .map(|(at, (components, manifest))| packing(&ours, at, components, manifest))
            .collect(),
        bundle: &bundle,
    };
    std::fs::remove_file(to.join(layout::pack_file(edition))).unwrap();
    pack::write(&private, &contents).unwrap();
}

fn packing<'a>(
    pack: &Pack,
    at: usize,
    components: &'a [String],
    manifest: &'a Manifest,
) -> Packing<'a> {
    let segments = 0..manifest.segments.len();
    Packing {
        components,
        snapshot: manifest.snapshot,
        guard: manifest.guard.clone(),
        segments: &manifest.segments,
        totals: &manifest.totals,
        digest: pack.digest(at),
        bundled: segments
            .map(|segment| pack.bundled(at, segment).unwrap_or(0))
            .collect(),
    }
}

#[test]
fn a_bundle_that_differs_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("index");
    let state = State::random(&mut Random(9), 600);
    write(&at, &state, 100, 1 << 20);
    // The same tree with another group for files, whose rows lie where they did.
    let mut other = state.clone();
    let files = other.nodes.values_mut().filter(|node| !node.is_dir);
    files
        .filter(|file| !file.has_value)
        .for_each(|file| file.gid += 10);
    let beside = dir.path().join("beside");
    write(&beside, &other, 100, 1 << 20);
    take_bundle(&at, &beside);
    let index = IndexDir::open(&at).unwrap();
    // Every byte matches its hash.
    assert_eq!(verify(&index, Scope::All).unwrap().findings, []);
    let found = check_bundles(&source(&at)).unwrap();
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
    let finished = |secs| Timestamp { secs, nanos: 1 };
    let mut first = begin(&at, 99, 1 << 10);
    state.feed(&mut first);
    let first = first.commit(finished(99)).unwrap();
    let mut writer = begin(&at, 100, 1 << 10).with_bundle();
    state.feed(&mut writer);
    // Reading fails in the middle: a segment is damaged after the writer has looked at it.
    let snapshot = source(&at).snapshot(first.id).unwrap();
    let shard = &snapshot.shards[snapshot.shards.len() / 2];
    let file = shard.file_path(shard.manifest.segments[0].id, Table::Entries);
    let sound = std::fs::read(&file).unwrap();
    let mut damaged = sound.clone();
    damaged[sound.len() / 2] ^= 1;
    std::fs::write(&file, damaged).unwrap();
    let prepared = writer.prepare(finished(100)).unwrap();
    std::fs::write(&file, sound).unwrap();
    prepared.commit().unwrap();
    let snapshot = source(&at).current().unwrap().unwrap();
    assert!(snapshot.bundle().is_none());
    let index = IndexDir::open(&at).unwrap();
    assert_eq!(verify(&index, Scope::All).unwrap().findings, []);
    write(&at, &state, 101, 1 << 20);
    let snapshot = source(&at).current().unwrap().unwrap();
    assert!(snapshot.bundle().is_some());
}
