//! Fills the index's file system at every point of a round and of a snapshot: readers see what they
//! saw, nothing is left over, and once there is room the same dirty set brings all changes in.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use trawl_changes::{ChangeSource, Dirty, DirtySet, Fanotify, QueueSize};
use trawl_testkit::{FileSystem, LoopMount};
use trawl_writer::live::{Checkpoint, Removal};

use crate::crashes::files;
use crate::shown::by_index;
use crate::{Kept, compare, fresh, now};

/// Free space in KiB, so that it runs out at one point after the other.
const ROOM: [u64; 12] = [0, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192];

/// A file that takes all space except a given number of KiB.
struct Ballast(PathBuf);

impl Ballast {
    fn new(at: PathBuf, room_kib: u64) -> Ballast {
        let mut file = File::create(&at).expect("there is room for a name");
        let mut length = 0;
        for chunk in [1 << 20, 4096] {
            let bytes = vec![7; chunk];
            while file
                .write_all(&bytes)
                .and_then(|()| file.sync_data())
                .is_ok()
            {
                length += chunk as u64;
            }
            file.set_len(length).expect("it gets shorter");
            std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(length)).expect("a file");
        }
        let left = length.saturating_sub(room_kib << 10);
        file.set_len(left).expect("it gets shorter");
        file.sync_all().expect("it is written");
        Ballast(at)
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn plant(tree: &Path) {
    for (dir, mode) in [("a", 0o755), ("b", 0o750), ("c", 0o711), ("d", 0o700)] {
        let dir = tree.join(dir);
        for below in 0..20 {
            fs::create_dir_all(dir.join(format!("{below}"))).expect("room");
            fs::write(dir.join(format!("{below}/file")), "").expect("room");
        }
        fs::set_permissions(&dir, fs::Permissions::from_mode(mode)).expect("root may");
    }
}

/// Adds new files everywhere, removes directories, and restricts one.
fn change(tree: &Path, nth: usize) {
    for dir in ["a", "b", "c", "d"] {
        for below in 0..20 {
            let new = tree.join(format!("{dir}/{below}/new{nth}"));
            let _ = fs::create_dir_all(new.parent().expect("it has one"));
            fs::write(new, "").expect("room");
        }
        let _ = fs::remove_dir_all(tree.join(format!("{dir}/{nth}")));
    }
    let mode = if nth.is_multiple_of(2) { 0o700 } else { 0o755 };
    fs::set_permissions(tree.join("a/19"), fs::Permissions::from_mode(mode)).expect("root may");
}

fn apply(kept: &mut Kept, source: &mut Fanotify, dirty: &Dirty) -> bool {
    let applier = kept.applier.as_mut().expect("it goes on");
    let done = applier.apply(dirty, source.places(), now(), &AtomicBool::new(false));
    told_of_room(done.map(drop))
}

fn checkpoint(kept: &mut Kept) -> bool {
    let applier = kept.applier.as_mut().expect("it goes on");
    let making = Checkpoint {
        version: "test".into(),
        now: now(),
        removal: Removal::WhenUnread,
        go_on: &mut || true,
    };
    let done = applier.checkpoint(making, |prepared| prepared.commit());
    told_of_room(done.map(drop))
}

/// Returns true on success; asserts that a failure is for want of space.
fn told_of_room<E: std::error::Error>(done: Result<(), E>) -> bool {
    let Err(error) = done else {
        return true;
    };
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        told.push_str(&error.to_string());
        cause = error.source();
    }
    assert!(told.to_lowercase().contains("no space left"), "{told}");
    false
}

/// Tries with increasing space until it succeeds; returns the number of failures.
fn until_done(
    kept: &mut Kept,
    mount: &LoopMount,
    about: &str,
    mut attempt: impl FnMut(&mut Kept) -> bool,
) -> usize {
    let before = (by_index(&kept.index, &kept.root), all_files(&kept.index));
    for (failed, room) in ROOM.into_iter().enumerate() {
        let ballast = Ballast::new(mount.path().join("ballast"), room);
        let is_done = attempt(kept);
        drop(ballast);
        if is_done {
            return failed;
        }
        let about = format!("{about}, {room} KiB");
        assert!(before.0 == by_index(&kept.index, &kept.root), "{about}");
        let after = all_files(&kept.index);
        let new: Vec<_> = after.difference(&before.1).collect();
        assert!(new.is_empty(), "{about}: {new:?}");
        assert_eq!(before.1.difference(&after).next(), None, "{about}");
    }
    assert!(attempt(kept), "{about}: there is room");
    ROOM.len()
}

fn all_files(index: &Path) -> BTreeSet<PathBuf> {
    files(index)
}

#[test]
fn without_room_nothing_changes_and_nothing_is_lost() {
    let mounts = LoopMount::new(FileSystem::Tmpfs, 16 << 20)
        .and_then(|tree| Ok((tree, LoopMount::new(FileSystem::Ext4, 12 << 20)?)));
    let (tree, disk) = match mounts {
        Ok(mounts) => mounts,
        Err(skip) => return skip.say(),
    };
    let root = tree.path().join("tree");
    fs::create_dir(&root).expect("room");
    plant(&root);
    let mut source = Fanotify::open(&root, QueueSize::Unlimited).expect("root may watch");
    let mut set = DirtySet::default();
    let mut kept = Kept::new(disk.path().join("index"), &root);
    let (mut rounds, mut snapshots) = (0, 0);
    for nth in 0..2 {
        change(&root, nth);
        source.barrier(&mut set).expect("it goes on");
        let dirty = set.take();
        rounds += until_done(&mut kept, &disk, &format!("round {nth}"), |kept| {
            apply(kept, &mut source, &dirty)
        });
        compare("a full disk", nth as u64, &kept);
        snapshots += until_done(&mut kept, &disk, &format!("snapshot {nth}"), checkpoint);
        compare("a full disk", nth as u64, &kept);
        fresh::compare("a full disk", nth as u64, &kept.index, &root);
    }
    eprintln!("no room in {rounds} rounds and {snapshots} snapshots");
    assert!(rounds > 8 && snapshots > 8, "{rounds} {snapshots}");
}
