//! A tree on another machine, as of a moment ago: names, attributes, links and contents.
//!
//! The first question about a directory asks the server for all below it ([`bulk`]), in one round
//! trip; what comes is kept for a bounded time in bounded memory and answers all that is asked
//! next, names that are not there included. Links and extended attributes are read many at a time.
//!
//! Invariants: what cannot be asked is an error (`EIO`, and words for the user), never an empty
//! directory or a name that is not there; nothing older than the age that was agreed on is told.
//!
//! A server that can says what changes ([`Tree::watch`]): what it watches is kept for long.

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
pub use held::{Held, Seen, Version};
pub use listing::{Entry, Listing, is_directory, is_link};
pub use watching::Hear;

/// Bulk answers at once, paused ones included.
const BULKS_MAX: usize = 6;
/// So long at least is waited for a bulk answer that will come to a directory before that one is
/// asked for by itself.
const OVERTAKE: Duration = Duration::from_millis(50);
/// So often a bulk answer may end without what it was begun for.
const TRIES: u32 = 3;
/// So long what goes on is given to end.
const FAREWELL: Duration = Duration::from_secs(1);

/// How a tree is kept.
#[derive(Clone, Copy, Debug)]
pub struct Keeping {
    /// How old what is told may be.
    pub max_age: Duration,
    /// The same of what the server watches: until it says that it has changed, and no longer than
    /// this.
    pub watched_age: Duration,
    /// How much memory names and attributes may take, in bytes.
    pub memory_bytes: usize,
    /// How the server is asked.
    pub asking: Asking,
}

/// How a server is asked for names, attributes and links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asking {
    /// For all below a directory at once.
    #[default]
    Bulk,
    /// Call by call, as ordinary remote file systems do: each look at a name, each directory and
    /// each link is a round trip of its own. What bulk answers are worth is compared with this.
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

/// Takes words for the user.
pub type Tell = dyn Fn(&str) + Send + Sync;

/// A tree of a server.
#[derive(Clone)]
pub struct Tree(
    Arc<Inner>,
    #[allow(dead_code, reason = "ends with the last tree")] Arc<Life>,
);

/// Ends all that goes on for a tree. Threads that take answers in have an [`Inner`], but no tree.
struct Life(Arc<Inner>);

struct Inner {
    remote: Remote,
    /// The server and the path there, for messages.
    name: String,
    /// Without a slash at the end, unless it is `/`.
    top: Vec<u8>,
    device: u64,
    max_age: Duration,
    watched_age: Duration,
    asking: Asking,
    /// Held for reading by who tells what is known, until that is told.
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
    /// Threads that take answers in.
    running: usize,
    /// What was told last, until the server answers again.
    told: Option<String>,
    watched: Watched,
    has_ended: bool,
}

/// What is known, and until when that may be told.
#[derive(Clone, Copy, Debug)]
pub struct Known<T> {
    /// What.
    pub what: T,
    /// When it came.
    pub at: Instant,
    /// When it was asked for.
    pub asked: Instant,
}

/// How long what is known of a directory may be told. While this is there nothing is heard of
/// changes that would come too late to undo it: it is there until what was told is said, and that
/// waits for nobody.
#[derive(Debug)]
pub struct Telling<'a> {
    inner: &'a Inner,
    dir: &'a [u8],
    at: Instant,
    asked: Instant,
    /// Of the names in it.
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
        // So that whatever runs the server for us is gone, too.
        while state.running > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.0.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Tree {
    /// The directory `top` of a server, which is asked for it.
    ///
    /// # Errors
    /// If the server cannot be asked, or has no such directory.
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

    /// The server and the path there.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The device number of the top, as the server has it.
    pub fn device(&self) -> u64 {
        self.0.device
    }

    /// Whether anything could not be answered: because the server could not be asked, say.
    pub fn has_failed(&self) -> bool {
        self.0.has_failed.load(Ordering::Relaxed)
    }

    /// How the server is asked.
    pub fn asking(&self) -> Asking {
        self.0.asking
    }

    /// Says that something could not be shown, once for each reason: see [`Tree::has_failed`].
    pub fn failed(&self, why: &dyn std::fmt::Display) {
        self.0.failed(why);
    }

    /// How long what was asked for and came then of a directory may be told.
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

    /// What is in a directory. The path is relative to the top.
    ///
    /// # Errors
    /// `EIO` if the server cannot be asked. What the server says of the directory is in the
    /// listing.
    pub fn listing(&self, dir: &[u8]) -> Result<Arc<Listing>, Errno> {
        self.0.listing(dir)
    }

    /// The same, of what lasts at least so long; `None` if it has not come by then.
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

    /// A listing of a directory that was given before, to go on in.
    pub fn again(&self, dir: &[u8], is_it: impl Fn(&Listing) -> bool) -> Option<Arc<Listing>> {
        self.0.state().store.again(dir, is_it)
    }

    /// What lstat(2) says of a name in a directory; `None` if there is none.
    ///
    /// # Errors
    /// What the server says; `EIO` if it cannot be asked.
    pub fn lookup(&self, dir: &[u8], name: &[u8]) -> Result<Known<Option<Attributes>>, Errno> {
        if self.0.asking == Asking::Each {
            return self.0.one(dir, name);
        }
        let mut listing = self.0.listing(dir)?;
        if let Some(Ok(found)) = listing.get(name).map(|entry| &entry.found)
            && !self.0.is_known(dir, &listing, name, found)
        {
            // Of all its names: who asks for one that is not watched soon asks for the next.
            listing = self.0.list_now(dir)?;
        }
        let (at, asked) = (listing.at, listing.asked);
        match (listing.trouble, listing.get(name)) {
            // Who may not list may still pass.
            (Some(Errno::ACCES), _) => self.0.one(dir, name),
            (Some(errno), _) => Err(errno),
            (None, None) => Ok(Known {
                what: None,
                at,
                asked,
            }),
            (None, Some(entry)) => {
                let what = Some(entry.found?);
                Ok(Known { what, at, asked })
            }
        }
    }

    /// What lstat(2) says of a path; of the top, what stat(2) says.
    ///
    /// # Errors
    /// What the server says; `EIO` if it cannot be asked.
    pub fn attributes(&self, path: &[u8]) -> Result<Known<Attributes>, Errno> {
        if path.is_empty() {
            let Known { what, at, asked } = self.0.single(path)?;
            return Ok(Known {
                what: what?,
                at,
                asked,
            });
        }
        let (dir, name) = split(path);
        let Known { what, at, asked } = self.lookup(dir, name)?;
        let what = what.ok_or(Errno::NOENT)?;
        Ok(Known { what, at, asked })
    }

    /// Where a link leads.
    ///
    /// # Errors
    /// `EINVAL` if it is none; what the server says; `EIO` if it cannot be asked.
    pub fn target(&self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        self.0.target(path, Duration::ZERO)?.what
    }

    /// The same, of what lasts at least so long, and what the server says of this one path.
    ///
    /// # Errors
    /// `EIO` if the server cannot be asked.
    pub fn target_lasting(
        &self,
        path: &[u8],
        least: Duration,
    ) -> Result<Known<Result<Vec<u8>, Errno>>, Errno> {
        self.0.target(path, least)
    }

    /// How old what is told may be.
    pub fn max_age(&self) -> Duration {
        self.0.max_age
    }

    /// The extended attributes of a path that listxattr(2) names to the server's user.
    ///
    /// # Errors
    /// `ENOSYS` if the server knows no such question; `ENOTSUP` where its file system has none;
    /// what else the server says; `EIO` if it cannot be asked.
    pub fn xattrs(&self, path: &[u8]) -> Result<Arc<ExtendedAttributes>, Errno> {
        self.0.xattrs(path)
    }

    /// Everything may have changed.
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn server_path(&self, below: &[u8]) -> Vec<u8> {
        match below {
            b"" if self.top.is_empty() => b"/".to_vec(),
            b"" => self.top.clone(),
            below => [&self.top[..], b"/", below].concat(),
        }
    }

    /// A path in messages.
    fn shown(&self, below: &[u8]) -> String {
        self.server_path(below).escape_ascii().to_string()
    }

    /// Says that the server could not be asked, once for each reason.
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

    /// What the server answers, where errors are its own.
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

    /// What is in a directory, with all that it says of names, if it is to last so long; `None` if
    /// it has not come by then.
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
                // What is below it is watched, too, as far as it was used.
                drop(state);
                return self.list_now(dir).map(Some);
            }
            if last
                .take()
                .is_some_and(|bulk| bulk.phase() == Phase::Failed)
            {
                return Err(Errno::IO);
            }
            // One that was begun for this directory goes before one that takes long to come to it.
            let coming = || state.bulks.iter().filter(|bulk| bulk.comes_to(dir));
            let soon = coming().find(|bulk| !is_overtaken(bulk, dir, begun));
            let late = coming().next();
            let bulk = match (soon.cloned(), late.cloned()) {
                (Some(bulk), _) => bulk,
                (None, Some(bulk)) if !make_room(&mut state) => bulk,
                _ if tries == TRIES => {
                    drop(state);
                    let text = format!("{} says nothing of {}", self.name, self.shown(dir));
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
            let waited = self.changed.wait_timeout(state, OVERTAKE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            bulk.wait_no_more();
            last = Some(bulk);
        }
    }

    /// What is known of a directory, if that may be told to who asks since then.
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
        // What came since it was asked for is as of now, whatever age is allowed.
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

    /// Whether what a listing says of a name may be told, as the listing may.
    fn is_known(&self, dir: &[u8], listing: &Listing, name: &[u8], found: &Attributes) -> bool {
        let mut state = self.state();
        let of_names = state.watched.listing(dir, listing.asked);
        if of_names != Term::Long {
            return true;
        }
        if is_directory(found) {
            // Whoever looks at a directory may go on doing so.
            state.watched.wish(&join(dir, name));
        }
        let term = state.watched.entry(dir, listing.asked, name, found);
        store::is_fresh(listing.at, self.age(term))
    }

    /// Begins with a bulk answer about a directory.
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

    /// What stat(2) says of the top, or lstat(2) of what lies in a directory that cannot be
    /// listed.
    fn single(&self, path: &[u8]) -> Result<Known<Result<Attributes, Errno>>, Errno> {
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
        Ok(Known { what, at, asked })
    }

    fn known_single(&self, path: &[u8]) -> Option<Known<Result<Attributes, Errno>>> {
        let state = self.state();
        let asked = state.singles.newest(path)?.asked;
        let term = match path {
            b"" => state.watched.own(path, asked),
            _ => Term::Short,
        };
        state.singles.get(path, self.age(term))
    }

    fn target(&self, path: &[u8], least: Duration) -> Result<Known<Result<Vec<u8>, Errno>>, Errno> {
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
        Ok(Known {
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

    /// How long that there is such a name, with these attributes.
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

    /// How long that there is no such name.
    pub fn absence(&self) -> Duration {
        self.lasts(match self.term {
            // When all is lost the kernel is told so of every name at the top that is there.
            Term::Long if self.dir.is_empty() => Term::Short,
            term => term,
        })
    }

    /// How long the directory's own attributes.
    pub fn own(&self) -> Duration {
        self.lasts(self.inner.state().watched.own(self.dir, self.asked))
    }
}

/// Whether a directory is to be asked for by itself although a bulk answer will come to it.
fn is_overtaken(bulk: &Bulk, dir: &[u8], begun: Instant) -> bool {
    let Some(first) = bulk.first() else {
        return false;
    };
    bulk.top != dir && begun.elapsed() > OVERTAKE.max(first * 4)
}

/// Ends what nobody waits for if there is no room for one more bulk answer; false if there is none.
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
