//! A program indexes a tree, maintains the index and removes the source, without the command line.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use trawl_format::retention::Rule;
use trawl_indexer::upkeep::{collect, plan, verify};
use trawl_indexer::{
    Control, Event, Exclusion, IndexerError, Job, Listener, Refreshed, Retention, ScanOptions,
    Scanner, refresh, silent, sources,
};
use trawl_model::Timestamp;

static GO_ON: AtomicBool = AtomicBool::new(false);
static STOP: AtomicBool = AtomicBool::new(true);

fn clock() -> Timestamp {
    let now = trawl_sys::process::now();
    Timestamp {
        secs: now.secs,
        nanos: now.nanos,
    }
}

fn control(cancel: &'static AtomicBool) -> Control<'static> {
    Control { cancel, clock }
}

/// A tree of three files in two directories, and a place for an index.
fn tree(folder: &Path) -> (PathBuf, PathBuf) {
    let tree = folder.canonicalize().unwrap().join("tree");
    std::fs::create_dir_all(tree.join("sub")).unwrap();
    for name in ["a", "b.o", "sub/c"] {
        std::fs::write(tree.join(name), name).unwrap();
    }
    (tree, folder.join("index"))
}

/// Writes down the order of events.
#[derive(Default)]
struct Heard(Vec<&'static str>);

impl Listener for Heard {
    fn hear(&mut self, event: &Event<'_>) {
        self.0.push(match event {
            Event::Begun(scan) => {
                assert!(scan.root().ends_with(b"/tree"));
                "begun"
            }
            Event::Ended => "ended",
            _ => "other",
        });
    }
}

#[test]
fn a_tree_is_indexed_maintained_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (tree, place) = tree(folder.path());
    let index = trawl_writer::create_index(&place, None).unwrap();
    let options = ScanOptions {
        exclusion: Exclusion::Patterns(vec![b"*.o".to_vec()]),
        ..ScanOptions::default()
    };
    let job = Job::Walk(tree.clone());
    let mut heard = Heard::default();
    let scanner = Scanner::new(&index, &options, control(&GO_ON)).unwrap();
    let done = scanner.run(&job, &mut heard).unwrap();
    assert_eq!(heard.0, ["begun", "ended"]);
    // The tree, its directory and two files.
    assert_eq!(done.committed.totals.entries, 4);
    assert_eq!(done.issues.count, 0);

    // The next scan leaves out the same.
    let again = ScanOptions::default();
    let scanner = Scanner::new(&index, &again, control(&GO_ON)).unwrap();
    let done = scanner.run(&job, &mut silent()).unwrap();
    assert_eq!(done.committed.totals.entries, 4);
    assert!(done.left_out.is_remembered);
    assert!(verify(&index).unwrap().findings.is_empty());

    let source = index.source(&done.root).unwrap().unwrap();
    let last = Retention::new(Some(Rule::last(1)));
    assert_eq!(plan(&source, &last, clock()).unwrap().removed, 1);
    assert!(
        plan(&source, &Retention::default(), clock())
            .unwrap()
            .removed
            == 0
    );
    collect(&source, &last, clock()).unwrap();

    let Refreshed::Unwatched(job, options) = refresh(&index, tree.join("sub").as_os_str()).unwrap()
    else {
        panic!("no daemon watches the tree");
    };
    assert_eq!(job, Job::Walk(tree.clone()));
    assert_eq!(
        options.exclusion,
        Exclusion::Patterns(vec![b"*.o".to_vec()])
    );

    let removed = sources::remove(&index, tree.as_os_str()).unwrap();
    assert_eq!(removed, Some(done.root));
    assert_eq!(sources::remove(&index, tree.as_os_str()).unwrap(), None);
}

#[test]
fn an_interrupted_scan_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (tree, place) = tree(folder.path());
    let index = trawl_writer::create_index(&place, None).unwrap();
    let options = ScanOptions::default();
    let scanner = Scanner::new(&index, &options, control(&STOP)).unwrap();
    let mut heard = Heard::default();
    let error = scanner.run(&Job::Walk(tree), &mut heard).unwrap_err();
    assert!(matches!(error, IndexerError::Interrupted));
    assert_eq!(heard.0, ["begun", "ended"]);
    assert!(index.sources().unwrap().is_empty());
}

#[test]
fn errors_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let index = trawl_writer::create_index(&folder.path().join("index"), None).unwrap();
    let options = ScanOptions {
        exclusion: Exclusion::Patterns(vec![b"a/b".to_vec()]),
        ..ScanOptions::default()
    };
    let error = Scanner::new(&index, &options, control(&GO_ON)).unwrap_err();
    let pattern = trawl_text::words::quoted(b"a/b");
    let text = format!(
        "--exclude {pattern}: the pattern is invalid: give a name, or an absolute path, which \
         begins with / or a wildcard"
    );
    assert_eq!(error.to_string(), text);
    let error = refresh(&index, OsStr::new("/")).unwrap_err();
    assert!(error.to_string().ends_with("trawl index PATH indexes it"));
    let error = Job::Walk(PathBuf::new()).root().unwrap_err();
    assert!(matches!(error, IndexerError::EmptyPath));
}
