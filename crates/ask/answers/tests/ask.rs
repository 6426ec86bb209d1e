//! Runs `examples/ask.rs` on an index of a small tree, and compares its answers with what the file
//! system itself says. Nothing of the command line is linked.

#[allow(dead_code, missing_docs, unreachable_pub)]
#[path = "../examples/ask.rs"]
mod example;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use trawl_model::Timestamp;
use trawl_testkit::Scratch;
use trawl_writer::{SnapshotWriter, WriterOptions};

/// A tree and its index.
struct Place {
    _scratch: Scratch,
    tree: PathBuf,
    index: PathBuf,
}

impl Place {
    fn new(label: &str) -> Place {
        let scratch = Scratch::new(label);
        let base = scratch.path().canonicalize().unwrap();
        let (tree, index) = (base.join("tree"), base.join("index"));
        for dir in ["a/b/c", "a/empty", "odd \u{1} name/x"] {
            fs::create_dir_all(tree.join(dir)).unwrap();
        }
        for (at, dir) in ["a", "a/b", "a/b/c", "odd \u{1} name/x"].iter().enumerate() {
            for size in [0, 1, 5000, 30_000 + at] {
                let name = format!("f{at}-{size}.txt");
                fs::write(tree.join(dir).join(name), vec![1; size]).unwrap();
            }
        }
        std::os::unix::fs::symlink("nowhere", tree.join("a/link")).unwrap();
        let place = Place {
            _scratch: scratch,
            tree,
            index,
        };
        place.scan(10);
        place
    }

    /// Adds a snapshot that began at this second.
    fn scan(&self, secs: i64) {
        let root = self.tree.as_os_str().as_bytes();
        let index = trawl_writer::create_index(&self.index, None).unwrap();
        let options = WriterOptions {
            memory_bytes: 1 << 20,
            started: Timestamp { secs, nanos: 0 },
            version: "test".to_owned(),
            options: BTreeMap::new(),
        };
        let mut writer = SnapshotWriter::begin(&index, root, options).unwrap();
        let cancel = AtomicBool::new(false);
        let options = trawl_scan::WalkOptions::new(&cancel);
        let progress = trawl_scan::ScanProgress::default();
        trawl_scan::walk(root, &options, &progress, &mut writer).unwrap();
        let end = Timestamp {
            secs: secs + 1,
            nanos: 0,
        };
        writer.commit(end).unwrap();
    }

    /// Asks a question about the tree, or about a path in it.
    fn ask(&self, question: &str, below: &str, expression: &[&str]) -> Vec<(u64, String)> {
        let path = match below {
            "" => self.tree.clone(),
            below => self.tree.join(below),
        };
        let mut words = vec![
            self.index.clone().into_os_string(),
            question.into(),
            path.into_os_string(),
        ];
        words.extend(expression.iter().map(OsString::from));
        let mut out = Vec::new();
        assert!(example::ask(&words, &mut out).unwrap(), "{words:?}");
        let text = String::from_utf8(out).unwrap();
        let pair = |line: &str| {
            let (number, name) = line.split_once('\t').unwrap();
            (number.parse().unwrap(), name.to_owned())
        };
        text.lines().map(pair).collect()
    }

    /// Returns the size and path of every entry, as the file system has them.
    fn entries(&self) -> Vec<(u64, String)> {
        let mut all = Vec::new();
        list(&self.tree, &mut all);
        all
    }
}

fn list(path: &Path, all: &mut Vec<(u64, String)>) {
    let meta = path.symlink_metadata().unwrap();
    all.push((meta.size(), path.to_str().unwrap().to_owned()));
    if meta.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            list(&entry.unwrap().path(), all);
        }
    }
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list
}

#[test]
fn find_has_every_entry_or_those_that_the_expression_selects() {
    let place = Place::new("ask-find");
    assert_eq!(sorted(place.ask("find", "", &[])), sorted(place.entries()));
    let large = |entry: &(u64, String)| entry.0 > 4096 && entry.1.ends_with(".txt");
    let expected = place.entries().into_iter().filter(large).collect();
    let found = place.ask("find", "", &["-name", "*.txt", "-size", "+4096c"]);
    assert_eq!(sorted(found), sorted(expected));
    let direct = place.ask("find", "a", &["-mindepth", "1", "-maxdepth", "1"]);
    assert_eq!(direct.len(), 4 + 3);
}

#[test]
fn du_sums_up_each_directory() {
    let place = Place::new("ask-du");
    let all = place.entries();
    let is_dir = |path: &str| Path::new(path).symlink_metadata().unwrap().is_dir();
    let below = |dir: &str| {
        let inside = all
            .iter()
            .filter(|(_, path)| Path::new(path).starts_with(dir));
        inside.map(|(size, _)| size).sum::<u64>()
    };
    let dirs = all.iter().filter(|(_, path)| is_dir(path));
    let expected = dirs.map(|(_, path)| (below(path), path.clone())).collect();
    assert_eq!(sorted(place.ask("du", "", &[])), sorted(expected));
}

#[test]
fn top_has_the_largest_files() {
    let place = Place::new("ask-top");
    let is_file = |path: &str| Path::new(path).symlink_metadata().unwrap().is_file();
    let mut files = place.entries();
    files.retain(|(_, path)| is_file(path));
    files.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    files.truncate(3);
    assert_eq!(place.ask("top", "", &[]), files);
}

#[test]
fn stats_counts_by_every_usual_kind() {
    let place = Place::new("ask-stats");
    let counts = place.ask("stats", "", &[]);
    for expected in [
        (16, "type files"),
        (7, "type directories"),
        (1, "type symbolic links"),
        (16, "extension .txt"),
    ] {
        let expected = (expected.0, expected.1.to_owned());
        assert!(counts.contains(&expected), "{expected:?} in {counts:?}");
    }
    let selected = place.ask("stats", "", &["-size", "+4096c", "-type", "f"]);
    assert!(selected.contains(&(8, "extension .txt".to_owned())));
}

#[test]
fn history_follows_a_path_through_the_snapshots() {
    let place = Place::new("ask-history");
    let file = place.tree.join("a/new");
    fs::write(&file, b"12345").unwrap();
    place.scan(20);
    place.scan(30);
    fs::write(&file, b"123456789").unwrap();
    place.scan(40);
    fs::remove_file(&file).unwrap();
    place.scan(50);
    let states = [(0, "absent"), (5, "present"), (5, "same"), (9, "changed")];
    let expected = states.into_iter().chain([(0, "absent")]);
    let expected: Vec<(u64, String)> = expected.map(|(n, s)| (n, s.to_owned())).collect();
    assert_eq!(place.ask("history", "a/new", &[]), expected);
}
