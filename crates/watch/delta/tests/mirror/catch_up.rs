//! Recovery after lost changes: the changes are found and applied without a scan, and the index
//! agrees with the kernel and with a scan of the tree.
//!
//! `TRAWL_CATCH_UP_ROUNDS` (4) sets the number of rounds, `TRAWL_SEED` (1) the random seed.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use trawl_changes::{ChangeSource, Dirty, DirtySet, Fanotify, QueueSize};
use trawl_delta::{CaughtUp, Method, Note};
use trawl_format::Readers;
use trawl_model::Timestamp;
use trawl_model::column::{Column, ColumnSet};
use trawl_scan::{ScanProgress, WalkOptions, walk};
use trawl_testkit::{FileSystem, LoopMount, Prng, Scratch, Skip, oracle};
use trawl_writer::live::Removal;
use trawl_writer::{SnapshotWriter, WriterOptions};

use crate::writers::{KINDS, KeyResolver, Mapper, operate};
use crate::{Kept, compare, fresh, now, setting};

/// Kinds of operations with lasting mappings: a write through a mapping changes no time until the
/// kernel writes the page back; it is found as a file open for writing.
const HELD: std::ops::RangeInclusive<u64> = 26..=28;

/// Directories, and files in each, that few operations or none touch.
const CALM: (usize, usize) = (60, 20);

/// File systems change these on their own.
const BLOCKS: ColumnSet = ColumnSet::of(&[Column::Blocks]);

/// Long after all changes of a test, so that only a differing time reveals a change.
const LATER_SECS: i64 = 1 << 30;

fn plant(root: &Path) {
    for dir in 0..CALM.0 {
        let dir = root.join(format!("calm-{dir}/below"));
        fs::create_dir_all(&dir).expect("room");
        for file in 0..CALM.1 {
            fs::write(dir.join(format!("file-{file}")), vec![7; file]).expect("room");
        }
    }
}

/// Makes a snapshot that claims to have begun at this time.
fn scan_as_of(index: &Path, root: &Path, started: Timestamp) {
    let index = trawl_writer::create_index(index, Some(Readers::Everyone)).expect("an index");
    let root = root.as_os_str().as_bytes();
    let options = WriterOptions {
        memory_bytes: 1 << 20,
        started,
        version: "test".into(),
        options: BTreeMap::new(),
    };
    let writer = SnapshotWriter::begin(&index, root, options).expect("a writer");
    let mut writer = writer.with_bundle();
    let cancel = AtomicBool::new(false);
    let (options, progress) = (WalkOptions::new(&cancel), ScanProgress::default());
    walk(root, &options, &progress, &mut writer).expect("a scan");
    writer.commit(now()).expect("a snapshot");
}

/// Finds the changes and applies them.
fn catch_up(kept: &mut Kept, source: &mut Fanotify, note: Option<&Note>) -> CaughtUp {
    let applier = kept.applier.as_mut().expect("it goes on");
    let cancel = AtomicBool::new(false);
    let done = applier.catch_up(&Dirty::default(), note, source.places(), (now(), &cancel));
    let caught = done.unwrap_or_else(|error| panic!("{error}"));
    if applier.must_checkpoint() {
        kept.checkpoint(Removal::AtOnce);
    }
    caught
}

/// Makes changes that the random operations make seldom or never.
fn change_oddly(root: &Path, round: usize) {
    let calm = |n: usize| root.join(format!("calm-{}", (round * 7 + n) % CALM.0));
    let file = |n: usize| calm(n).join("below").join(format!("file-{}", n % CALM.1));
    // Inode numbers are reused.
    let _ = fs::remove_dir_all(calm(0));
    for nth in 0..CALM.1 {
        let _ = fs::write(calm(1).join(format!("new-{nth}")), "new");
    }
    let _ = fs::create_dir_all(calm(0).join("below"));
    // A time that is set back, and content of the same size.
    let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(86_400);
    if let Ok(set) = fs::File::options().write(true).open(file(2)) {
        let _ = set.set_modified(then);
    }
    // Content that may not reach the disk for a while: appended, and overwritten with the same
    // size.
    let opened = fs::File::options().append(true).open(file(11));
    let _ = opened.and_then(|mut file| file.write_all(b"more"));
    let opened = fs::File::options().write(true).open(file(12));
    let _ = opened.and_then(|mut file| file.write_all(&[round as u8; 5]));
    let _ = fs::rename(file(3), file(3).with_file_name("other"));
    let _ = fs::write(file(3), "another in its place");
    let _ = fs::hard_link(file(4), calm(5).join("link"));
    let _ = fs::set_permissions(file(6), fs::Permissions::from_mode(0o600));
    let _ = fs::set_permissions(calm(7), fs::Permissions::from_mode(0o700));
    // Two directories change places, and nothing in them changes.
    let (one, two) = (calm(8), calm(9));
    let aside = root.join("aside");
    let moved = fs::rename(&one, &aside).and_then(|()| fs::rename(&two, &one));
    let _ = moved.and_then(|()| fs::rename(&aside, &two));
    let _ = std::os::unix::fs::symlink("nowhere", calm(10).join("link"));
}

fn run(kind: FileSystem, places: &KeyResolver, index: &Path, wanted: Method) {
    let (rounds, seed) = (
        setting("TRAWL_CATCH_UP_ROUNDS", 4),
        setting("TRAWL_SEED", 1),
    );
    let (root, mut prng) = (&places.root, Prng::new(seed));
    let mut mapper = Mapper::start().expect("python3 runs");
    let mut operate = |count: u64| {
        let done = (0..count).filter(|_| {
            let mut nth = prng.below(KINDS);
            while HELD.contains(&nth) {
                nth = prng.below(KINDS);
            }
            operate(nth, &mut prng, places, &mut mapper).is_ok()
        });
        done.count()
    };
    plant(root);
    operate(400);
    // Opened first and never read: all its events are lost.
    let mut source = Fanotify::open(root, QueueSize::Unlimited).expect("root may watch");
    let later = |at: Timestamp| Timestamp {
        secs: at.secs + LATER_SECS,
        ..at
    };
    let mut note = Note::now(root.as_os_str().as_bytes());
    scan_as_of(index, root, later(now()));
    let is_settled = Note::settle(root.as_os_str().as_bytes());
    assert_eq!(is_settled, kind == FileSystem::Btrfs);
    let mut kept = Kept::resumed(index.to_owned(), root);
    for round in 0..rounds {
        let label = format!("{kind} after changes were lost");
        let done = operate(60);
        change_oddly(root, round as usize);
        if round % 2 == 1 {
            // A new process: the generations beside the snapshot are gone.
            kept.applier = None;
            kept = Kept::resumed(index.to_owned(), root);
        }
        let next = Note::now(root.as_os_str().as_bytes());
        let caught = catch_up(&mut kept, &mut source, note.as_ref());
        eprintln!("{label}: {done} operations, {caught:?}");
        assert_eq!((caught.method, &caught.why), (wanted, &None), "{label}");
        compare(&label, round, &kept);
        // Untouched files are not read again; a catch-up after that finds nothing.
        assert!(caught.looked_at > 0 && caught.dirty < 500, "{caught:?}");
        if round % 3 == 2 {
            kept.checkpoint(Removal::WhenUnread);
            fresh::compare_but(BLOCKS, &label, round, &kept.index, &kept.root);
            note = next;
        }
    }
    assert_eq!(kept.snapshots, 0, "nothing was scanned");
}

fn on(kind: FileSystem, size_bytes: u64, wanted: Method) {
    let mount = match LoopMount::new(kind, size_bytes) {
        Ok(mount) => mount,
        Err(skip) => return skip.say(),
    };
    let places = KeyResolver {
        root: mount.path().join("root"),
        outside: mount.path().join("outside"),
        is_root: true,
    };
    fs::create_dir(&places.root).expect("a new directory");
    fs::create_dir(&places.outside).expect("a new directory");
    let scratch = Scratch::new(&format!("catch-up-{kind}"));
    run(kind, &places, &scratch.path().join("index"), wanted);
}

#[test]
fn what_changed_on_an_ext4_is_found_by_its_times() {
    on(FileSystem::Ext4, 256 << 20, Method::Times);
}

#[test]
fn what_changed_on_an_xfs_is_found_by_its_inodes() {
    on(FileSystem::Xfs, 320 << 20, Method::Inodes);
}

#[test]
fn what_changed_on_a_btrfs_is_found_by_its_transactions() {
    on(FileSystem::Btrfs, 512 << 20, Method::Transactions);
}

#[test]
fn what_changed_on_a_tmpfs_is_found_by_its_times() {
    on(FileSystem::Tmpfs, 256 << 20, Method::Times);
}

/// Tests an overlay of which half lies in the lower directory.
fn on_overlay(options: &str) {
    let base = match LoopMount::new(FileSystem::Ext4, 256 << 20) {
        Ok(base) => base,
        Err(skip) => return skip.say(),
    };
    let path = |name: &str| base.path().join(name);
    for name in ["lower/root", "upper", "work", "merged"] {
        fs::create_dir_all(path(name)).expect("room");
    }
    plant(&path("lower/root"));
    let shown = |name: &str| path(name).display().to_string();
    let [lower, upper, work] = ["lower", "upper", "work"].map(shown);
    let words = format!("lowerdir={lower},upperdir={upper},workdir={work}{options}");
    let mut mount = oracle::command("mount");
    mount.args(["-t", "overlay", "overlay", "-o", &words]);
    let ran = oracle::run(mount.arg(path("merged")));
    if ran.code != Some(0) {
        return Skip::new("an overlay", ran.errors()).say();
    }
    let _unmounted = Unmounted(path("merged"));
    let places = KeyResolver {
        root: path("merged/root"),
        outside: path("merged/outside"),
        is_root: true,
    };
    fs::create_dir(&places.outside).expect("a new directory");
    let scratch = Scratch::new("catch-up-overlay");
    let index = scratch.path().join("index");
    run(FileSystem::Ext4, &places, &index, Method::Times);
}

/// A mount that is unmounted on drop, before the file system beneath it.
struct Unmounted(PathBuf);

impl Drop for Unmounted {
    fn drop(&mut self) {
        oracle::run(oracle::command("umount").arg("--lazy").arg(&self.0));
    }
}

#[test]
fn what_changed_in_an_overlay_is_found_by_its_times() {
    on_overlay("");
}

#[test]
fn what_changed_in_an_overlay_with_handles_is_found_by_its_times() {
    on_overlay(",nfs_export=on,index=on");
}

/// Subvolumes and snapshots within the tree come, change and go. They are other devices: the index
/// has their mount points but not their content.
#[test]
fn subvolumes_within_are_seen() {
    let mount = match LoopMount::new(FileSystem::Btrfs, 512 << 20) {
        Ok(mount) => mount,
        Err(skip) => return skip.say(),
    };
    let root = mount.path().join("root");
    let btrfs = |words: &[&str], places: &[&Path]| {
        let mut command = oracle::command("btrfs");
        oracle::run(command.args(words).args(places)).expect_code(0);
    };
    let make = |name: &str| btrfs(&["subvolume", "create"], &[&root.join(name)]);
    btrfs(&["subvolume", "create"], &[&root]);
    plant(&root);
    for name in ["stays", "changes", "goes"] {
        make(name);
        fs::write(root.join(name).join("file"), name).expect("room");
    }
    let mut source = Fanotify::open(&root, QueueSize::Unlimited).expect("root may watch");
    let mut note = Note::now(root.as_os_str().as_bytes());
    let scratch = Scratch::new("catch-up-subvolumes");
    scan_as_of(&scratch.path().join("index"), &root, now());
    assert!(Note::settle(root.as_os_str().as_bytes()));
    let mut kept = Kept::resumed(scratch.path().join("index"), &root);
    for round in 0..3 {
        let label = "btrfs with subvolumes";
        change_oddly(&root, round);
        fs::write(root.join("changes").join(format!("{round}")), "new").expect("room");
        fs::set_permissions(root.join("changes"), fs::Permissions::from_mode(0o711))
            .expect("root may");
        make(&format!("new-{round}"));
        fs::write(root.join(format!("new-{round}/in it")), "new").expect("room");
        let snapshot = root.join(format!("snapshot-{round}"));
        btrfs(
            &["subvolume", "snapshot"],
            &[&root.join("stays"), &snapshot],
        );
        match round {
            1 => btrfs(&["subvolume", "delete"], &[&root.join("goes")]),
            2 => fs::rename(root.join("new-1"), root.join("calm-20/moved")).expect("room"),
            _ => {}
        }
        let next = Note::now(root.as_os_str().as_bytes());
        let caught = catch_up(&mut kept, &mut source, note.as_ref());
        eprintln!("{label}: {caught:?}");
        kept.checkpoint(Removal::WhenUnread);
        fresh::compare_but(BLOCKS, label, round as u64, &kept.index, &kept.root);
        note = next;
    }
    assert_eq!(kept.snapshots, 0, "nothing was scanned");
}

/// The kernel's queue overflowed: with the remaining events and a look at the rest, everything is
/// known.
#[test]
fn what_a_full_queue_lost_is_found() {
    let mount = match LoopMount::new(FileSystem::Ext4, 256 << 20) {
        Ok(mount) => mount,
        Err(skip) => return skip.say(),
    };
    let root = mount.path().join("root");
    plant(&root);
    let scratch = Scratch::new("catch-up-queue");
    let mut source = Fanotify::open(&root, QueueSize::Limited).expect("root may watch");
    let mut kept = Kept::new(scratch.path().join("index"), &root);
    let mut set = DirtySet::default();
    let limit = fs::read_to_string("/proc/sys/fs/fanotify/max_queued_events").expect("a number");
    let limit: usize = limit.trim().parse().expect("a number");
    if limit > 100_000 {
        return eprintln!("skipped, because the queue holds {limit} events");
    }
    let busy = root.join("busy");
    fs::create_dir(&busy).expect("room");
    for nth in 0..limit {
        // Each is an event of its own; the last ones are lost.
        fs::write(busy.join(format!("{nth}")), "").expect("room");
        fs::remove_file(busy.join(format!("{nth}"))).expect("it is there");
    }
    let last = root.join("calm-3/below/file-3");
    fs::set_permissions(&last, fs::Permissions::from_mode(0o604)).expect("root may");
    source.barrier(&mut set).expect("it goes on");
    let mut dirty = set.take();
    assert!(!dirty.everything.is_empty(), "the queue was too small");
    dirty.everything.clear();
    let cancel = AtomicBool::new(false);
    let applier = kept.applier.as_mut().expect("it goes on");
    let caught = applier.catch_up(&dirty, None, source.places(), (now(), &cancel));
    let caught = caught.expect("all is known");
    assert_eq!(caught.method, Method::Times);
    compare("a full queue", 0, &kept);
}

/// Mounting over a directory, or unmounting, changes no directory.
#[test]
fn mounts_are_seen() {
    for kind in [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Btrfs] {
        let mount = match LoopMount::new(kind, 320 << 20) {
            Ok(mount) => mount,
            Err(skip) => return skip.say(),
        };
        let root = mount.path().join("root");
        plant(&root);
        let scratch = Scratch::new("catch-up-mounts");
        let mut source = Fanotify::open(&root, QueueSize::Unlimited).expect("root may watch");
        let note = Note::now(root.as_os_str().as_bytes());
        let mut kept = Kept::new(scratch.path().join("index"), &root);
        let over = root.join("calm-5/below");
        let device = fs::metadata(&over).expect("it is there").dev();
        let words = ["-t", "tmpfs", "trawl-test"];
        let ran = oracle::command("mount").args(words).arg(&over).status();
        assert!(ran.expect("mount runs").success());
        catch_up(&mut kept, &mut source, note.as_ref());
        kept.checkpoint(Removal::WhenUnread);
        let label = format!("{kind}, mounted");
        fresh::compare_but(BLOCKS, &label, 0, &kept.index, &root);
        let ran = oracle::command("umount").arg(&over).status();
        assert!(ran.expect("umount runs").success());
        assert_eq!(fs::metadata(&over).expect("it is there").dev(), device);
        catch_up(&mut kept, &mut source, note.as_ref());
        compare(&format!("{kind}, unmounted"), 1, &kept);
    }
}
