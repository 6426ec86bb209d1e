//! Checks that a process that ends at any crash point leaves the old or the new snapshot whole, and
//! that the next writer removes all leftovers.
//!
//! The child process is this test program, which takes its task from the environment.

mod support;

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use support::{Tree, odd_tree, options, write_tree};
use trawl_format::{IndexDir, SnapshotId, Totals};
use trawl_writer::gc::{self, Retention};
use trawl_writer::verify::{Scope, verify};

const INDEX: &str = "TRAWL_TEST_INDEX";
const TASK: &str = "TRAWL_TEST_TASK";
const ROOT: &str = "/srv/data";

fn old_tree() -> Tree {
    odd_tree(ROOT, 6, 4, 11)
}

fn new_tree() -> Tree {
    odd_tree(ROOT, 8, 4, 12)
}

/// Runs the child's task; does nothing in an ordinary run.
#[test]
fn child() {
    let (Some(index), Ok(task)) = (std::env::var_os(INDEX), std::env::var(TASK)) else {
        return;
    };
    let index = trawl_writer::create_index(Path::new(&index), None).unwrap();
    match task.as_str() {
        "write" => drop(write_tree(&index, &new_tree(), 2 << 10).unwrap()),
        "collect" => {
            let source = index.source(ROOT.as_bytes()).unwrap().unwrap();
            gc::collect(&source, Retention::default()).unwrap();
        }
        "remove" => gc::remove_source(&index, ROOT.as_bytes()).unwrap(),
        _ => panic!("no task {task}"),
    }
}

fn run_child(index: &Path, task: &str, crash_at: u64) -> ExitStatus {
    let output = trawl_testkit::oracle::command(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(INDEX, index)
        .env(TASK, task)
        .env("TRAWL_CRASH_AT", crash_at.to_string())
        .output()
        .unwrap();
    let aborted = std::os::unix::process::ExitStatusExt::signal(&output.status) == Some(6);
    assert!(
        aborted || output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.status
}

/// Copies a tree with owners, modes and access control lists.
fn copy_tree(from: &Path, to: &Path) {
    let copied = trawl_testkit::oracle::command("cp")
        .arg("-a")
        .args([from, to])
        .status();
    assert!(copied.unwrap().success());
}

/// Returns the current snapshot's id and sums after checking every byte of the index.
fn state(index: &Path) -> Option<(SnapshotId, Totals)> {
    let index = IndexDir::open(index).ok()?;
    let verified = verify(&index, Scope::All).unwrap();
    assert!(!verified.has_damage(), "{:?}", verified.findings);
    let source = index.source(ROOT.as_bytes()).unwrap()?;
    let snapshot = source.current().unwrap()?;
    Some((snapshot.info.id, snapshot.totals()))
}

/// Runs a task on copies of `base`, with a crash at each point in turn. Returns the number of
/// points.
fn crash_everywhere(base: &Path, task: &str, mut check: impl FnMut(&Path)) -> u64 {
    for crash_at in 1.. {
        let copy: PathBuf = base.with_extension(format!("copy-{crash_at}"));
        if base.exists() {
            copy_tree(base, &copy);
        }
        let status = run_child(&copy, task, crash_at);
        check(&copy);
        if status.success() {
            return crash_at - 1;
        }
        let _ = std::fs::remove_dir_all(&copy);
    }
    0
}

/// Checks that the next writer succeeds and cleans up.
fn write_after(index: &Path) {
    let index = trawl_writer::create_index(index, None).unwrap();
    let mut late = options(64 << 20);
    late.started.secs += 1000;
    let tree = old_tree();
    let mut writer = trawl_writer::SnapshotWriter::begin(&index, &tree.root.path, late).unwrap();
    support::feed(&mut writer, &tree).unwrap();
    writer.commit(support::time(1_700_002_000)).unwrap();
    let verified = verify(&index, Scope::All).unwrap();
    assert_eq!(verified.findings, []);
}

#[test]
fn a_crash_while_writing_leaves_the_old_or_the_new_snapshot() {
    if !cfg!(debug_assertions) {
        return eprintln!("skipped, because crash points are in debug builds only");
    }
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("index");
    let index = trawl_writer::create_index(&base, None).unwrap();
    let old = write_tree(&index, &old_tree(), 64 << 20).unwrap();
    let (mut olds, mut news) = (0, 0);
    let points = crash_everywhere(&base, "write", |copy| {
        let (id, totals) = state(copy).unwrap();
        if id == old.id {
            assert_eq!(totals, old.totals);
            olds += 1;
        } else {
            assert_ne!(totals, old.totals);
            news += 1;
        }
        write_after(copy);
    });
    eprintln!("{points} points: {olds} left the old snapshot, {news} the new one");
    assert!(points > 20 && news > 1 && olds > 20);
}

#[test]
fn a_crash_while_making_an_index_leaves_nothing_or_an_index() {
    if !cfg!(debug_assertions) {
        return eprintln!("skipped, because crash points are in debug builds only");
    }
    let dir = tempfile::tempdir().unwrap();
    let points = crash_everywhere(&dir.path().join("none"), "write", |copy| {
        state(copy);
        write_after(copy);
    });
    assert!(points > 30);
}

#[test]
fn a_crash_while_collecting_leaves_the_current_snapshot() {
    if !cfg!(debug_assertions) {
        return eprintln!("skipped, because crash points are in debug builds only");
    }
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("index");
    let index = trawl_writer::create_index(&base, None).unwrap();
    write_tree(&index, &old_tree(), 2 << 10).unwrap();
    let new = write_tree(&index, &new_tree(), 2 << 10).unwrap();
    let points = crash_everywhere(&base, "collect", |copy| {
        assert_eq!(state(copy), Some((new.id, new.totals)));
        let index = IndexDir::open(copy).unwrap();
        let source = index.source(ROOT.as_bytes()).unwrap().unwrap();
        gc::collect(&source, Retention::default()).unwrap();
        assert_eq!(verify(&index, Scope::All).unwrap().findings, []);
    });
    assert!(points > 10);
}

#[test]
fn a_crash_while_removing_a_source_can_be_finished() {
    if !cfg!(debug_assertions) {
        return eprintln!("skipped, because crash points are in debug builds only");
    }
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("index");
    let index = trawl_writer::create_index(&base, None).unwrap();
    let old = write_tree(&index, &old_tree(), 64 << 20).unwrap();
    crash_everywhere(&base, "remove", |copy| {
        let left = state(copy);
        assert!(left.is_none_or(|left| left == (old.id, old.totals)));
        let index = IndexDir::open(copy).unwrap();
        match gc::remove_source(&index, ROOT.as_bytes()) {
            Ok(()) | Err(trawl_format::IndexError::NoSource { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        assert_eq!(index.sources().unwrap().len(), 0);
        write_after(copy);
    });
}
