//! Compares a snapshot made of published generations with one that a scan makes of the same tree.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use trawl_format::{GuardStep, IndexDir, Snapshot, Totals};
use trawl_model::column::{Column, ColumnSet};
use trawl_query::{Request, View};
use trawl_testkit::Scratch;
use trawl_writer::check_bundles;
use trawl_writer::verify::{Scope, verify};

use crate::shown::open;
use crate::{now, scanned};

/// All values of each row, by path.
type Rows = BTreeMap<Vec<u8>, String>;

/// Checks that the current snapshot has the rows and sums of a scan of the tree, and that no file
/// of the index is damaged or left over.
pub(crate) fn compare(label: &str, round: u64, index: &Path, root: &Path) {
    compare_but(ColumnSet::of(&[]), label, round, index, root);
}

/// Like `compare`, except for these columns.
pub(crate) fn compare_but(but: ColumnSet, label: &str, round: u64, index: &Path, root: &Path) {
    let scratch = Scratch::new("apply-fresh");
    let fresh = scratch.path().join("index");
    let writer = scanned(&fresh, root);
    writer.commit(now()).expect("a snapshot");
    let (ours, theirs) = (rows(index, root, but), rows(&fresh, root, but));
    for (path, row) in &theirs {
        let path = String::from_utf8_lossy(path);
        let other = ours.get(path.as_bytes()).map(String::as_str);
        assert_eq!(other, Some(&row[..]), "{label}, round {round}: {path}");
    }
    assert_eq!(ours.len(), theirs.len(), "{label}, round {round}");
    let (ours, theirs) = (placed(index, root), placed(&fresh, root));
    assert_same(&format!("{label}, round {round}"), &ours, &theirs);
    let (mut ours, theirs) = (totals(index, root), totals(&fresh, root));
    if but.contains(Column::Blocks) {
        ours.blocks = theirs.blocks;
    }
    assert_eq!(ours, theirs, "{label}, round {round}");
    check(index, root);
}

/// Checks that rows and values lie where a scan of the tree puts them, each exactly once.
pub(crate) fn compare_places(about: &str, index: &Path, root: &Path) {
    let scratch = Scratch::new("apply-fresh");
    let fresh = scratch.path().join("index");
    let writer = scanned(&fresh, root);
    writer.commit(now()).expect("a snapshot");
    assert_same(about, &placed(index, root), &placed(&fresh, root));
}

fn check(index: &Path, root: &Path) {
    let index = IndexDir::open(index).expect("it opens");
    let found = verify(&index, Scope::All).expect("it can be read").findings;
    assert_eq!(found, []);
    let source = index.source(root.as_os_str().as_bytes());
    let source = source.expect("it opens").expect("it is there");
    let found = check_bundles(&source).expect("they can be read");
    assert_eq!(found, []);
}

fn rows(index: &Path, root: &Path, but: ColumnSet) -> Rows {
    let (index, start) = open(index, root);
    // A scan reads symbolic links, which changes their access times.
    let access = ColumnSet::of(&[Column::Atime, Column::AtimeNs]);
    let request = Request {
        columns: ColumnSet::all().minus(access).minus(but),
        ..Request::default()
    };
    let mut found = Rows::new();
    let walked = index.walk(
        &start,
        &request,
        |listing, out: &mut Vec<(Vec<u8>, String)>| {
            for at in listing.range.clone() {
                let row = trawl_model::rows::Row {
                    batch: listing.batch,
                    at,
                    dir: listing.dir.path,
                };
                let times = (row.mtime(), row.ctime(), row.btime());
                let ids = (row.ino(), row.dev(), row.rdev(), row.nlink());
                let who = (
                    row.mode(),
                    row.uid(),
                    row.gid(),
                    row.acl(),
                    row.acl_default(),
                );
                let size = (row.size(), row.blocks(), row.blksize(), row.link_target());
                let more = (row.attributes(), row.project(), row.xattr_names());
                let text = format!("{times:?} {ids:?} {who:?} {size:?} {more:?}");
                out.push((row.path(), text));
            }
        },
        |some| {
            found.extend(some);
            ControlFlow::Continue(())
        },
    );
    walked.expect("it can be read");
    found
}

fn snapshot(index: &Path, root: &Path) -> Snapshot {
    let index = IndexDir::open(index).expect("it opens");
    let source = index.source(root.as_os_str().as_bytes());
    let source = source.expect("it opens").expect("it is there");
    let now = source.now().expect("it can be read");
    now.expect("there is a snapshot")
}

/// Returns every listing and every attribute value, with the guard that it lies behind.
fn placed(index: &Path, root: &Path) -> Vec<String> {
    let view = View::new(snapshot(index, root), Arc::default());
    let mut found = Vec::new();
    let mut note = |path: &[u8], what: &[u8], segment: usize| {
        let (_, shard, _) = view.stored_segment(segment).expect("it is there");
        let [path, what] = [path, what].map(String::from_utf8_lossy);
        let guard = guard_text(&shard.manifest.guard);
        found.push(format!("{path} {what} {guard}"));
    };
    let mut listings = view.listings().expect("they can be read");
    while listings.advance().expect("they can be read") {
        note(listings.path(), b"/", listings.place().segment);
    }
    let mut values = view.values().expect("they can be read");
    while let Some(value) = values.next_value().expect("they can be read") {
        note(&value.path(), &value.attr, value.place.segment);
    }
    found.sort();
    found.dedup();
    found
}

fn guard_text(steps: &[GuardStep]) -> String {
    let step = |step: &GuardStep| match step {
        GuardStep::Predicate { who } => format!("[{who}]"),
        GuardStep::Barrier { path, list } => {
            format!("[{} {list}]", String::from_utf8_lossy(path))
        }
    };
    steps.iter().map(step).collect()
}

/// Asserts that both have the same lines, and names the lines that only one has.
fn assert_same(about: &str, ours: &[String], theirs: &[String]) {
    let only = |one: &[String], other: &[String]| -> Vec<String> {
        one.iter()
            .filter(|line| !other.contains(line))
            .cloned()
            .collect()
    };
    let (ours, theirs) = (only(ours, theirs), only(theirs, ours));
    assert!(
        ours.is_empty() && theirs.is_empty(),
        "{about}: only ours\n{}\nonly the scan's\n{}",
        ours.join("\n"),
        theirs.join("\n")
    );
}

fn totals(index: &Path, root: &Path) -> Totals {
    snapshot(index, root).totals()
}

/// Checks that the current snapshot's digests of where directories are agree with the next scan.
pub(crate) fn check_digests(index: &Path, root: &Path) {
    let current = snapshot(index, root).info.id;
    let prepared = scanned(index, root).prepare(now()).expect("a snapshot");
    assert!(prepared.is_placed_as(current));
}
