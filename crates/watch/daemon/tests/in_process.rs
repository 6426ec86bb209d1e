//! A program watches a tree without the command line.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trawl_barrier::client::ask_barrier;
use trawl_daemon::{Daemon, DaemonError, Host, Options, Wish};
use trawl_format::{IndexDir, Source};
use trawl_indexer::{Control, PlainText};
use trawl_model::Timestamp;
use trawl_scan::Xattrs;
use trawl_sys::wait::Waker;

static GO_ON: AtomicBool = AtomicBool::new(false);

/// Longer than anything in these tests takes.
const LONG: Duration = Duration::from_secs(60);

fn clock() -> Timestamp {
    let now = trawl_sys::process::now();
    Timestamp {
        secs: now.secs,
        nanos: now.nanos,
    }
}

fn options() -> Options {
    Options {
        wish: Wish::Polling,
        interval: Duration::from_millis(50),
        apply_after: Duration::from_millis(10),
        max_dirty: 1000,
        checkpoint: Duration::from_secs(3600),
        exclude: Vec::new(),
        xattrs: Xattrs::Read,
    }
}

/// Opens a daemon whose reports are kept.
fn daemon(index: &Path) -> (Daemon, Arc<Mutex<Vec<String>>>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let ours = Arc::clone(&said);
    let host = Host {
        control: Control {
            cancel: &GO_ON,
            clock,
        },
        log: Arc::new(move |notice| ours.lock().unwrap().push(notice.to_string())),
        metrics: Arc::new(|| Ok(Vec::new())),
        documents: Arc::new(PlainText),
    };
    let daemon = Daemon::new(index.to_owned(), options(), host).unwrap();
    (daemon, said)
}

/// Waits until a pass over the tree has ended that began later; returns whether it came.
fn has_passed(source: &Source, after: Timestamp) -> bool {
    let until = Instant::now() + LONG;
    while Instant::now() < until {
        let answer = ask_barrier(source, LONG, Duration::ZERO).ok().flatten();
        let as_of = answer.and_then(|answer| answer.as_of);
        if as_of.is_some_and(|began| began > after) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

#[test]
fn a_tree_is_indexed_first_and_its_changes_become_a_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let (tree, place) = (folder.join("tree"), folder.join("index"));
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(tree.join("a"), "a").unwrap();
    let (mut daemon, said) = daemon(&place);
    assert!(daemon.is_idle());
    daemon.watch(&tree).unwrap();
    assert!(!daemon.is_idle());
    std::fs::write(tree.join("b"), "b").unwrap();
    let written = clock();

    let stop = Arc::new(Waker::new().unwrap());
    let waker = Arc::clone(&stop);
    let index = IndexDir::open(&place).unwrap();
    let root = tree.to_str().unwrap().as_bytes();
    let watched = index.source(root).unwrap().unwrap();
    let ending = std::thread::spawn(move || {
        let has_passed = has_passed(&watched, written);
        waker.wake();
        has_passed
    });
    daemon.serve(&stop);
    assert!(ending.join().unwrap(), "it is not polled");
    let source = index.source(root).unwrap().unwrap();
    let current = source.current().unwrap().unwrap();
    assert_eq!(current.totals().entries, 3);
    let said = said.lock().unwrap().join("\n");
    assert!(said.contains("indexing it"), "{said}");
    assert!(said.contains("watching "), "{said}");
}

#[test]
fn only_directories_are_watched() {
    let folder = tempfile::tempdir().unwrap();
    let (mut daemon, _) = daemon(&folder.path().join("index"));
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = daemon.watch(&file).unwrap_err();
    assert!(matches!(error, DaemonError::NotADirectory { .. }));
    let error = daemon.watch(&folder.path().join("none")).unwrap_err();
    assert!(error.to_string().starts_with("cannot watch "), "{error}");
    assert!(daemon.is_idle());
}
