//! Tests locks, full disks, permissions, retention, and readers beside writers.

mod support;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use support::{
    Event, Tree, feed, files_below, new_index, new_private_index, odd_tree, options, read, time,
    write_tree,
};
use trawl_format::{IndexDir, IndexError, Readers, Table};
use trawl_model::sink::SourceRoot;
use trawl_model::{DirAccess, DirBatch, DirId, Entry, Gid, Meta, Sink};
use trawl_writer::SnapshotWriter;
use trawl_writer::gc::{self, Retention};
use trawl_writer::verify::{Scope, verify};

const ROOT: &str = "/srv/data";

#[test]
fn a_second_writer_is_told_who_has_the_lock() {
    let (_dir, index) = new_index();
    let tree = odd_tree(ROOT, 5, 3, 1);
    let mut first = SnapshotWriter::begin(&index, ROOT.as_bytes(), options(1 << 20)).unwrap();
    first.root(tree.root.clone()).unwrap();
    let mut second = SnapshotWriter::begin(&index, ROOT.as_bytes(), options(1 << 20)).unwrap();
    let error = second.root(tree.root.clone()).unwrap_err();
    assert!(matches!(error, IndexError::Busy { pid: Some(pid), .. } if pid == std::process::id()));
    assert!(
        error
            .to_string()
            .contains(&format!("by process {}", std::process::id()))
    );
    let source = index.source(ROOT.as_bytes()).unwrap().unwrap();
    assert!(matches!(
        gc::collect(&source, Retention::default()),
        Err(IndexError::Busy { .. })
    ));
    // Another source can be written meanwhile.
    write_tree(&index, &odd_tree("/other", 3, 3, 2), 1 << 20).unwrap();
    drop(first);
    write_tree(&index, &tree, 1 << 20).unwrap();
    assert_eq!(index.sources().unwrap().len(), 2);
}

#[test]
fn a_dropped_writer_leaves_nothing() {
    let (_dir, index) = new_index();
    write_tree(&index, &odd_tree(ROOT, 20, 5, 1), 1 << 20).unwrap();
    let before = files_below(index.path());
    let mut writer = SnapshotWriter::begin(&index, ROOT.as_bytes(), options(0)).unwrap();
    feed(&mut writer, &odd_tree(ROOT, 30, 5, 2)).unwrap();
    assert!(files_below(index.path()).len() > before.len());
    drop(writer);
    assert_eq!(files_below(index.path()), before);
    assert_eq!(verify(&index, Scope::All).unwrap().findings, []);
}

#[test]
fn records_out_of_order_are_an_error() {
    let (_dir, index) = new_index();
    let tree = odd_tree(ROOT, 5, 3, 1);
    let mut writer = SnapshotWriter::begin(&index, ROOT.as_bytes(), options(1 << 20)).unwrap();
    let Some(Event::Batch(batch)) = tree.events.first().cloned() else {
        panic!("a tree begins with a batch");
    };
    let error = trawl_model::Sink::batch(&mut writer, batch).unwrap_err();
    assert!(matches!(error, IndexError::Order { .. }));
    let error = trawl_model::Sink::root(&mut writer, SourceRoot::default()).unwrap_err();
    assert!(matches!(error, IndexError::Order { .. }));
}

fn commit_at(index: &IndexDir, tree: &Tree, secs: i64) -> trawl_format::SnapshotId {
    let mut late = options(1 << 20);
    late.started = time(secs);
    let mut writer = SnapshotWriter::begin(index, ROOT.as_bytes(), late).unwrap();
    feed(&mut writer, tree).unwrap();
    writer.commit(time(secs + 1)).unwrap().id
}

#[test]
fn retention_keeps_the_newest_the_young_and_the_current() {
    let (_dir, index) = new_index();
    let trees: Vec<Tree> = (0..5).map(|seed| odd_tree(ROOT, 12, 4, seed)).collect();
    let ids: Vec<_> = trees
        .iter()
        .zip(1..)
        .map(|(tree, at)| commit_at(&index, tree, at * 1000))
        .collect();
    let source = index.source(ROOT.as_bytes()).unwrap().unwrap();
    let listed = || {
        source
            .snapshots()
            .unwrap()
            .iter()
            .map(|s| s.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(listed(), ids);
    let done = gc::collect(
        &source,
        Retention {
            newest: 2,
            since: Some(time(3000)),
        },
    )
    .unwrap();
    assert_eq!(listed(), ids[2..]);
    assert_eq!(done.snapshots.len(), 2);
    assert!(matches!(
        source.snapshot(ids[0]),
        Err(IndexError::NoSnapshot { .. })
    ));
    // An open snapshot stays; an open file stays readable.
    let old = source.snapshot(ids[2]).unwrap();
    let file = old.shards[0]
        .open_file(&old.shards[0].manifest.segments[0], Table::Dirs)
        .unwrap();
    let done = gc::collect(&source, Retention::default()).unwrap();
    assert_eq!((done.in_use, done.snapshots), (vec![ids[2]], vec![ids[3]]));
    assert_eq!(listed(), [ids[2], ids[4]]);
    let first = &old.shards[0].manifest.segments[0];
    assert!(old.shards[0].open_file(first, Table::Entries).is_ok());
    drop(old);
    let done = gc::collect(&source, Retention::default()).unwrap();
    assert_eq!((done.in_use, done.snapshots), (vec![], vec![ids[2]]));
    assert_eq!(listed(), ids[4..]);
    let length = file.metadata().unwrap().len() as usize;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut &file, &mut bytes).unwrap();
    assert_eq!(bytes.len(), length);
    assert_eq!(verify(&index, Scope::All).unwrap().findings, []);
    assert_eq!(
        read(&source.current().unwrap().unwrap().shards[0], Table::Dirs).len(),
        1
    );
    gc::remove_source(&index, ROOT.as_bytes()).unwrap();
    assert!(index.sources().unwrap().is_empty());
    assert!(matches!(
        gc::remove_source(&index, ROOT.as_bytes()),
        Err(IndexError::NoSource { .. })
    ));
    assert_eq!(files_below(index.path()).len(), 1);
}

#[test]
fn readers_see_whole_snapshots_while_writers_commit_and_collect() {
    let (_dir, index) = new_private_index();
    let trees: Vec<Tree> = (0..3).map(|seed| odd_tree(ROOT, 15, 4, seed)).collect();
    let sizes: Vec<u64> = trees
        .iter()
        .map(|tree| write_tree(&index, tree, 1 << 20).unwrap().totals.entries)
        .collect();
    let stop = AtomicBool::new(false);
    let reads = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let source = index.source(ROOT.as_bytes()).unwrap().unwrap();
                while !stop.load(Ordering::Relaxed) {
                    let snapshot = source.current().unwrap().unwrap();
                    assert!(sizes.contains(&snapshot.totals().entries));
                    let whole = snapshot.shards.iter().all(|shard| {
                        shard.files().all(|(segment, table, file)| {
                            match shard.open_file(segment, table) {
                                Ok(open) => open.metadata().unwrap().len() == file.size_bytes,
                                Err(_) => false,
                            }
                        })
                    });
                    assert!(whole);
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let source = index.source(ROOT.as_bytes()).unwrap().unwrap();
        for round in 0..12 {
            write_tree(&index, &trees[round % 3], 1 << 20).unwrap();
            gc::collect(&source, Retention::default()).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(reads.load(Ordering::Relaxed) > 5);
}

#[test]
fn planted_links_are_not_written_through() {
    let (dir, index) = new_index();
    let tree = odd_tree(ROOT, 5, 3, 1);
    let source = trawl_writer::add_source(&index, ROOT.as_bytes(), &[], time(1)).unwrap();
    let victim = dir.path().join("victim");
    std::fs::write(&victim, b"precious").unwrap();
    let data = source.path().join("data");
    let mut writer = SnapshotWriter::begin(&index, ROOT.as_bytes(), options(1 << 20)).unwrap();
    writer.root(tree.root.clone()).unwrap();
    let id = writer.id().unwrap();
    drop(writer);
    symlink(&victim, data.join(format!("{id}-0.dirs.parquet"))).unwrap();
    let error = write_tree(&index, &tree, 1 << 20).unwrap_err();
    assert!(error.to_string().contains("dirs.parquet"), "{error}");
    assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
    let _ = std::fs::remove_dir_all(&data);
    symlink(dir.path(), &data).unwrap();
    write_tree(&index, &tree, 1 << 20).unwrap_err();
    let names = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(names, 2, "something was written through the link");
}

/// The part of the next test that runs with another umask.
#[test]
fn umask_child() {
    let Some(path) = std::env::var_os("TRAWL_TEST_UMASK_INDEX") else {
        return;
    };
    let readers = match std::env::var("TRAWL_TEST_UMASK_READERS").as_deref() {
        Ok("everyone") => Readers::Everyone,
        _ => Readers::Owner,
    };
    let index = trawl_writer::create_index(Path::new(&path), Some(readers)).unwrap();
    write_tree(&index, &odd_tree(ROOT, 20, 4, 3), 1 << 10).unwrap();
}

/// Checks the permissions of everything below an index made with each umask.
fn modes_under_umasks(readers: &str, check: impl Fn(&Path, &std::fs::Metadata)) {
    for umask in ["000", "022", "077", "277"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        let command = format!("umask {umask}; exec \"$0\" --exact umask_child");
        let status = trawl_testkit::oracle::command("sh")
            .args(["-c", &command])
            .arg(std::env::current_exe().unwrap())
            .env("TRAWL_TEST_UMASK_INDEX", &path)
            .env("TRAWL_TEST_UMASK_READERS", readers)
            .output()
            .unwrap();
        assert!(
            status.status.success(),
            "{}",
            String::from_utf8_lossy(&status.stderr)
        );
        let mut pending = vec![path];
        let mut seen = 0;
        while let Some(at) = pending.pop() {
            let meta = std::fs::symlink_metadata(&at).unwrap();
            check(&at, &meta);
            seen += 1;
            if meta.is_dir() {
                pending.extend(std::fs::read_dir(&at).unwrap().map(|e| e.unwrap().path()));
            }
        }
        assert!(seen > 20);
    }
}

#[test]
fn an_index_for_its_owner_is_private_whatever_the_umask() {
    modes_under_umasks("owner", |at, meta| {
        let expected = if meta.is_dir() { 0o700 } else { 0o600 };
        let mode = meta.permissions().mode() & 0o7777;
        assert_eq!(mode, expected, "{}", at.display());
    });
}

#[test]
fn an_index_for_everyone_can_be_written_by_nobody_whatever_the_umask() {
    use std::os::unix::fs::MetadataExt;
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped, because only root can make an index for everyone");
    }
    modes_under_umasks("everyone", |at, meta| {
        let mode = meta.permissions().mode() & 0o7777;
        let name = at.file_name().unwrap().to_str().unwrap();
        assert_eq!((meta.uid(), mode & 0o7022), (0, 0), "{}", at.display());
        if meta.is_file() {
            let private = name == "lock" || [".shards", ".pack"].iter().any(|e| name.ends_with(e));
            let expected = if private { 0o600 } else { 0o644 };
            assert_eq!(mode, expected, "{}", at.display());
        } else if at.iter().any(|part| part == "private") {
            assert_eq!(mode, 0o700, "{}", at.display());
        } else if !name.starts_with('p') {
            assert_eq!(mode & 0o711, 0o711, "{}", at.display());
        }
    });
}

/// Makes a chain of directories, each closed to another group, so that the guard of the innermost
/// has one element for each.
fn deep_tree(levels: u32) -> Tree {
    let access = |gid| DirAccess {
        mode: 0o705,
        gid: Gid(gid),
        ..DirAccess::default()
    };
    let mut events = Vec::new();
    let mut path = ROOT.as_bytes().to_vec();
    for level in 0..levels {
        let mut batch = DirBatch {
            dir: DirId(u64::from(level)),
            parent: level.checked_sub(1).map(|l| DirId(u64::from(l))),
            path: path.clone(),
            access: access(level + 1),
            ..DirBatch::default()
        };
        let name = batch.push_bytes(b"d");
        let meta = Meta {
            mode: 0o040_705,
            gid: Gid(level + 2),
            nlink: 2,
            ..Meta::default()
        };
        batch.entries.push(Entry {
            meta,
            name,
            ..Entry::default()
        });
        events.push(Event::Batch(batch));
        path.extend_from_slice(b"/d");
    }
    events.extend(
        (0..levels)
            .rev()
            .map(|level| Event::Done(DirId(u64::from(level)))),
    );
    let root = SourceRoot {
        path: ROOT.as_bytes().to_vec(),
        ..SourceRoot::default()
    };
    Tree { root, events }
}

#[test]
fn guards_may_be_deeper_than_a_path() {
    let (_dir, index) = new_index();
    let tree = deep_tree(120);
    let done = write_tree(&index, &tree, 1 << 10).unwrap();
    assert!(done.shards >= 120, "{} shards", done.shards);
    let source = index.source(ROOT.as_bytes()).unwrap().unwrap();
    let snapshot = source.current().unwrap().unwrap();
    let longest = snapshot
        .shards
        .iter()
        .map(|s| s.dir_path().as_os_str().len())
        .max();
    assert!(longest > Some(4096), "{longest:?}");
    let rows: usize = snapshot
        .shards
        .iter()
        .flat_map(|s| read(s, Table::Entries))
        .map(|(_, b)| b.num_rows())
        .sum();
    assert_eq!(rows, 121);
    assert_eq!(verify(&index, Scope::All).unwrap().findings, []);
    write_tree(&index, &tree, 1 << 20).unwrap();
    gc::collect(&source, Retention::default()).unwrap();
    assert_eq!(verify(&index, Scope::All).unwrap().findings, []);
    gc::remove_source(&index, ROOT.as_bytes()).unwrap();
}

struct Mount(tempfile::TempDir);

impl Mount {
    /// Mounts a small file system; `None` if this process may not.
    fn new(size_kib: u64) -> Option<Mount> {
        let dir = tempfile::tempdir().unwrap();
        let made = trawl_testkit::oracle::command("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size_kib}k"), "tmpfs"])
            .arg(dir.path())
            .output();
        made.is_ok_and(|output| output.status.success())
            .then_some(Mount(dir))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = trawl_testkit::oracle::command("umount")
            .arg(self.0.path())
            .status();
    }
}

#[test]
fn a_full_disk_leaves_the_previous_snapshot_and_no_litter() {
    let Some(mount) = Mount::new(4096) else {
        return eprintln!("skipped, because only root may mount a small file system");
    };
    let index = trawl_writer::create_index(&mount.0.path().join("index"), None).unwrap();
    let old = write_tree(&index, &odd_tree(ROOT, 12, 4, 1), 1 << 20).unwrap();
    let before = files_below(index.path());
    let filler = mount.0.path().join("filler");
    let new = odd_tree(ROOT, 40, 6, 2);
    let (mut failed, mut succeeded) = (0, 0);
    for free_kib in (0..2048).step_by(20) {
        std::fs::write(&filler, vec![0u8; 3 << 20]).unwrap_or(());
        let spare = trawl_testkit::oracle::command("stat")
            .args(["-f", "-c", "%a"])
            .arg(mount.0.path())
            .output()
            .unwrap();
        let spare: u64 = String::from_utf8(spare.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(&filler)
            .unwrap();
        let length = file.metadata().unwrap().blocks() * 512 + spare * 4096;
        file.set_len(0).unwrap();
        let fill = length.saturating_sub(free_kib * 1024) as usize;
        std::fs::write(&filler, vec![1u8; fill]).unwrap();
        match write_tree(&index, &new, 16 << 10) {
            Ok(_) => succeeded += 1,
            Err(error) => {
                let message = error.to_string();
                assert!(message.contains("no space left"), "{message}");
                assert!(
                    message.contains("or choose another index with -i"),
                    "{message}"
                );
                assert!(
                    message.contains(index.path().to_str().unwrap()),
                    "{message}"
                );
                failed += 1;
                std::fs::write(&filler, b"").unwrap();
                assert_eq!(files_below(index.path()), before);
                let source = index.source(ROOT.as_bytes()).unwrap().unwrap();
                assert_eq!(source.current_id().unwrap(), Some(old.id));
                assert_eq!(verify(&index, Scope::All).unwrap().findings, []);
            }
        }
        if succeeded > 0 {
            break;
        }
    }
    eprintln!("{failed} amounts of free space were too little");
    assert!(failed > 5 && succeeded == 1);
}
