//! Checks that a process that ends at any point while it makes older snapshots stricter leaves each
//! of them whole, in its old or new state, and that the next writer finishes the work and removes
//! all leftovers.
//!
//! The child process is this test program, which takes its task from the environment.

use crate::support::{
    Names, ROOT, Random, Seen, State, may_see, seen, users, write, write_keeping,
};
use std::collections::BTreeSet;
use std::path::Path;
use trawl_format::{IndexDir, Snapshot};
use trawl_testkit::crash::at_each_point;
use trawl_testkit::skip::{Skip, without_root};
use trawl_writer::gc::{self, Retention};
use trawl_writer::verify::{Scope, verify};

const INDEX: &str = "TRAWL_TEST_INDEX";
/// Number of snapshots that the child keeps.
const KEEP: &str = "TRAWL_TEST_KEEP";

/// Returns a tree, and the same tree with fewer permissions.
fn states() -> (State, State) {
    let mut random = Random(3);
    let mut then = State::random(&mut random, 12);
    for node in then.nodes.values_mut() {
        node.mode |= 0o555;
    }
    let mut now = then.clone();
    for (at, node) in &mut now.nodes {
        if at != ROOT && at.len() % 2 == 0 {
            node.mode &= 0o750;
        }
    }
    (then, now)
}

/// Runs the child's task; does nothing in an ordinary run.
#[test]
fn child() {
    if let Some(index) = std::env::var_os(INDEX) {
        let newest = std::env::var(KEEP).ok().and_then(|text| text.parse().ok());
        let keep = Retention {
            newest: newest.unwrap_or(usize::MAX),
            since: None,
        };
        write_keeping(Path::new(&index), &states().1, 3, keep);
    }
}

fn snapshots(index: &Path) -> Vec<Snapshot> {
    let index = IndexDir::open(index).unwrap();
    let source = index.source(ROOT).unwrap().unwrap();
    let infos = source.snapshots().unwrap();
    let open = |info: &trawl_format::SnapshotInfo| source.snapshot(info.id).unwrap();
    infos.iter().map(open).collect()
}

fn damage(index: &Path) -> Vec<trawl_writer::verify::Finding> {
    let index = IndexDir::open(index).unwrap();
    let found = verify(&index, Scope::All).unwrap().findings;
    found
        .into_iter()
        .filter(|f| f.problem.is_damage())
        .collect()
}

/// Returns what each user sees of a snapshot.
fn views(snapshot: &Snapshot) -> Vec<BTreeSet<Seen>> {
    let see = |who| seen(snapshot, &who, Names::Unknown);
    users().into_iter().map(see).collect()
}

#[test]
fn a_crash_leaves_each_snapshot_as_it_was_or_as_it_is_to_be() {
    let name = "a_crash_leaves_each_snapshot_as_it_was_or_as_it_is_to_be";
    if !cfg!(debug_assertions) {
        return Skip::new(name, "crash points are in debug builds only").say();
    }
    if let Some(skip) = without_root(name) {
        return skip.say();
    }
    let dir = tempfile::tempdir().unwrap();
    let (base, copy) = (dir.path().join("base"), dir.path().join("copy"));
    let (then, now) = states();
    write(&base, &then, 1);
    write(&base, &then, 2);
    let before: Vec<_> = snapshots(&base).iter().map(views).collect();
    let whole = before[0][0].clone();
    let after: Vec<BTreeSet<Seen>> = users()
        .iter()
        .map(|who| {
            let both = |one: &&Seen| {
                let states = [&then, &now];
                states.iter().all(|s| may_see(s, one, who, Names::Unknown))
            };
            whole.iter().filter(both).cloned().collect()
        })
        .collect();
    assert_ne!(before[0], after);
    let mut done_before_the_end = 0;
    let prepare = |_| {
        let _ = std::fs::remove_dir_all(&copy);
        copy_tree(&base, &copy);
        let mut child = trawl_testkit::oracle::command(std::env::current_exe().unwrap());
        child.args(["--exact", "crashes::child"]).env(INDEX, &copy);
        child
    };
    let crashes = at_each_point(prepare, |point, _| {
        assert_eq!(damage(&copy), [], "point {point}");
        let found = snapshots(&copy);
        for (at, old) in found.iter().take(2).enumerate() {
            let seen = views(old);
            let is_done = seen == after;
            assert!(is_done || seen == before[at], "point {point} snapshot {at}");
            // Once the new snapshot is current, every older one must be strict.
            assert!(is_done || found.len() == 2, "point {point} snapshot {at}");
            done_before_the_end += u32::from(is_done && found.len() == 2);
        }
        finish(&copy, &now, &after);
    });
    assert!(crashes.points > 40, "{}", crashes.points);
    assert!(done_before_the_end > 0);
    assert_eq!(crashes.last.code, Some(0));
    assert_eq!(snapshots(&copy).len(), 3);
}

#[test]
fn a_crash_while_old_snapshots_go_leaves_nothing_that_shows_more_than_the_current_one() {
    let name = "a_crash_while_old_snapshots_go_leaves_nothing_that_shows_more";
    if !cfg!(debug_assertions) {
        return Skip::new(name, "crash points are in debug builds only").say();
    }
    if let Some(skip) = without_root(name) {
        return skip.say();
    }
    let dir = tempfile::tempdir().unwrap();
    let (base, copy) = (dir.path().join("base"), dir.path().join("copy"));
    let (then, now) = states();
    for at in 0..3 {
        write(&base, &then, at);
    }
    let current = snapshots(&base)[2].info.id;
    let prepare = |_| {
        let _ = std::fs::remove_dir_all(&copy);
        copy_tree(&base, &copy);
        let mut child = trawl_testkit::oracle::command(std::env::current_exe().unwrap());
        let child_of = child.args(["--exact", "crashes::child"]).env(INDEX, &copy);
        child_of.env(KEEP, "2");
        child
    };
    let mut gone_before_the_end = 0;
    let crashes = at_each_point(prepare, |point, _| {
        assert_eq!(damage(&copy), [], "point {point}");
        let found = snapshots(&copy);
        let is_current = found.last().unwrap().info.id == current;
        gone_before_the_end += u32::from(is_current && found.len() == 1);
        assert!(is_current || found.len() == 2, "point {point}");
        for old in found.iter().filter(|_| !is_current) {
            for (who, seen) in users().iter().zip(views(old)) {
                let ok = |one: &Seen| may_see(&now, one, who, Names::Unknown);
                assert!(seen.iter().all(ok), "point {point} {who:?}");
            }
        }
    });
    assert!(gone_before_the_end > 0);
    assert_eq!(crashes.last.code, Some(0));
    assert_eq!(snapshots(&copy).len(), 2);
}

/// Checks that the next writer finishes the work.
fn finish(index: &Path, now: &State, after: &[BTreeSet<Seen>]) {
    write(index, now, 9);
    for old in snapshots(index).iter().take(2) {
        assert_eq!(views(old), after);
    }
    let opened = IndexDir::open(index).unwrap();
    assert_eq!(verify(&opened, Scope::All).unwrap().findings, []);
    let source = opened.source(ROOT).unwrap().unwrap();
    gc::collect(&source, Retention::default()).unwrap();
    assert_eq!(verify(&opened, Scope::All).unwrap().findings, []);
}

/// Copies a tree with owners, modes and access control lists.
fn copy_tree(from: &Path, to: &Path) {
    let copied = trawl_testkit::oracle::command("cp")
        .arg("-a")
        .args([from, to])
        .status();
    assert!(copied.unwrap().success());
}
