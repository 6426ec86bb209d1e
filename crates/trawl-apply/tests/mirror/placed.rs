//! After a change of who may read them, rows and values lie where a scan puts them, even if
//! permissions change while they are read.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use trawl_live::{ChangeSource, DirtySet, Fanotify, QueueSize};
use trawl_testkit::{FileSystem, LoopMount, Scratch};
use trawl_writer::live::Removal;

use crate::{Kept, fresh};

/// A watched tree and its index.
pub(crate) struct Watched {
    pub(crate) tree: PathBuf,
    source: Fanotify,
    dirty: DirtySet,
    pub(crate) kept: Kept,
    _index: Scratch,
    _mount: LoopMount,
}

impl Watched {
    /// Makes a tree and indexes it. Returns `None`, and says why, where that is not possible.
    pub(crate) fn new(plant: impl FnOnce(&Path)) -> Option<Watched> {
        Watched::on(FileSystem::Tmpfs, 16 << 20, plant)
    }

    pub(crate) fn on(
        kind: FileSystem,
        size_bytes: u64,
        plant: impl FnOnce(&Path),
    ) -> Option<Watched> {
        let mount = match LoopMount::new(kind, size_bytes) {
            Ok(mount) => mount,
            Err(skip) => {
                skip.say();
                return None;
            }
        };
        let tree = mount.path().join("above/tree");
        fs::create_dir_all(&tree).expect("room");
        plant(&tree);
        let source = Fanotify::open(&tree, QueueSize::Unlimited).expect("root may watch");
        let scratch = Scratch::new("apply-placed");
        let kept = Kept::new(scratch.join("index"), &tree);
        Some(Watched {
            tree,
            source,
            dirty: DirtySet::default(),
            kept,
            _index: scratch,
            _mount: mount,
        })
    }

    pub(crate) fn apply(&mut self) {
        self.source.barrier(&mut self.dirty).expect("it goes on");
        self.kept.apply(&mut self.source, &mut self.dirty);
    }

    pub(crate) fn compare(&mut self, about: &str) {
        // The snapshot has no dead rows.
        self.kept.checkpoint(Removal::WhenUnread);
        fresh::compare_places(about, &self.kept.index, &self.tree);
    }
}

pub(crate) fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("root may");
}

pub(crate) fn give_value(path: &Path, name: &std::ffi::CStr, value: &[u8]) {
    let file = fs::File::open(path).expect("it is there");
    trawl_testkit::folder::set_attribute(file, name, value).expect("root may");
}

#[test]
fn what_changes_far_below_the_root_stays_where_it_is() {
    let Some(mut watched) = Watched::new(|tree| {
        fs::create_dir_all(tree.join("a/b/c/d")).expect("room");
        fs::write(tree.join("a/b/c/d/file"), "").expect("room");
    }) else {
        return;
    };
    for deep in ["a/b/c/d", "a/b/c", "a/b"] {
        let file = watched.tree.join(deep).join("file");
        fs::write(&file, "new").expect("room");
        give_value(&file, c"user.is", deep.as_bytes());
        watched.apply();
        watched.compare(deep);
    }
}

#[test]
fn whose_a_directory_is_decides_who_knows_its_name() {
    let Some(mut watched) = Watched::new(|tree| {
        fs::create_dir_all(tree.join("home/ann/below")).expect("room");
        fs::write(tree.join("home/ann/below/file"), "").expect("room");
        give_value(&tree.join("home/ann/below/file"), c"user.is", b"there");
        allow(&tree.join("home"), 0o711);
        chown(tree.join("home"), Some(4811), None).expect("root may");
    }) else {
        return;
    };
    let ann = watched.tree.join("home/ann");
    // All may list it, whoever owns it; a user who may not list the directory above knows the name
    // by owning it.
    for (number, owner) in [4811, 4812, 4811, 4813].into_iter().enumerate() {
        chown(&ann, Some(owner), None).expect("root may");
        watched.apply();
        watched.compare(&format!("{number}, owned by {owner}"));
    }
}

#[test]
fn what_was_read_under_other_permissions_is_read_again() {
    let Some(mut watched) = Watched::new(|tree| {
        fs::create_dir_all(tree.join("a/b/c")).expect("room");
        fs::write(tree.join("a/b/file"), "").expect("room");
        give_value(&tree.join("a/b/file"), c"user.is", b"there");
    }) else {
        return;
    };
    let [a, b, c] = ["a", "a/b", "a/b/c"].map(|name| watched.tree.join(name));
    for dir in [&a, &b, &c] {
        for round in 0..8 {
            let stop = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        allow(dir, 0o711);
                        allow(dir, 0o755);
                    }
                });
                for number in 0..3 {
                    let new = b.join(format!("new{number}"));
                    fs::write(&new, "").expect("room");
                    watched.apply();
                    fs::remove_file(&new).expect("it is there");
                }
                stop.store(true, Ordering::Relaxed);
            });
            watched.apply();
            watched.compare(&format!("{}, {round}", dir.display()));
        }
    }
}

#[test]
fn what_a_scan_read_under_other_permissions_is_read_again() {
    let Some(mut watched) = Watched::new(|tree| {
        for name in 0..40 {
            fs::create_dir_all(tree.join(format!("a/{name}/b"))).expect("room");
        }
    }) else {
        return;
    };
    let dir = watched.tree.join("a");
    let below = dir.join("39/b");
    for (dir, calm, other) in [(&dir, 0o755, 0o711), (&below, 0o700, 0o755)] {
        for round in 0..5 {
            let stop = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        allow(dir, other);
                        allow(dir, calm);
                    }
                });
                watched.kept.scan();
                stop.store(true, Ordering::Relaxed);
            });
            watched.apply();
            watched.compare(&format!("{}, {round}", dir.display()));
        }
    }
}

#[test]
fn values_that_no_row_names_go_where_only_the_superuser_comes() {
    let Some(mut watched) = Watched::new(|tree| {
        fs::create_dir(tree.join("a")).expect("room");
        fs::write(tree.join("a/file"), "").expect("room");
        give_value(&tree.join("a/file"), c"trusted.is", b"before");
        allow(tree.parent().expect("one"), 0o700);
    }) else {
        return;
    };
    let file = watched.tree.join("a/file");
    give_value(&file, c"trusted.is", b"after");
    watched.apply();
    crate::compare("trusted", 0, &watched.kept);
    fs::remove_file(&file).expect("it is there");
    watched.apply();
    crate::compare("trusted, gone", 0, &watched.kept);
}
