//! A tree on another machine, as of a moment ago: names, attributes, links and contents.
//!
//! The first request about a directory asks the server for everything below it ([`bulk`]), in one
//! round trip. The answer is kept for a bounded time in bounded memory, and answers further
//! requests, including those for names that do not exist. Link targets and extended attributes are
//! fetched in batches.
//!
//! Invariants: if the server cannot be asked, the result is an error (`EIO`, and a message to the
//! user), never an empty directory or a missing name; nothing older than the agreed age is told.
//!
//! A server that supports it reports changes ([`Tree::watch`]); directories that it watches are
//! cached for long.

mod as_of;
mod assembly;
mod bare;
mod bulk;
mod content;
mod each;
mod held;
mod listing;
mod singles;
mod store;
mod targets;
mod watched;
mod watching;
mod xattrs;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use trawl_call::{Attributes, Outcome};
use trawl_model::relative_path::{join, split};
use trawl_model::sync::{lock, wait_for};
use trawl_remote::client::ExtendedAttributes;
use trawl_remote::{Remote, RemoteError};
use trawl_sys::Errno;
use trawl_sys::directory::Links;

use crate::error::MountError;
pub(crate) use as_of::Holds;
pub(crate) use bare::{Ahead, Names};
use bulk::{Bulk, Phase};
use singles::Singles;
use store::Store;
use targets::Targets;
use watched::{Term, Watched};
use xattrs::Xattrs;

pub use content::{Content, MAPPED_LEAST};
pub use held::{FileAnswer, OpenFile, Version};
pub use listing::{Entry, Listing, is_directory, is_link};
pub use watching::Hear;

/// Maximum number of concurrent bulk answers, including paused ones.
const BULKS_MAX: usize = 6;
/// Minimum time to wait for a bulk answer that will reach a directory, before the directory is
/// requested separately.
const OVERTAKE: Duration = Duration::from_millis(50);
/// Maximum number of bulk answers that may end without the directory that they were begun for.
const TRIES: u32 = 3;
/// Maximum time that running work is given to end.
const FAREWELL: Duration = Duration::from_secs(1);

/// How a tree is cached.
#[derive(Clone, Copy, Debug)]
pub struct Keeping {
    /// Maximum age of answers that are told.
    pub max_age: Duration,
    /// Maximum age of answers about watched directories, which are also dropped when the server
    /// reports a change.
    pub watched_age: Duration,
    /// Maximum memory for names and attributes, in bytes.
    pub memory_bytes: usize,
    /// How the server is asked.
    pub asking: Asking,
}

/// How a server is asked for names, attributes and links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asking {
    /// For everything below a directory at once.
    #[default]
    Bulk,
    /// Call by call, as ordinary remote file systems do: each lookup, each directory and each link
    /// takes a round trip. This mode exists to measure the benefit of bulk answers.
    Each,
}

impl Default for Keeping {
    fn default() -> Keeping {
        Keeping {
            max_age: Duration::from_secs(10),
            watched_age: Duration::from_secs(3600),
            memory_bytes: 256 << 20,
            asking: Asking::Bulk,
        }
    }
}

/// Shows a message to the user.
pub type Tell = dyn Fn(&str) + Send + Sync;

/// A tree of a server.
#[derive(Clone)]
pub struct Tree(
    Arc<Inner>,
    #[allow(dead_code, reason = "ends with the last tree")] Arc<Life>,
);

/// Ends all work for a tree when the last [`Tree`] is dropped. Threads that receive answers hold an
/// [`Inner`], but no tree.
struct Life(Arc<Inner>);

struct Inner {
    remote: Remote,
    /// The server and the path there, for messages.
    name: String,
    /// Path on the server without a trailing slash; empty for `/`.
    top: Vec<u8>,
    device: u64,
    max_age: Duration,
    watched_age: Duration,
    asking: Asking,
    /// Locked for reading while a known answer is being told.
    telling: RwLock<()>,
    state: Mutex<State>,
    changed: Condvar,
    tell: Box<Tell>,
    has_failed: AtomicBool,
}

struct State {
    store: Store,
    singles: Singles,
    targets: Targets,
    xattrs: Xattrs,
    bulks: Vec<Arc<Bulk>>,
    /// Number of threads that receive answers.
    running: usize,
    /// The last message to the user, until the server answers again.
    told: Option<String>,
    watched: Watched,
    has_ended: bool,
}

/// A known fact, with the times that limit how long it may be told.
#[derive(Clone, Copy, Debug)]
pub struct Timed<T> {
    /// The fact.
    pub what: T,
    /// When it arrived.
    pub at: Instant,
    /// When it was requested.
    pub asked: Instant,
}

/// How long facts about a directory may be told. While this value exists, no news are passed on
/// that would come too late to undo what is told: it exists until the reply has been sent, which
/// waits for nobody.
#[derive(Debug)]
pub struct Telling<'a> {
    inner: &'a Inner,
    dir: &'a [u8],
    at: Instant,
    asked: Instant,
    /// Validity of the directory's names.
    term: Term,
    _guard: RwLockReadGuard<'a, ()>,
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tree").field(&self.0.name).finish()
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let until = Instant::now() + FAREWELL;
        let mut state = self.0.state();
        state.has_ended = true;
        for bulk in &state.bulks {
            bulk.cancel();
        }
        self.0.changed.notify_all();
        // Waits, so that a process that runs the server for this tree ends, too.
        while state.running > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = wait_for(&self.0.changed, state, left);
        }
    }
}

impl Tree {
    /// Opens the directory `top` of a server, and asks the server about it.
    ///
    /// # Errors
    /// Fails if the server cannot be asked, or has no such directory.
    pub fn open(
        remote: Remote,
        server: &str,
        top: &[u8],
        keeping: Keeping,
        tell: Box<Tell>,
    ) -> Result<Tree, MountError> {
        let name = format!("{server}:{}", top.escape_ascii());
        let failed = |errno: i32| MountError::Tree {
            tree: name.clone(),
            source: std::io::Error::from_raw_os_error(errno),
        };
        let asked = Instant::now();
        let attributes = match remote.stat(top, Links::Followed)?.outcome {
            Outcome::Match(Some(attributes)) if is_directory(&attributes) => attributes,
            Outcome::Error(trouble) => return Err(failed(trouble.errno)),
            Outcome::Match(_) => return Err(failed(Errno::NOTDIR.0)),
        };
        let mut singles = Singles::default();
        singles.insert(b"", Ok(attributes), asked);
        let state = State {
            store: Store::new(keeping.memory_bytes),
            singles,
            targets: Targets::default(),
            xattrs: Xattrs::default(),
            bulks: Vec::new(),
            running: 0,
            told: None,
            watched: Watched::default(),
            has_ended: false,
        };
        let end = top.iter().rposition(|byte| *byte != b'/');
        let top = top[..end.map_or(0, |end| end + 1)].to_vec();
        let inner = Arc::new(Inner {
            remote,
            name,
            top,
            device: attributes.dev,
            max_age: keeping.max_age,
            watched_age: keeping.watched_age,
            telling: RwLock::new(()),
            asking: keeping.asking,
            state: Mutex::new(state),
            changed: Condvar::new(),
            tell,
            has_failed: AtomicBool::new(false),
        });
        let life = Arc::new(Life(Arc::clone(&inner)));
        Ok(Tree(inner, life))
    }

    /// Returns the server and the path there.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the device number of the top on the server.
    pub fn device(&self) -> u64 {
        self.0.device
    }

    /// Returns whether any request has failed, for example because the server could not be asked.
    pub fn has_failed(&self) -> bool {
        self.0.has_failed.load(Ordering::Relaxed)
    }

    /// Returns how the server is asked.
    pub fn asking(&self) -> Asking {
        self.0.asking
    }

    /// Tells the user that something could not be shown, once for each reason: see
    /// [`Tree::has_failed`].
    pub fn failed(&self, why: &dyn std::fmt::Display) {
        self.0.failed(why);
    }

    /// Returns how long facts about a directory, requested at `asked` and received at `at`, may be
    /// told.
    pub fn telling<'a>(&'a self, dir: &'a [u8], [asked, at]: [Instant; 2]) -> Telling<'a> {
        let inner = &*self.0;
        let guard = inner.telling.read().unwrap_or_else(PoisonError::into_inner);
        Telling {
            inner,
            dir,
            at,
            asked,
            term: inner.state().watched.listing(dir, asked),
            _guard: guard,
        }
    }

    /// Returns the listing of a directory. The path is relative to the top.
    ///
    /// # Errors
    /// `EIO` if the server cannot be asked. An error that the server reports about the directory is
    /// in the listing.
    pub fn listing(&self, dir: &[u8]) -> Result<Arc<Listing>, Errno> {
        self.0.listing(dir)
    }

    /// Like [`Tree::listing`], but accepts only a listing that stays valid for `least`; `None` if
    /// it has not arrived by `until`.
    ///
    /// # Errors
    /// As [`Tree::listing`].
    pub fn listing_until(
        &self,
        dir: &[u8],
        least: Duration,
        until: Instant,
    ) -> Result<Option<Arc<Listing>>, Errno> {
        self.0.listing_until(dir, Some(least), Some(until))
    }

    /// Returns the listing of a directory that a reader has begun, current or replaced, if it is
    /// still kept.
    pub fn again(&self, dir: &[u8], is_it: impl Fn(&Listing) -> bool) -> Option<Arc<Listing>> {
        self.0.state().store.again(dir, is_it)
    }

    /// Returns the attributes of a name in a directory, as by lstat(2); `None` if it does not
    /// exist.
    ///
    /// # Errors
    /// Fails with the server's error; `EIO` if the server cannot be asked.
    pub fn lookup(&self, dir: &[u8], name: &[u8]) -> Result<Timed<Option<Attributes>>, Errno> {
        if self.0.asking == Asking::Each {
            return self.0.one(dir, name);
        }
        let mut listing = self.0.listing(dir)?;
        if let Some(Ok(found)) = listing.get(name).map(|entry| &entry.found)
            && !self.0.is_known(dir, &listing, name, found)
        {
            // Refreshes all names at once: a program that asks for one unwatched name soon asks for
            // the next.
            listing = self.0.list_now(dir)?;
        }
        let (at, asked) = (listing.at, listing.asked);
        match (listing.trouble, listing.get(name)) {
            // The directory cannot be listed but may be traversed.
            (Some(Errno::ACCES), _) => self.0.one(dir, name),
            (Some(errno), _) => Err(errno),
            (None, None) => Ok(Timed {
                what: None,
                at,
                asked,
            }),
            (None, Some(entry)) => {
                let what = Some(entry.found?);
                Ok(Timed { what, at, asked })
            }
        }
    }

    /// Returns the attributes of a path, as by lstat(2); for the top, as by stat(2).
    ///
    /// # Errors
    /// Fails with the server's error; `EIO` if the server cannot be asked.
    pub fn attributes(&self, path: &[u8]) -> Result<Timed<Attributes>, Errno> {
        if path.is_empty() {
            let Timed { what, at, asked } = self.0.single(path)?;
            return Ok(Timed {
                what: what?,
                at,
                asked,
            });
        }
        let (dir, name) = split(path);
        let Timed { what, at, asked } = self.lookup(dir, name)?;
        let what = what.ok_or(Errno::NOENT)?;
        Ok(Timed { what, at, asked })
    }

    /// Returns the target of a link.
    ///
    /// # Errors
    /// `EINVAL` if it is no link; the server's error; `EIO` if the server cannot be asked.
    pub fn target(&self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        self.0.target(path, Duration::ZERO)?.what
    }

    /// Like [`Tree::target`], but accepts only an answer that stays valid for `least`, and returns
    /// it with the server's error about the path.
    ///
    /// # Errors
    /// `EIO` if the server cannot be asked.
    pub fn target_lasting(
        &self,
        path: &[u8],
        least: Duration,
    ) -> Result<Timed<Result<Vec<u8>, Errno>>, Errno> {
        self.0.target(path, least)
    }

    /// Returns the maximum age of answers that are told.
    pub fn max_age(&self) -> Duration {
        self.0.max_age
    }

    /// Returns the extended attributes of a path that listxattr(2) shows to the server's user.
    ///
    /// # Errors
    /// `ENOSYS` if the server does not know this request; `ENOTSUP` if its file system has no
    /// extended attributes; any other error of the server; `EIO` if the server cannot be asked.
    pub fn xattrs(&self, path: &[u8]) -> Result<Arc<ExtendedAttributes>, Errno> {
        self.0.xattrs(path)
    }

    /// Drops everything that is known: all of it may have changed.
    pub fn forget(&self) {
        let mut state = self.0.state();
        for bulk in &state.bulks {
            bulk.cancel();
        }
        let bytes = state.store.bytes_max();
        state.store = Store::new(bytes);
        state.singles = Singles::default();
        state.targets = Targets::default();
        state.xattrs = Xattrs::default();
        drop(state);
        self.0.changed.notify_all();
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn server_path(&self, below: &[u8]) -> Vec<u8> {
        match below {
            b"" if self.top.is_empty() => b"/".to_vec(),
            b"" => self.top.clone(),
            below => [&self.top[..], b"/", below].concat(),
        }
    }

    /// Returns a path for messages.
    fn shown(&self, below: &[u8]) -> String {
        self.server_path(below).escape_ascii().to_string()
    }

    /// Tells the user that the server could not be asked, once for each reason; returns `EIO`.
    fn failed(&self, error: &dyn std::fmt::Display) -> Errno {
        self.has_failed.store(true, Ordering::Relaxed);
        let text = error.to_string();
        let mut state = self.state();
        let is_known = state.told.as_ref() == Some(&text);
        state.told = Some(text.clone());
        drop(state);
        if !is_known {
            (self.tell)(&text);
        }
        Errno::IO
    }

    /// Returns the server's answer; errors of the server become errnos.
    fn asked<T>(&self, answer: Result<T, RemoteError>) -> Result<T, Errno> {
        match answer {
            Ok(answer) => {
                self.state().told = None;
                Ok(answer)
            }
            Err(RemoteError::Refused { errno, .. }) if errno > 0 => Err(Errno(errno)),
            Err(error @ RemoteError::Lacks { .. }) => {
                self.failed(&error);
                Err(Errno::NOTSUP)
            }
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn listing(self: &Arc<Self>, dir: &[u8]) -> Result<Arc<Listing>, Errno> {
        let listing = self.listing_until(dir, None, None)?;
        listing.ok_or(Errno::IO)
    }

    /// Returns the listing of a directory. With `least`, everything that it says about names stays
    /// valid for that long. `None` if it has not arrived by `until`.
    fn listing_until(
        self: &Arc<Self>,
        dir: &[u8],
        least: Option<Duration>,
        until: Option<Instant>,
    ) -> Result<Option<Arc<Listing>>, Errno> {
        if self.asking == Asking::Each {
            return self.listed(dir).map(Some);
        }
        let begun = Instant::now();
        let (mut tries, mut last) = (0, None::<Arc<Bulk>>);
        let mut state = self.state();
        loop {
            if let Some(listing) = self.fresh(&mut state, dir, begun, least) {
                return Ok(Some(listing));
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(None);
            }
            if tries == 0 && state.watched.has_changed(dir) {
                // The directories below are watched, too, as far as they are used, so they need not
                // be requested again.
                drop(state);
                return self.list_now(dir).map(Some);
            }
            if last
                .take()
                .is_some_and(|bulk| bulk.phase() == Phase::Failed)
            {
                return Err(Errno::IO);
            }
            // Prefers an answer that was begun for this directory to one that takes long to reach
            // it.
            let coming = || state.bulks.iter().filter(|bulk| bulk.comes_to(dir));
            let soon = coming().find(|bulk| !is_overtaken(bulk, dir, begun));
            let late = coming().next();
            let bulk = match (soon.cloned(), late.cloned()) {
                (Some(bulk), _) => bulk,
                (None, Some(bulk)) if !make_room(&mut state) => bulk,
                _ if tries == TRIES => {
                    drop(state);
                    let text = format!("{} does not answer about {}", self.name, self.shown(dir));
                    return Err(self.failed(&text));
                }
                _ => {
                    make_room(&mut state);
                    tries += 1;
                    self.begin(&mut state, dir)?
                }
            };
            bulk.wait();
            self.changed.notify_all();
            state = wait_for(&self.changed, state, OVERTAKE);
            bulk.wait_no_more();
            last = Some(bulk);
        }
    }

    /// Returns the known listing of a directory if it may be told to a request that began at
    /// `begun`.
    fn fresh(
        &self,
        state: &mut State,
        dir: &[u8],
        begun: Instant,
        least: Option<Duration>,
    ) -> Option<Arc<Listing>> {
        let listing = state.store.newest(dir)?;
        let term = state.watched.listing(dir, listing.asked);
        let age = match least {
            Some(least) if term == Term::Long && state.uncertain(dir, listing).is_none() => {
                self.max_age.saturating_sub(least)
            }
            least => self.age(term).saturating_sub(least.unwrap_or_default()),
        };
        // A listing that arrived after the request began is as of now, even if the allowed age is
        // 0.
        if listing.at < begun && !store::is_fresh(listing.at, age) {
            return None;
        }
        let listing = Arc::clone(listing);
        if listing.trouble.is_none() {
            state.watched.wish(dir);
        }
        Some(listing)
    }

    fn age(&self, term: Term) -> Duration {
        match term {
            Term::Long => self.watched_age,
            Term::Short => self.max_age,
            Term::Old => Duration::ZERO,
        }
    }

    /// Returns whether a listing's attributes of a name may be told, given that the listing may.
    fn is_known(&self, dir: &[u8], listing: &Listing, name: &[u8], found: &Attributes) -> bool {
        let mut state = self.state();
        let of_names = state.watched.listing(dir, listing.asked);
        if of_names != Term::Long {
            return true;
        }
        if is_directory(found) {
            // A directory that is looked at is likely to be looked at again.
            state.watched.wish(&join(dir, name));
        }
        let term = state.watched.entry(dir, listing.asked, name, found);
        store::is_fresh(listing.at, self.age(term))
    }

    /// Begins a bulk answer about a directory.
    fn begin(self: &Arc<Self>, state: &mut State, dir: &[u8]) -> Result<Arc<Bulk>, Errno> {
        let bulk = Bulk::new(dir);
        state.bulks.push(Arc::clone(&bulk));
        state.running += 1;
        let (inner, ours) = (Arc::clone(self), Arc::clone(&bulk));
        let work = move || {
            let taken = bulk::take_in(&inner, &ours);
            let phase = match &taken {
                Err(error) if !error.is_cancelled() => {
                    inner.failed(error);
                    Phase::Failed
                }
                _ => Phase::Over,
            };
            let mut state = inner.state();
            ours.set_phase(phase);
            state.running -= 1;
            state.bulks.retain(|bulk| !Arc::ptr_eq(bulk, &ours));
            if taken.is_ok() {
                state.told = None;
            }
            drop(state);
            inner.changed.notify_all();
        };
        let thread = std::thread::Builder::new().name("bulk answer".into());
        match thread.spawn(work) {
            Ok(_) => Ok(bulk),
            Err(_) => {
                state.running -= 1;
                state.bulks.retain(|other| !Arc::ptr_eq(other, &bulk));
                Err(Errno::NOMEM)
            }
        }
    }

    /// Returns the attributes of the top, as by stat(2), or of an entry of a directory that cannot
    /// be listed, as by lstat(2).
    fn single(&self, path: &[u8]) -> Result<Timed<Result<Attributes, Errno>>, Errno> {
        if let Some(known) = self.known_single(path) {
            return Ok(known);
        }
        let links = match path {
            b"" => Links::Followed,
            _ => Links::Refused,
        };
        let at = Instant::now();
        let record = self.asked(self.remote.stat(&self.server_path(path), links))?;
        let what = match record.outcome {
            Outcome::Match(Some(attributes)) => Ok(attributes),
            Outcome::Match(None) => Err(Errno::IO),
            Outcome::Error(trouble) => Err(Errno(trouble.errno)),
        };
        let asked = at;
        self.state().singles.insert(path, what, asked);
        Ok(Timed { what, at, asked })
    }

    fn known_single(&self, path: &[u8]) -> Option<Timed<Result<Attributes, Errno>>> {
        let state = self.state();
        let asked = state.singles.newest(path)?.asked;
        let term = match path {
            b"" => state.watched.own(path, asked),
            _ => Term::Short,
        };
        state.singles.get(path, self.age(term))
    }

    fn target(&self, path: &[u8], least: Duration) -> Result<Timed<Result<Vec<u8>, Errno>>, Errno> {
        let wanted = {
            let mut state = self.state();
            let State {
                targets, watched, ..
            } = &mut *state;
            let dir = split(path).0;
            let age = |asked| {
                let age = self.age(watched.listing(dir, asked));
                age.saturating_sub(least)
            };
            if let Some(target) = targets.get(path, age) {
                return Ok(target);
            }
            match self.asking {
                Asking::Bulk => state.targets.wanted(path),
                Asking::Each => vec![path.to_vec()],
            }
        };
        let at = Instant::now();
        let paths: Vec<Vec<u8>> = wanted.iter().map(|path| self.server_path(path)).collect();
        let targets = self.asked(self.remote.links(&paths))?;
        let first = targets.first().cloned();
        self.state().targets.insert(wanted, targets, at);
        let what = first.unwrap_or(Err(Errno::IO));
        Ok(Timed {
            what,
            at,
            asked: at,
        })
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Inner").field(&self.name).finish()
    }
}

impl Telling<'_> {
    fn lasts(&self, term: Term) -> Duration {
        self.inner.age(term).saturating_sub(self.at.elapsed())
    }

    /// Returns how long it may be told that the name exists with these attributes.
    pub fn entry(&self, name: &[u8], attributes: &Attributes) -> Duration {
        let is_certain =
            self.term != Term::Long || (!is_directory(attributes) && attributes.nlink < 2);
        self.lasts(match is_certain {
            true => self.term,
            false => {
                let state = self.inner.state();
                state.watched.entry(self.dir, self.asked, name, attributes)
            }
        })
    }

    /// Returns how long it may be told that the name does not exist.
    pub fn absence(&self) -> Duration {
        self.lasts(match self.term {
            // If all news are lost, the kernel is only told to forget those names at the top that
            // exist.
            Term::Long if self.dir.is_empty() => Term::Short,
            term => term,
        })
    }

    /// Returns how long the directory's own attributes may be told.
    pub fn own(&self) -> Duration {
        self.lasts(self.inner.state().watched.own(self.dir, self.asked))
    }
}

/// Returns whether a directory is to be requested separately although a bulk answer will reach it.
fn is_overtaken(bulk: &Bulk, dir: &[u8], begun: Instant) -> bool {
    let Some(first) = bulk.first() else {
        return false;
    };
    bulk.top != dir && begun.elapsed() > OVERTAKE.max(first * 4)
}

/// Cancels a bulk answer that nobody waits for, if there are too many; false if all are waited for.
fn make_room(state: &mut State) -> bool {
    if state.bulks.len() < BULKS_MAX {
        return true;
    }
    let unwanted = state.bulks.iter().position(|bulk| !bulk.is_wanted());
    match unwanted {
        Some(at) => {
            state.bulks.remove(at).cancel();
            true
        }
        None => false,
    }
}
