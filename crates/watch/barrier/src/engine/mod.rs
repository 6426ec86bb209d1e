//! Watches one source: one thread reads its changes, another has them applied, and clients are
//! answered.
//!
//! - The reader ([`reader`]) reads changes as they come into a set that both threads share, also
//!   while the applier works on what was taken out of it.
//! - A *round* ([`round`]) reads the waiting changes (a barrier), takes the dirty set and has it
//!   applied. A round runs when somebody asks, some time after the first change, when the dirty set
//!   is large, and when trust was lost. Requests that arrive during a round share the next one.
//! - When changes may have been missed, the mark says so first. Then the applier finds the changes
//!   or scans everything, and clients are told meanwhile.
//!
//! Locks: the source is locked before the state, and neither is held while the applier works (its
//! [`KeyResolver`] locks the source for each answer).
//!
//! [`KeyResolver`]: trawl_changes::KeyResolver

mod answers;
mod reader;
mod round;
mod state;

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trawl_changes::{ChangeSource, Description, KeyResolver, Limits, LiveError, Searched};
use trawl_changes::{Names, ObjectKey, ObjectPlace, ObjectRef, ResolvedDirectory};
use trawl_format::{SnapshotId, Watching};
use trawl_model::Timestamp;
use trawl_model::sync::lock;
use trawl_sys::wait::Waker;

use crate::applier::Applier;
use crate::error::{About, Result};
use crate::mark::{Mark, Past};

pub use answers::Caller;
use state::State;

/// A sink for log lines.
pub type Log = Box<dyn Fn(Level, &str) + Send + Sync>;

/// Settings of an engine.
pub struct Settings {
    /// How long changes wait if nobody asks.
    pub apply_after: Duration,
    /// Approximate number of dirty entries above which they are applied sooner.
    pub max_dirty: usize,
    /// Memory limits of the dirty set.
    pub limits: Limits,
    /// Directories of the source whose changes are ignored: the index's own.
    pub without: Vec<Vec<u8>>,
    /// Returns the time of day.
    pub clock: fn() -> Timestamp,
    /// Receives log lines.
    pub log: Log,
}

impl Settings {
    /// Returns the default settings.
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

/// Severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something is wrong.
    Warning,
    /// Information.
    Note,
}

/// An opened source.
pub struct Opened {
    /// The source.
    pub source: Box<dyn ChangeSource + Send>,
    /// File systems in which files open for writing are searched for.
    pub searched: Vec<Searched>,
    /// A text that stays the same as long as keys given earlier are valid.
    pub identity: String,
    /// Identity of the mounts below the source ([`ChangeSource::mounts`]).
    pub mounts: u64,
    /// The queue, to be stored while the daemon is away; `None` if it cannot be stored.
    pub queue: Option<OwnedFd>,
}

/// Opens the source again after a failure.
pub type Opener = Box<dyn FnMut() -> std::result::Result<Opened, LiveError> + Send>;

/// The state of the source at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// It was scanned after it was opened.
    Scanned,
    /// The queue is the previous daemon's, so the mark that it left counts.
    TakenOver,
    /// Neither.
    Unknown,
}

/// The source and how to open it again.
struct Watched {
    opened: Option<Opened>,
    reopen: Opener,
    /// Time of the last attempt to open it.
    tried: Option<Instant>,
    /// Number of openings; it tells the reader that its descriptor is outdated.
    epoch: u64,
}

/// Minimum time between attempts to open the source on behalf of clients.
const REOPEN_APART: Duration = Duration::from_millis(100);

impl Watched {
    /// Whether the source is not open and the last attempt is long enough ago.
    fn reopens_now(&self) -> bool {
        let is_due = |tried: Instant| tried.elapsed() >= REOPEN_APART;
        self.opened.is_none() && self.tried.is_none_or(is_due)
    }
}

impl Opened {
    /// Returns a text that stays the same as long as keys are valid and the same file systems are
    /// mounted.
    fn identity(&self) -> String {
        format!("{} {:x}", self.identity, self.mounts)
    }
}

/// State shared by both threads and the clients' threads.
struct Inner {
    root: Vec<u8>,
    settings: Settings,
    begun: Instant,
    watched: Mutex<Watched>,
    state: Mutex<State>,
    /// Signals a change of the state.
    changed: Condvar,
    /// Wakes the reader.
    waker: Waker,
    /// Number of threads other than the reader that wait for a lock; the reader yields to them.
    waiting: AtomicUsize,
}

impl Inner {
    /// Locks the source, for all threads except the reader, which would take the lock again and
    /// again.
    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let guard = lock(&self.watched);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        guard
    }

    /// Locks the state, likewise.
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

    /// Notes that nothing is trusted until the changes are found out. The mark says so already: it
    /// is unclean from before anything is read.
    fn lose(&self, state: &mut State, why: &str) {
        if state.lost.is_none() {
            self.note(
                Level::Warning,
                format_args!("{why}; determining what changed"),
            );
            state.lost = Some(why.to_owned());
        }
        state.losses += 1;
        state.mark.unclean();
        self.changed.notify_all();
    }
}

/// Components of an engine.
pub struct Parts {
    /// The source's root, as the index spells it.
    pub root: Vec<u8>,
    /// Its place in the index.
    pub place: Watching,
    /// The opened source.
    pub opened: Opened,
    /// Opens the source again after a failure.
    pub reopen: Opener,
    /// Applies the changes.
    pub applier: Box<dyn Applier>,
    /// The state of the source.
    pub start: Start,
    /// The current snapshot.
    pub snapshot: Option<SnapshotId>,
}

/// A watched source, until [`Engine::stop`].
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
            (Start::Unknown, Past::Known) => Some("nobody watched it in the meantime"),
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
        // Files may have changed before the source was marked: a first round looks.
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

    /// Returns a handle for clients.
    #[must_use]
    pub fn caller(&self) -> Caller {
        Caller::new(Arc::clone(&self.inner))
    }

    /// Duplicates the source's queue, to be stored while no daemon runs.
    #[must_use]
    pub fn queue(&self) -> Option<OwnedFd> {
        let watched = self.inner.watched();
        let queue = watched.opened.as_ref()?.queue.as_ref()?;
        queue.try_clone().ok()
    }

    /// Whether both threads are running.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let is_there = |thread: &Option<JoinHandle<()>>| {
            thread.as_ref().is_some_and(|thread| !thread.is_finished())
        };
        is_there(&self.reader) && is_there(&self.applier)
    }

    /// Applies the dirty entries, if that is possible, and ends. Waiting clients are told.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // Nothing may be read once the mark says that everything is applied.
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

/// The places of a source that is being read at the same time.
struct SharedPlaces<'a>(&'a Inner);

impl SharedPlaces<'_> {
    fn with<T>(&self, ask: impl FnOnce(&mut dyn KeyResolver) -> T) -> Option<T> {
        let mut watched = self.0.watched();
        let opened = watched.opened.as_mut()?;
        Some(ask(opened.source.places()))
    }
}

impl KeyResolver for SharedPlaces<'_> {
    fn place(
        &mut self,
        directory: ObjectRef<'_>,
    ) -> std::result::Result<ResolvedDirectory, LiveError> {
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

/// Returns the part of a description that is worth adding to an answer.
fn remarks(description: &Description) -> Option<String> {
    (description.uncovered > 0).then(|| {
        let count = description.uncovered;
        let directories = if count == 1 {
            "directory"
        } else {
            "directories"
        };
        format!("{count} {directories} cannot be watched: changes in them are not noticed")
    })
}
