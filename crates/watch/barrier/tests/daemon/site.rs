//! Provides a file system, an index beside it, and an applier that records its calls.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use trawl_barrier::protocol::Answer;
use trawl_barrier::{
    Applier, ApplyError, ApplyErrorKind, Engine, Level, Opened, Opener, Parts, Published, Scope,
    Settings, Start, TakenDirt,
};
use trawl_changes::{
    ChangeSource, DirtyDirectory, Fanotify, KeyResolver, LiveError, QueueSize, ResolvedDirectory,
    Searched,
};
use trawl_format::{IndexDir, Readers, SnapshotId, Source, Watching};
use trawl_model::Timestamp;
use trawl_testkit::{FileSystem, LoopMount, Scratch};

/// Time limit for anything that is expected to happen.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) fn now() -> Timestamp {
    let now = trawl_sys::process::now();
    Timestamp {
        secs: now.secs,
        nanos: now.nanos,
    }
}

/// Calls that the applier received, and the failures it is to return.
#[derive(Debug, Default)]
pub(crate) struct Noticed {
    /// Dirty names, listings and subtrees as paths, by round.
    pub(crate) applied: Vec<BTreeSet<PathBuf>>,
    /// Number of dirty objects.
    pub(crate) objects: usize,
    /// Scopes that were scanned again.
    pub(crate) rescans: Vec<(Scope, String)>,
    /// Failures for the next calls to return.
    pub(crate) failures: Vec<Failure>,
    /// While set, calls block.
    pub(crate) is_held: bool,
    /// Number of blocked calls.
    pub(crate) held: usize,
    snapshots: u64,
}

/// A kind of failure of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    NoSpace,
    Broken,
    Panic,
}

/// State shared with the applier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fake(Arc<(Mutex<Noticed>, Condvar)>);

impl Fake {
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Noticed) -> T) -> T {
        let done = work(&mut self.0.0.lock().expect("no panic while it is locked"));
        self.0.1.notify_all();
        done
    }

    /// Returns all paths that were dirty in any round.
    pub(crate) fn paths(&self) -> BTreeSet<PathBuf> {
        self.with(|seen| seen.applied.iter().flatten().cloned().collect())
    }

    /// Waits until the condition holds.
    pub(crate) fn until(&self, is_so: impl Fn(&Noticed) -> bool) {
        let seen = self.0.0.lock().expect("no panic while it is locked");
        let waited = self.0.1.wait_timeout_while(seen, LONG, |seen| !is_so(seen));
        let (seen, timeout) = waited.expect("no panic while it is locked");
        assert!(!timeout.timed_out(), "{seen:?}");
    }

    fn begin(&self) -> Result<(), ApplyError> {
        self.with(|seen| seen.held += 1);
        let seen = self.0.0.lock().expect("no panic while it is locked");
        let waited = self.0.1.wait_while(seen, |seen| seen.is_held);
        let failure = {
            let mut seen = waited.expect("no panic while it is locked");
            seen.held -= 1;
            (!seen.failures.is_empty()).then(|| seen.failures.remove(0))
        };
        match failure {
            None => Ok(()),
            Some(Failure::Panic) => panic!("as the test wants it"),
            Some(failure) => Err(ApplyError {
                kind: match failure {
                    Failure::NoSpace => ApplyErrorKind::NoSpace,
                    _ => ApplyErrorKind::Broken,
                },
                message: format!("the test says {failure:?}"),
            }),
        }
    }

    fn publish(&self) -> Published {
        self.with(|seen| {
            seen.snapshots += 1;
            Published {
                snapshot: Some(SnapshotId(seen.snapshots)),
                ..Published::default()
            }
        })
    }
}

impl Applier for Fake {
    fn apply(
        &mut self,
        taken: &TakenDirt,
        places: &mut dyn KeyResolver,
    ) -> Result<Published, ApplyError> {
        self.begin()?;
        let mut paths = BTreeSet::new();
        for (key, directory) in &taken.dirty.directories {
            let Ok(ResolvedDirectory::At(path)) = places.place(key.as_ref()) else {
                continue;
            };
            let path = PathBuf::from(OsStr::from_bytes(&path));
            match directory {
                DirtyDirectory::Names(names) => {
                    paths.extend(names.keys().map(|name| path.join(OsStr::from_bytes(name))));
                }
                DirtyDirectory::Listing | DirtyDirectory::Subtree(_) => {
                    paths.insert(path);
                }
            }
        }
        self.with(|seen| {
            seen.applied.push(paths);
            seen.objects += taken.dirty.objects.len();
        });
        Ok(self.publish())
    }

    fn rescan(
        &mut self,
        scope: &Scope,
        why: &str,
        _: &mut dyn KeyResolver,
    ) -> Result<Published, ApplyError> {
        self.begin()?;
        self.with(|seen| seen.rescans.push((scope.clone(), why.to_owned())));
        Ok(self.publish())
    }
}

/// A tree on a file system of its own, and its index.
pub(crate) struct Site {
    pub(crate) root: PathBuf,
    pub(crate) index: IndexDir,
    pub(crate) fake: Fake,
    pub(crate) queue: QueueSize,
    pub(crate) _scratch: Scratch,
    pub(crate) _mount: LoopMount,
}

impl Site {
    /// Makes a site. Returns `None`, and says why, where file systems cannot be mounted.
    pub(crate) fn new() -> Option<Site> {
        let mount = LoopMount::new(FileSystem::Tmpfs, 256 << 20);
        let mount = mount.map_err(|skip| skip.say()).ok()?;
        let scratch = Scratch::new("daemon");
        let index = trawl_writer::create_index(&scratch.join("index"), Some(Readers::Everyone));
        Some(Site {
            root: mount.path().to_owned(),
            index: index.expect("root makes an index for everyone"),
            fake: Fake::default(),
            queue: QueueSize::Unlimited,
            _scratch: scratch,
            _mount: mount,
        })
    }

    fn root_bytes(&self) -> Vec<u8> {
        self.root.as_os_str().as_bytes().to_vec()
    }

    pub(crate) fn source(&self) -> Source {
        let added = trawl_writer::add_source(&self.index, &self.root_bytes(), &[], now());
        added.expect("it can be added")
    }

    /// Takes the source's lock; waits until another holder gives it back.
    pub(crate) fn place(&self) -> Watching {
        let begun = Instant::now();
        loop {
            match Watching::begin(&self.index, &self.source()) {
                Ok(place) => return place,
                Err(error) => assert!(begun.elapsed() < LONG, "{error}"),
            }
            std::thread::yield_now();
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        let log = |level: Level, text: &str| eprintln!("{level:?}: {text}");
        Settings {
            // Nothing is applied without a request, unless a test changes this.
            apply_after: Duration::from_secs(3600),
            ..Settings::new(now, log)
        }
    }

    pub(crate) fn start(&self) -> Engine {
        self.start_with(self.place(), self.settings(), Start::Scanned, None)
    }

    pub(crate) fn start_with(
        &self,
        place: Watching,
        settings: Settings,
        start: Start,
        queue: Option<OwnedFd>,
    ) -> Engine {
        let opened = open(&self.root, self.queue, queue).expect("root may watch it");
        self.start_opened(place, settings, start, opened)
    }

    /// Runs `work` after the source was opened and before it is read.
    pub(crate) fn start_after(&self, work: impl FnOnce()) -> Engine {
        let opened = open(&self.root, self.queue, None).expect("root may watch it");
        work();
        self.start_opened(self.place(), self.settings(), Start::Scanned, opened)
    }

    fn start_opened(
        &self,
        place: Watching,
        settings: Settings,
        start: Start,
        opened: Opened,
    ) -> Engine {
        let (root, size) = (self.root.clone(), self.queue);
        let reopen: Opener = Box::new(move || open(&root, size, None));
        let parts = Parts {
            root: self.root_bytes(),
            place,
            opened,
            reopen,
            applier: Box::new(self.fake.clone()),
            start,
            snapshot: None,
        };
        Engine::start(parts, settings).expect("it starts")
    }

    pub(crate) fn write(&self, name: &str) -> PathBuf {
        let path = self.root.join(name);
        fs::write(&path, name).expect("room");
        path
    }
}

fn open(root: &Path, size: QueueSize, queue: Option<OwnedFd>) -> Result<Opened, LiveError> {
    let source = match queue {
        Some(queue) => Fanotify::take_over(root, queue)?.expect("it is a queue"),
        None => Fanotify::open(root, size)?,
    };
    let device = std::os::unix::fs::MetadataExt::dev(
        &fs::metadata(root).map_err(|_| LiveError::RootGone { path: Vec::new() })?,
    );
    let searched = Searched {
        file_system: source.file_system(),
        device,
    };
    Ok(Opened {
        queue: source.as_fd().try_clone_to_owned().ok(),
        identity: format!("{device}"),
        mounts: 0,
        searched: vec![searched],
        source: Box::new(source) as Box<dyn ChangeSource + Send>,
    })
}

/// Asks for a fresh answer, with a generous deadline.
pub(crate) fn ask(engine: &Engine) -> Answer {
    engine.caller().now(LONG, Duration::ZERO, &|| false)
}
