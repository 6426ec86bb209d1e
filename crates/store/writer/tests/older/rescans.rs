//! Checks that a rescan that trusts times of change delivers the same rows as a scan that reads
//! everything, whatever was done to a live tree in between: even within the same tick of the clock,
//! and with the other times set back.

use crate::support::{Random, dump};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use trawl_format::{Readers, Snapshot};
use trawl_model::{DirBatch, KnownListings, Timestamp};
use trawl_scan::{ScanProgress, WalkOptions, trusts_ctime, walk};
use trawl_testkit::skip::{Skip, without_program};
use trawl_writer::{KnownItems, SnapshotWriter, WriterOptions, Writing};

/// Longer than the age at which a change is trusted.
const SETTLED: Duration = Duration::from_millis(2_300);

fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp {
        secs: now.as_secs() as i64,
        nanos: now.subsec_nanos(),
    }
}

/// Counts known listings.
#[derive(Debug)]
struct Counted {
    known: KnownItems,
    count: AtomicU64,
}

impl KnownListings for Counted {
    fn is_known(&self, batch: &DirBatch) -> bool {
        let is_known = self.known.is_known(batch);
        self.count.fetch_add(u64::from(is_known), Ordering::Relaxed);
        is_known
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Trust {
    Ctime,
    Nothing,
}

/// Indexes a tree; returns the snapshot and the number of directories that were trusted.
fn scan(index: &Path, tree: &Path, trust: Trust) -> (Snapshot, u64) {
    use std::os::unix::ffi::OsStrExt;
    let index = trawl_writer::create_index(index, Some(Readers::Owner)).unwrap();
    let options = WriterOptions {
        memory_bytes: 60_000,
        started: now(),
        version: "test".to_owned(),
        options: BTreeMap::new(),
    };
    let root = tree.as_os_str().as_bytes();
    let writer = SnapshotWriter::begin(&index, root, options).unwrap();
    let sharing = Writing::Sharing;
    let mut writer = writer.with_writing(sharing);
    let counted = Counted {
        known: writer.known(),
        count: AtomicU64::new(0),
    };
    let cancel = AtomicBool::new(false);
    let mut options = WalkOptions::new(&cancel);
    if trust == Trust::Ctime {
        options.known = Some(&counted);
    }
    walk(root, &options, &ScanProgress::default(), &mut writer).unwrap();
    let id = writer.commit(now()).unwrap().id;
    let source = index.source(root).unwrap().unwrap();
    (source.snapshot(id).unwrap(), counted.count.into_inner())
}

fn run(program: &str, args: &[&str], path: &Path) {
    let status = trawl_testkit::oracle::command(program)
        .args(args)
        .arg(path)
        .output();
    let output = status.unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {text}");
}

fn files(tree: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![tree.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => pending.push(entry.path()),
                kind if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

fn grow(tree: &Path) {
    for dir in 0..30 {
        let at = tree.join(format!("d{}", dir % 6)).join(format!("e{dir}"));
        std::fs::create_dir_all(&at).unwrap();
        for file in 0..6 {
            std::fs::write(at.join(format!("f{file}")), vec![b'x'; file * 7]).unwrap();
        }
        if dir % 4 == 0 {
            std::os::unix::fs::symlink("f1", at.join("link")).unwrap();
            std::fs::hard_link(at.join("f2"), at.join("again")).unwrap();
        }
        if dir % 5 == 0 {
            run("setfattr", &["-n", "user.a", "-v", "1"], &at.join("f3"));
            run("setfacl", &["-m", "u:7:r"], &at.join("f4"));
        }
    }
}

/// Makes a change to a file that a scan must notice.
fn change(random: &mut Random, tree: &Path) {
    let files = files(tree);
    let file = &files[random.below(files.len() as u64) as usize];
    let beside = file.with_file_name("beside");
    match random.below(11) {
        0 => std::fs::write(file, b"other").unwrap(),
        1 => run("chmod", &["u=rw,g=r,o="], file),
        2 => run("setfacl", &["-m", "u:9:rw"], file),
        3 => run("setfattr", &["-n", "user.b", "-v", "2"], file),
        4 => std::fs::rename(file, &beside).unwrap(),
        5 => {
            // Another file with the same name, size and times.
            run("cp", &["-p", file.to_str().unwrap()], &beside);
            run("setfattr", &["-n", "user.c", "-v", "3"], &beside);
            std::fs::rename(&beside, file).unwrap();
        }
        6 => drop(std::fs::hard_link(file, &beside)),
        7 => {
            // Changed content with its time of modification set back.
            let before = std::fs::metadata(file).unwrap().modified().unwrap();
            run("setfattr", &["-n", "user.d", "-v", "4"], file);
            let open = std::fs::File::options().append(true).open(file).unwrap();
            open.set_modified(before).unwrap();
        }
        8 => {
            // A change of the directory itself.
            run("setfacl", &["-m", "u:8:rx"], file.parent().unwrap());
        }
        9 => drop(
            trawl_testkit::oracle::command("setfattr")
                .args(["-x", "user.a"])
                .arg(file)
                .output(),
        ),
        _ => std::fs::remove_file(file).unwrap(),
    }
}

#[test]
fn a_rescan_that_trusts_times_brings_what_a_full_one_brings() {
    let name = "a_rescan_that_trusts_times_brings_what_a_full_one_brings";
    for program in ["setfattr", "setfacl"] {
        if let Some(skip) = without_program(name, program) {
            return skip.say();
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().canonicalize().unwrap().join("tree");
    std::fs::create_dir(&tree).unwrap();
    let system = trawl_sys::filesystem::of_path(&tree).unwrap().system;
    if !trusts_ctime(system.magic) {
        return Skip::new(name, "no trusted file system holds temporary files").say();
    }
    grow(&tree);
    std::thread::sleep(SETTLED);
    let index = dir.path().join("index");
    let (_, trusted) = scan(&index, &tree, Trust::Ctime);
    assert_eq!(trusted, 0, "nothing is known before the first scan");
    let mut random = Random(1);
    let mut total = 0;
    for round in 0..25 {
        for _ in 0..random.below(4) {
            change(&mut random, &tree);
        }
        let (snapshot, trusted) = scan(&index, &tree, Trust::Ctime);
        // Later changes may get the same time of change.
        let alone = dir.path().join(format!("alone-{round}"));
        let (whole, _) = scan(&alone, &tree, Trust::Nothing);
        let (shared, whole) = (dump(&snapshot), dump(&whole));
        let lost: Vec<_> = whole.iter().filter(|line| !shared.contains(line)).collect();
        assert_eq!(shared, whole, "round {round}: {lost:#?}");
        total += trusted;
        std::fs::remove_dir_all(&alone).unwrap();
        if round == 12 {
            std::thread::sleep(SETTLED);
        }
    }
    assert!(total > 100, "only {total} directories were trusted");
}

#[test]
fn what_has_just_changed_is_not_trusted() {
    let name = "what_has_just_changed_is_not_trusted";
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().canonicalize().unwrap().join("tree");
    std::fs::create_dir(&tree).unwrap();
    let system = trawl_sys::filesystem::of_path(&tree).unwrap().system;
    if !trusts_ctime(system.magic) {
        return Skip::new(name, "no trusted file system holds temporary files").say();
    }
    std::fs::write(tree.join("file"), b"").unwrap();
    let index = dir.path().join("index");
    for _ in 0..2 {
        assert_eq!(scan(&index, &tree, Trust::Ctime).1, 0);
    }
    std::thread::sleep(SETTLED);
    // The earlier scan began too soon after the changes for its times to be trusted.
    assert_eq!(scan(&index, &tree, Trust::Ctime).1, 0);
    assert_eq!(scan(&index, &tree, Trust::Ctime).1, 1);
}
