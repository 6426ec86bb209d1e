//! Runs random writers on every kind of file system: after a barrier the index, opened anew by a
//! reader, agrees with find(1) and the kernel, entry by entry. Now and then the published
//! generations become a snapshot, which must be what a scan would have made.
//!
//! `TRAWL_APPLY_ROUNDS` (12) sets the number of rounds, `TRAWL_SEED` (1) the random seed.

mod catch_up;
mod crashes;
mod fresh;
mod full;
mod names;
mod placed;
mod rights;
mod shown;
#[path = "../../../changes/tests/mirror/writers.rs"]
mod writers;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use trawl_changes::{
    Change, ChangeSource, Dirty, DirtySet, Fanotify, QueueSize, Reached, Receiver, Searched,
    WriterSearch,
};
use trawl_delta::{Applier, ApplyError, ApplyOptions};
use trawl_format::{IndexDir, Readers};
use trawl_model::Timestamp;
use trawl_scan::{ScanProgress, WalkOptions, walk};
use trawl_testkit::{FileSystem, LoopMount, Prng, Scratch};
use trawl_writer::WriterError;
use trawl_writer::live::{Checkpoint, Removal};
use trawl_writer::{SnapshotWriter, WriterOptions};

use shown::{by_index, by_kernel, check_sums};
use writers::{KINDS, KeyResolver, Mapper, operate};

const WRITERS: u64 = 3;

/// Kinds of operations that may take a right away, so that a snapshot is needed; most rounds have
/// none.
const PERMISSIONS: [u64; 3] = [18, 19, 21];

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("it is after 1970");
    Timestamp {
        secs: since.as_secs() as i64,
        nanos: since.subsec_nanos(),
    }
}

/// Scans a tree.
fn scanned(index: &Path, root: &Path) -> SnapshotWriter {
    let index = trawl_writer::create_index(index, Some(Readers::Everyone)).expect("an index");
    let root = root.as_os_str().as_bytes();
    let options = WriterOptions {
        memory_bytes: 1 << 20,
        started: now(),
        version: "test".into(),
        options: BTreeMap::new(),
    };
    let writer = SnapshotWriter::begin(&index, root, options).expect("a writer");
    let mut writer = writer.with_bundle();
    let cancel = AtomicBool::new(false);
    walk(
        root,
        &WalkOptions::new(&cancel),
        &ScanProgress::default(),
        &mut writer,
    )
    .expect("a scan");
    writer
}

/// An index, and the applier that keeps it up to date.
struct Kept {
    index: PathBuf,
    root: PathBuf,
    applier: Option<Applier>,
    snapshots: u64,
    generations: u64,
    checkpoints: u64,
    /// Number of entries looked at for the last generation.
    looked_at: u64,
    /// The dirty entries of the last application of changes.
    dirty: Dirty,
}

impl Kept {
    fn new(index: PathBuf, root: &Path) -> Kept {
        let mut kept = Kept {
            index,
            root: root.to_owned(),
            applier: None,
            snapshots: 0,
            generations: 0,
            checkpoints: 0,
            looked_at: 0,
            dirty: Dirty::default(),
        };
        kept.scan();
        kept
    }

    /// Checks that the snapshot's digests of where directories are agree with a scan; then
    /// continues from the snapshot.
    fn check_digests(&mut self) {
        let applier = self.applier.take().expect("it goes on");
        applier.end().expect("the lock is given back");
        fresh::check_digests(&self.index, &self.root);
        self.applier = Kept::resumed(self.index.clone(), &self.root).applier;
    }

    /// Continues from the present snapshot.
    fn resumed(index: PathBuf, root: &Path) -> Kept {
        let opened = IndexDir::open(&index).expect("an index");
        let path = root.as_os_str().as_bytes();
        let applier = Applier::begin(&opened, path, ApplyOptions::default(), now());
        Kept {
            index,
            root: root.to_owned(),
            applier: Some(applier.expect("there is a snapshot")),
            snapshots: 0,
            generations: 0,
            checkpoints: 0,
            looked_at: 0,
            dirty: Dirty::default(),
        }
    }

    /// Makes a new snapshot by a scan.
    fn scan(&mut self) {
        if let Some(applier) = self.applier.take() {
            applier.end().expect("the lock is given back");
        }
        let writer = scanned(&self.index, &self.root);
        let prepared = writer.prepare(now()).expect("a snapshot");
        let committed = prepared.commit().expect("it is current");
        assert_eq!(committed.tightened.damaged, []);
        let index = IndexDir::open(&self.index).expect("an index");
        let root = self.root.as_os_str().as_bytes();
        let applier = Applier::begin(&index, root, ApplyOptions::default(), now());
        self.applier = Some(applier.expect("the scan is current"));
        self.snapshots += 1;
    }

    fn apply<S: ChangeSource>(&mut self, source: &mut S, dirty: &mut DirtySet) {
        self.dirty = dirty.take();
        let cancel = AtomicBool::new(false);
        let applier = self.applier.as_mut().expect("it goes on");
        match applier.apply(&self.dirty, source.places(), now(), &cancel) {
            Ok(applied) => {
                self.generations += 1;
                self.looked_at = applied.entries;
            }
            Err(ApplyError::Unappliable(_)) => return self.scan(),
            Err(error) => panic!("{error}"),
        }
        if applier.must_checkpoint() {
            self.checkpoint(Removal::AtOnce);
            assert!(!self.applier.as_ref().expect("it goes on").must_checkpoint());
        }
    }

    /// Makes a snapshot of the published generations.
    fn checkpoint(&mut self, removal: Removal) {
        let applier = self.applier.as_mut().expect("it goes on");
        let making = Checkpoint {
            version: "test".into(),
            now: now(),
            removal,
            go_on: &mut || true,
        };
        let had_changes = applier.has_changes();
        let done = applier.checkpoint(making, |prepared| {
            let committed = prepared.commit()?;
            assert_eq!(committed.tightened.damaged, []);
            Ok::<_, WriterError>(committed)
        });
        assert_eq!(done.expect("a snapshot").is_some(), had_changes);
        assert!(!applier.has_changes());
        applier
            .collect(trawl_writer::gc::Retention {
                newest: 3,
                since: None,
            })
            .expect("older ones go");
        self.checkpoints += u64::from(had_changes);
    }
}

fn compare(label: &str, round: u64, kept: &Kept) {
    let ours = by_index(&kept.index, &kept.root);
    let theirs = by_kernel(&kept.root);
    let mut differences = Vec::new();
    for (path, shown) in &theirs {
        match ours.get(path) {
            None => differences.push(format!("missing {}: {shown:?}", path.display())),
            Some(other) if other != shown => differences.push(format!(
                "{}\n  index  {other:?}\n  kernel {shown:?}",
                path.display()
            )),
            Some(_) => {}
        }
    }
    let gone = ours.keys().filter(|path| !theirs.contains_key(*path));
    differences.extend(gone.map(|path| format!("not there: {}", path.display())));
    assert!(
        differences.is_empty(),
        "{label}, round {round}, generation {:?}:\n{}\napplied last: {:?}",
        kept.applier.as_ref().map(Applier::generation),
        differences.join("\n"),
        kept.dirty
    );
    check_sums(&kept.index, &kept.root, &theirs);
}

fn run(label: &str, places: &KeyResolver, index: PathBuf) {
    let (rounds, seed) = (setting("TRAWL_APPLY_ROUNDS", 12), setting("TRAWL_SEED", 1));
    let mut source = Fanotify::open(&places.root, QueueSize::Unlimited).expect("root may watch");
    let searched = searched(&source, &places.root);
    let mut dirty = DirtySet::default();
    let mut kept = Kept::new(index, &places.root);
    let (gate, stop, operations) = (RwLock::new(()), AtomicBool::new(false), AtomicU64::new(0));
    let calm = AtomicBool::new(true);
    thread::scope(|scope| {
        let held = gate.write().expect("no writer panicked");
        for writer in 0..WRITERS {
            let mut prng = Prng::new(seed * 1000 + writer);
            let (gate, stop, operations, calm) = (&gate, &stop, &operations, &calm);
            scope.spawn(move || {
                let mut mapper = Mapper::start().expect("python3 runs");
                while !stop.load(Ordering::Relaxed) {
                    let _open = gate.read().expect("nobody panicked");
                    let mut kind = prng.below(KINDS);
                    while calm.load(Ordering::Relaxed) && PERMISSIONS.contains(&kind) {
                        kind = prng.below(KINDS);
                    }
                    let done = operate(kind, &mut prng, places, &mut mapper);
                    operations.fetch_add(u64::from(done.is_ok()), Ordering::Relaxed);
                }
            });
        }
        let mut held = Some(held);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut prng = Prng::new(seed);
            let mut search = WriterSearch::new();
            for round in 0..rounds {
                calm.store(round % 4 != 3, Ordering::Relaxed);
                drop(held.take());
                for _ in 0..prng.below(4) {
                    thread::sleep(Duration::from_millis(prng.below(30)));
                    // While the writers write.
                    source.barrier(&mut dirty).expect("it goes on");
                    kept.apply(&mut source, &mut dirty);
                }
                held = Some(gate.write().expect("no writer panicked"));
                let open = search.look(&searched).expect("/proc can be read");
                source.barrier(&mut dirty).expect("it goes on");
                for file in &open.files {
                    dirty.change(Change::Object {
                        object: file.object.as_ref(),
                        reached: Reached::Unnamed,
                    });
                }
                kept.apply(&mut source, &mut dirty);
                compare(label, round, &kept);
                if prng.below(3) > 0 {
                    kept.checkpoint(Removal::WhenUnread);
                    compare(label, round, &kept);
                    fresh::compare(label, round, &kept.index, &kept.root);
                    kept.check_digests();
                }
            }
        }));
        stop.store(true, Ordering::Relaxed);
        drop(held.take());
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
    let operations = operations.into_inner();
    eprintln!(
        "{label}: {operations} operations, {} generations, {} scans, {} checkpoints",
        kept.generations, kept.snapshots, kept.checkpoints
    );
    assert!(operations > rounds && kept.generations > 0 && kept.checkpoints > 0);
}

fn searched(source: &Fanotify, root: &Path) -> [Searched; 1] {
    use std::os::unix::fs::MetadataExt;
    [Searched {
        file_system: source.file_system(),
        device: fs::metadata(root).expect("it is there").dev(),
    }]
}

fn on(kind: FileSystem, size_bytes: u64) {
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
    let scratch = Scratch::new(&format!("apply-{kind}"));
    run(&kind.to_string(), &places, scratch.path().join("index"));
}

#[test]
fn the_index_of_an_ext4_is_what_the_kernel_says() {
    on(FileSystem::Ext4, 256 << 20);
}

#[test]
fn the_index_of_an_xfs_is_what_the_kernel_says() {
    on(FileSystem::Xfs, 320 << 20);
}

#[test]
fn the_index_of_a_btrfs_is_what_the_kernel_says() {
    on(FileSystem::Btrfs, 512 << 20);
}

#[test]
fn the_index_of_a_tmpfs_is_what_the_kernel_says() {
    on(FileSystem::Tmpfs, 256 << 20);
}
