//! One watched source: a thread that reads its changes, a thread that has them applied, and what
//! those who ask are told.
//!
//! - Changes are read as they come ([`reader`]) into a set that both threads share, also while the
//!   applier works on what was taken out of it.
//! - A *round* ([`round`]) reads what is waiting (a barrier), takes what is dirty and has it
//!   applied. There is a round when somebody asks, some time after the first change, when there is
//!   much, and when trust was lost. Those who ask while one is under way share the next.
//! - Where anything may have been missed, the mark says so first, then the applier finds out what
//!   changed, or scans all, and whoever asks meanwhile is told.
//!
//! Locks: the source before the state, neither while the applier is at work (its [`Places`] takes
//! the source for each answer).
//!
//! [`Places`]: trawl_live::Places

mod answers;
mod reader;
mod round;
mod state;

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trawl_index::{SnapshotId, Watching};
use trawl_live::{ChangeSource, Description, Limits, LiveError, Places, Searched};
use trawl_live::{Names, ObjectKey, ObjectPlace, ObjectRef, Place};
use trawl_model::Timestamp;
use trawl_sys::wait::Waker;

use crate::applier::Applier;
use crate::error::{About, Result};
use crate::mark::{Mark, Past};

pub use answers::Caller;
use state::State;

/// Takes lines for people.
pub type Log = Box<dyn Fn(Level, &str) + Send + Sync>;

/// How an engine goes about its work.
pub struct Settings {
    /// How long changes wait if nobody asks.
    pub apply_after: Duration,
    /// How many things may be dirty, about, before they are applied sooner.
    pub max_dirty: usize,
    /// How much memory what is dirty may take.
    pub limits: Limits,
    /// Directories of the source in which changes are of no interest: the index's own.
    pub without: Vec<Vec<u8>>,
    /// The time of day.
    pub clock: fn() -> Timestamp,
    /// Where to tell what people should know.
    pub log: Log,
}

impl Settings {
    /// The usual ones.
    pub fn new(
        clock: fn() -> Timestamp,
        log: impl Fn(Level, &str) + Send + Sync + 'static,
    ) -> Self {
        Settings {
            apply_after: Duration::from_secs(5),
            max_dirty: 100_000,
            limits: Limits::default(),
            without: Vec::new(),
            clock,
            log: Box::new(log),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").finish_non_exhaustive()
    }
}

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something is not as it should be.
    Warning,
    /// For those who want to know.
    Note,
}

/// A source that was opened.
pub struct Opened {
    /// The source.
    pub source: Box<dyn ChangeSource + Send>,
    /// Where files that are open for writing are looked for.
    pub searched: Vec<Searched>,
    /// The same words as long as keys that were given before are good.
    pub identity: String,
    /// What is mounted below it ([`ChangeSource::mounts`]).
    pub mounts: u64,
    /// The queue, for whoever keeps it while the daemon is away; `None` if it cannot be kept.
    pub queue: Option<OwnedFd>,
}

/// Opens the source again after it has failed.
pub type Opener = Box<dyn FnMut() -> std::result::Result<Opened, LiveError> + Send>;

/// What is known of the source when it starts to be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// It was scanned after it was opened.
    Scanned,
    /// The queue is the one of the daemon before, so that what that one left behind counts.
    TakenOver,
    /// Neither.
    Unknown,
}

/// The source and how to open it again.
struct Watched {
    opened: Option<Opened>,
    reopen: Opener,
    /// When it was tried last.
    tried: Option<Instant>,
    /// Counts openings, so that the reader knows that its descriptor is an old one.
    epoch: u64,
}

/// Between openings by those who ask.
const REOPEN_APART: Duration = Duration::from_millis(100);

impl Watched {
    /// Whether there is none, and it was not tried just now.
    fn reopens_now(&self) -> bool {
        let is_due = |tried: Instant| tried.elapsed() >= REOPEN_APART;
        self.opened.is_none() && self.tried.is_none_or(is_due)
    }
}

impl Opened {
    /// The same as long as keys are good and the same file systems are mounted.
    fn identity(&self) -> String {
        format!("{} {:x}", self.identity, self.mounts)
    }
}

/// What both threads and those who ask share.
struct Inner {
    root: Vec<u8>,
    settings: Settings,
    begun: Instant,
    watched: Mutex<Watched>,
    state: Mutex<State>,
    /// Something of the state changed.
    changed: Condvar,
    /// Wakes the reader.
    waker: Waker,
    /// Threads other than the reader that wait for a lock: it gives way to them.
    waiting: AtomicUsize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked left nothing half done that counts: nothing is trusted then.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    /// The source, for all but the reader, which would take it again and again.
    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let guard = lock(&self.watched);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        guard
    }

    /// The state, likewise.
    fn state(&self) -> MutexGuard<'_, State> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let guard = lock(&self.state);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        guard
    }

    fn note(&self, level: Level, text: fmt::Arguments<'_>) {
        let root = trawl_model::escape::escape(trawl_model::path::display(&self.root));
        (self.settings.log)(level, &format!("{root}: {text}"));
    }

    /// Nothing is trusted until it was found out what changed. The mark says so already: it does from
    /// before anything is read.
    fn lose(&self, state: &mut State, why: &str) {
        if state.lost.is_none() {
            self.note(
                Level::Warning,
                format_args!("{why}; finding out what changed"),
            );
            state.lost = Some(why.to_owned());
        }
        state.losses += 1;
        state.mark.unclean();
        self.changed.notify_all();
    }
}

/// What an engine is made of.
pub struct Parts {
    /// The source's root, as the index spells it.
    pub root: Vec<u8>,
    /// Its place in the index.
    pub place: Watching,
    /// The source.
    pub opened: Opened,
    /// For when it fails.
    pub reopen: Opener,
    /// Who applies.
    pub applier: Box<dyn Applier>,
    /// What is known.
    pub start: Start,
    /// The snapshot that is current.
    pub snapshot: Option<SnapshotId>,
}

/// A source that is being watched, until [`Engine::stop`].
pub struct Engine {
    inner: Arc<Inner>,
    reader: Option<JoinHandle<()>>,
    applier: Option<JoinHandle<()>>,
}

impl Engine {
    /// Starts to watch.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn start(parts: Parts, settings: Settings) -> Result<Engine> {
        let path = parts.place.live_path().to_owned();
        let description = parts.opened.source.describe();
        let (mark, past) = Mark::begin(parts.place, &parts.opened.identity());
        let lost = match (parts.start, past) {
            (Start::Scanned, _) | (Start::TakenOver, Past::Known) => None,
            (Start::TakenOver, Past::Unknown(why)) => Some(why),
            (Start::Unknown, Past::Unknown(why)) => Some(why),
            (Start::Unknown, Past::Known) => Some("nobody watched it meanwhile"),
        };
        let state = State::new(mark, description, settings.limits, parts.snapshot);
        let inner = Arc::new(Inner {
            root: parts.root,
            settings,
            begun: Instant::now(),
            watched: Mutex::new(Watched {
                opened: Some(parts.opened),
                reopen: parts.reopen,
                tried: None,
                epoch: 0,
            }),
            state: Mutex::new(state),
            changed: Condvar::new(),
            waiting: AtomicUsize::new(0),
            waker: Waker::new().about("wait for changes of", &path)?,
        });
        if let Some(why) = lost {
            inner.lose(&mut inner.state(), why);
        }
        // Somebody may have written before it was marked: a first round looks.
        inner.state().is_due = true;
        let mut engine = Engine {
            inner: Arc::clone(&inner),
            reader: None,
            applier: None,
        };
        let applier = parts.applier;
        let (one, two) = (Arc::clone(&inner), inner);
        engine.reader =
            Some(spawn("reader", move || one.read_on()).about("start a thread for", &path)?);
        let applier = spawn("applier", move || two.apply_on(applier));
        engine.applier = Some(applier.about("start a thread for", &path)?);
        Ok(engine)
    }

    /// For those who ask.
    #[must_use]
    pub fn caller(&self) -> Caller {
        Caller::new(Arc::clone(&self.inner))
    }

    /// A copy of the source's queue, to be kept while no daemon is there.
    #[must_use]
    pub fn queue(&self) -> Option<OwnedFd> {
        let watched = self.inner.watched();
        let queue = watched.opened.as_ref()?.queue.as_ref()?;
        queue.try_clone().ok()
    }

    /// Whether its threads are there.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let is_there = |thread: &Option<JoinHandle<()>>| {
            thread.as_ref().is_some_and(|thread| !thread.is_finished())
        };
        is_there(&self.reader) && is_there(&self.applier)
    }

    /// Applies what is dirty, if that is possible, and ends. Those who still ask are told.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // Nothing must be read once the mark says that all is applied.
        self.inner.state().reader_stops = true;
        self.inner.waker.wake();
        self.inner.changed.notify_all();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        self.inner.state().applier_stops = true;
        self.inner.changed.notify_all();
        if let Some(applier) = self.applier.take() {
            let _ = applier.join();
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.end();
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.into()).spawn(work)
}

/// The places of a source that is read meanwhile.
struct SharedPlaces<'a>(&'a Inner);

impl SharedPlaces<'_> {
    fn with<T>(&self, ask: impl FnOnce(&mut dyn Places) -> T) -> Option<T> {
        let mut watched = self.0.watched();
        let opened = watched.opened.as_mut()?;
        Some(ask(opened.source.places()))
    }
}

impl Places for SharedPlaces<'_> {
    fn place(&mut self, directory: ObjectRef<'_>) -> std::result::Result<Place, LiveError> {
        self.with(|places| places.place(directory))
            .unwrap_or_else(|| {
                let path = self.0.root.clone();
                Err(LiveError::RootGone { path })
            })
    }

    fn also(&mut self, directory: ObjectRef<'_>) -> std::result::Result<Vec<Vec<u8>>, LiveError> {
        self.with(|places| places.also(directory))
            .unwrap_or(Ok(Vec::new()))
    }

    fn parent(&mut self, directory: ObjectRef<'_>) -> Option<ObjectKey> {
        self.with(|places| places.parent(directory)).flatten()
    }

    fn names_of(&mut self, object: ObjectRef<'_>) -> Names {
        self.with(|places| places.names_of(object))
            .unwrap_or(Names::Several)
    }

    fn inode_of(&mut self, object: ObjectRef<'_>) -> Option<u64> {
        self.with(|places| places.inode_of(object)).flatten()
    }

    fn object(&mut self, object: ObjectRef<'_>) -> std::result::Result<ObjectPlace, LiveError> {
        self.with(|places| places.object(object))
            .unwrap_or(Ok(ObjectPlace::Unknown))
    }
}

/// What a description says that is worth knowing with an answer.
fn remarks(description: &Description) -> Option<String> {
    (description.uncovered > 0).then(|| {
        let count = description.uncovered;
        let directories = if count == 1 {
            "directory"
        } else {
            "directories"
        };
        format!("{count} {directories} cannot be watched: what changes in them is not noticed")
    })
}
