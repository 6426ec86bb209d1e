//! Random writers on every type of file system: everything that differs between two walks is dirty
//! in between, without exception.
//!
//! `TRAWL_LIVE_ROUNDS` (20) sets the number of rounds, `TRAWL_SEED` (1) the random seed.

mod cover;
#[path = "../support/covers.rs"]
mod covers;
mod walk;
mod writers;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::Duration;

use trawl_changes::{
    Change, ChangeSource, Directories, DirtySet, Fanotify, FileSystemId, ObjectKey, QueueSize,
    Reached, Receiver, ResolvedDirectory, Searched, WriterSearch,
};
use trawl_sys::become_user::{User, as_user};
use trawl_testkit::{FileSystem, LoopMount, Prng};

use cover::compare;
use walk::{Tree, walk};
use writers::{KINDS, KeyResolver, Mapper, operate};

const WRITERS: u64 = 3;

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A source and its reported changes, shared with the thread that drains it.
struct Watched<S> {
    source: S,
    dirty: DirtySet,
    search: WriterSearch,
}

/// Totals of a run.
#[derive(Debug, Default)]
struct Sums {
    operations: u64,
    different: usize,
    names: usize,
    needless: usize,
    blocks_alone: usize,
    elsewhere: usize,
    /// Files found open for writing or mapped.
    open: usize,
}

/// Runs writers in rounds; after each round, they stop and the results are compared.
fn run<S: ChangeSource + Send>(
    label: &str,
    source: S,
    file_system: FileSystemId,
    places: &KeyResolver,
) {
    let (rounds, seed) = (setting("TRAWL_LIVE_ROUNDS", 20), setting("TRAWL_SEED", 1));
    let gate = RwLock::new(());
    let stop = AtomicBool::new(false);
    let operations = AtomicU64::new(0);
    let dirty = DirtySet::default();
    let watched = Mutex::new(Watched {
        source,
        dirty,
        search: WriterSearch::new(),
    });
    let mut sums = Sums::default();
    thread::scope(|scope| {
        let held = gate.write().expect("no writer panicked");
        for writer in 0..WRITERS {
            let mut prng = Prng::new(seed * 1000 + writer);
            let (gate, stop, operations) = (&gate, &stop, &operations);
            scope.spawn(move || {
                let mut mapper = Mapper::start().expect("python3 runs");
                while !stop.load(Ordering::Relaxed) {
                    let _open = gate.read().expect("nobody panicked");
                    let kind = prng.below(KINDS);
                    let done = operate(kind, &mut prng, places, &mut mapper);
                    operations.fetch_add(u64::from(done.is_ok()), Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| drain_now_and_then(&watched, &stop));
        let mut before = walk(file_system, &places.root);
        watched.lock().expect("whole").dirty.take();
        let mut held = Some(held);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut prng = Prng::new(seed);
            for round in 0..rounds {
                drop(held.take());
                thread::sleep(Duration::from_millis(20 + prng.below(80)));
                held = Some(gate.write().expect("no writer panicked"));
                before = check(
                    label,
                    round,
                    &watched,
                    file_system,
                    places,
                    before,
                    &mut sums,
                );
            }
        }));
        stop.store(true, Ordering::Relaxed);
        drop(held.take());
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
    sums.operations = operations.into_inner();
    eprintln!("{label}: {sums:?}");
    assert!(
        sums.different > 20,
        "{label}: the writers did next to nothing"
    );
}

fn drain_now_and_then<S: ChangeSource>(watched: &Mutex<Watched<S>>, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        {
            let mut watched = watched.lock().expect("whole");
            let Watched { source, dirty, .. } = &mut *watched;
            let _ = source.drain(500, dirty).expect("it goes on");
            // The cache of places must follow.
            let keys: Vec<ObjectKey> = dirty.dirty().directories.keys().take(20).cloned().collect();
            for key in keys {
                source.places().place(key.as_ref()).expect("an answer");
            }
        }
        thread::sleep(Duration::from_millis(7));
    }
}

fn check<S: ChangeSource>(
    label: &str,
    round: u64,
    watched: &Mutex<Watched<S>>,
    file_system: FileSystemId,
    places: &KeyResolver,
    before: Tree,
    sums: &mut Sums,
) -> Tree {
    let mut watched = watched.lock().expect("whole");
    let Watched {
        source,
        dirty,
        search,
    } = &mut *watched;
    // The search comes first: a file that is closed after the search causes an event before the
    // barrier ends; otherwise it was found open.
    let searched = searched(file_system, &places.root);
    let open = search.look(&searched).expect("/proc can be read");
    source.barrier(dirty).expect("it goes on");
    for file in &open.files {
        dirty.change(Change::Object {
            object: file.object.as_ref(),
            reached: Reached::Unnamed,
        });
    }
    sums.open += open.files.len();
    let after = walk(file_system, &places.root);
    let dirty = dirty.take();
    let mut outcome = compare(&dirty, &places.root, &before, &after);
    if places.is_root {
        outcome.uncovered.append(&mut outcome.elsewhere);
    }
    sums.elsewhere += outcome.elsewhere.len();
    for path in &outcome.uncovered {
        eprintln!(
            "{}\n  was {:?}\n  is  {:?}",
            path.display(),
            before.get(path),
            after.get(path)
        );
    }
    assert!(
        outcome.uncovered.is_empty(),
        "{label}, round {round}: {:#?}",
        outcome.uncovered
    );
    assert!(
        dirty.everything.is_empty(),
        "{label}: {:?}",
        dirty.everything
    );
    check_places(source, &after);
    sums.different += outcome.different;
    sums.names += outcome.names;
    sums.needless += outcome.needless;
    sums.blocks_alone += outcome.blocks_alone;
    after
}

fn searched(file_system: FileSystemId, root: &Path) -> [Searched; 1] {
    use std::os::unix::fs::MetadataExt;
    let device = fs::metadata(root).expect("it is there").dev();
    [Searched {
        file_system,
        device,
    }]
}

/// Checks that every directory is found at its place.
fn check_places<S: ChangeSource>(source: &mut S, tree: &Tree) {
    use std::os::unix::ffi::OsStrExt;
    for (path, entry) in tree.iter().filter(|(_, entry)| entry.is_directory) {
        let place = source
            .places()
            .place(entry.key.as_ref())
            .expect("an answer");
        assert_eq!(
            place,
            ResolvedDirectory::At(path.as_os_str().as_bytes().to_vec())
        );
    }
}

/// Makes a root and a directory outside it, in `folder`.
fn places_in(folder: &Path, is_root: bool) -> KeyResolver {
    let places = KeyResolver {
        root: folder.join("root"),
        outside: folder.join("outside"),
        is_root,
    };
    fs::create_dir(&places.root).expect("a new directory");
    fs::create_dir(&places.outside).expect("a new directory");
    places
}

fn on(kind: FileSystem, size_bytes: u64) {
    let mount = match LoopMount::new(kind, size_bytes) {
        Ok(mount) => mount,
        Err(skip) => return skip.say(),
    };
    let places = places_in(&mount.path(), true);
    let source = Fanotify::open(&places.root, QueueSize::Unlimited).expect("root may watch");
    let file_system = source.file_system();
    run(&kind.to_string(), source, file_system, &places);
}

#[test]
fn ext4_is_covered() {
    on(FileSystem::Ext4, 256 << 20);
}

#[test]
fn xfs_is_covered() {
    on(FileSystem::Xfs, 320 << 20);
}

#[test]
fn btrfs_is_covered() {
    on(FileSystem::Btrfs, 512 << 20);
}

#[test]
fn tmpfs_is_covered() {
    on(FileSystem::Tmpfs, 256 << 20);
}

/// The same with marks on directories, as a user without privileges.
fn directory_by_directory(kind: FileSystem, size_bytes: u64) {
    let mount = match LoopMount::new(kind, size_bytes) {
        Ok(mount) => mount,
        Err(skip) => return skip.say(),
    };
    std::os::unix::fs::chown(mount.path(), Some(4711), Some(4711)).expect("root may");
    let user = User {
        uid: 4711,
        gid: 4711,
        groups: vec![],
    };
    let done = as_user(&user, || {
        let places = places_in(&mount.path(), false);
        let source = Directories::open(&places.root).expect("anybody may watch");
        let file_system = source.file_system();
        let label = format!("{kind}, directory by directory");
        run(&label, source, file_system, &places);
    });
    done.expect("a thread of the user");
}

#[test]
fn ext4_is_covered_without_privileges() {
    directory_by_directory(FileSystem::Ext4, 256 << 20);
}

#[test]
fn btrfs_is_covered_without_privileges() {
    directory_by_directory(FileSystem::Btrfs, 512 << 20);
}

#[test]
fn tmpfs_is_covered_without_privileges() {
    directory_by_directory(FileSystem::Tmpfs, 256 << 20);
}
