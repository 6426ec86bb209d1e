//! A file that is open: which one it is, and which version of it the server told last.
//!
//! A path is asked for, and what is told is believed to be of the file only if it is the one that
//! was opened: its device, its number, and when it was made. If another file has its name by now,
//! it is looked for in its directory, where logs are renamed to; else it is gone (`ESTALE`), as
//! with NFS.
//!
//! Invariant: bytes are never without the version of the file that they are of.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use trawl_call::Attributes;
use trawl_model::relative_path::{join, split};
use trawl_remote::client::Fetched;
use trawl_sys::Errno;
use trawl_sys::stat::Time;

use super::store::is_fresh;
use super::watched::Term;
use super::{Inner, Known, Listing, Tree};

/// A file that is gone is looked for so often at most.
const SEEK: Duration = Duration::from_secs(1);

/// What changes when contents do, and which file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    dev: u64,
    ino: u64,
    size: u64,
    mtime: Time,
    ctime: Time,
}

impl Version {
    /// The version that has these attributes.
    pub fn of(attributes: &Attributes) -> Version {
        Version {
            dev: attributes.dev,
            ino: attributes.ino,
            size: attributes.size,
            mtime: attributes.mtime,
            ctime: attributes.ctime,
        }
    }
}

/// What the server said of an open file.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// What stat(2) says.
    pub attributes: Attributes,
    /// Whether bytes that were read then are those of every moment with these attributes.
    pub is_settled: bool,
    /// When it was asked for.
    pub asked: Instant,
}

impl Seen {
    /// Which version it is.
    pub fn version(&self) -> Version {
        Version::of(&self.attributes)
    }

    /// The same as what is known of any file.
    pub fn known(&self) -> Known<Attributes> {
        Known {
            what: self.attributes,
            at: self.asked,
            asked: self.asked,
        }
    }

    /// Whether bytes that were read then are what is in a file that has these attributes.
    pub fn is_of(&self, now: &Attributes) -> bool {
        self.is_settled && self.version() == Version::of(now)
    }
}

/// Which file it is, as far as the server can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    dev: u64,
    ino: u64,
    born: Time,
}

struct State {
    path: Vec<u8>,
    identity: Option<Identity>,
    seen: Option<Seen>,
    /// When it was looked for in vain.
    sought: Option<Instant>,
    /// Where a file with its number was seen.
    elsewhere: Option<Vec<u8>>,
}

/// An open file.
#[derive(Clone)]
pub struct Held(Arc<Shared>);

struct Shared {
    tree: Arc<Inner>,
    state: Mutex<State>,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path().escape_ascii().to_string();
        f.debug_tuple("Held").field(&path).finish()
    }
}

impl Tree {
    /// A file that is about to be opened: nobody was asked yet.
    pub fn held(&self, path: &[u8]) -> Held {
        Held(Arc::new(Shared {
            tree: Arc::clone(&self.0),
            state: Mutex::new(State {
                path: path.to_vec(),
                identity: None,
                seen: None,
                sought: None,
                elsewhere: None,
            }),
        }))
    }

    /// What is known of a path without asking, if it may be told.
    pub fn peek(&self, path: &[u8]) -> Option<Known<Attributes>> {
        self.0.peek(path)
    }

    /// Asks what is in the directory that a path lies in, whatever is known.
    ///
    /// # Errors
    /// `EIO` if the server cannot be asked.
    pub fn look_again(&self, path: &[u8]) -> Result<(), Errno> {
        self.0.state().singles.remove(path);
        self.0.list_now(split(path).0).map(drop)
    }

    /// What is in a directory, asked for now.
    ///
    /// # Errors
    /// As [`Tree::listing`].
    pub fn list_again(&self, dir: &[u8]) -> Result<Arc<Listing>, Errno> {
        self.0.list_now(dir)
    }
}

impl Inner {
    fn peek(&self, path: &[u8]) -> Option<Known<Attributes>> {
        let (dir, name) = split(path);
        let state = self.state();
        let listing = state.store.newest(dir)?;
        let what = *listing.get(name)?.found.as_ref().ok()?;
        let term = state.watched.entry(dir, listing.asked, name, &what);
        let (at, asked) = (listing.at, listing.asked);
        is_fresh(at, self.age(term)).then_some(Known { what, at, asked })
    }
}

impl Held {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether they are one.
    pub(super) fn is(&self, other: &Held) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether they are of one file, as far as the server has said.
    pub(crate) fn is_of(&self, other: &Held) -> bool {
        let identity = self.state().identity;
        identity.is_some() && identity == other.state().identity
    }

    /// Where it was last.
    pub fn path(&self) -> Vec<u8> {
        self.state().path.clone()
    }

    /// A file with its number was seen there.
    pub fn may_be_at(&self, path: &[u8]) {
        let mut state = self.state();
        if state.path != path {
            state.elsewhere = Some(path.to_vec());
        }
    }

    fn term(&self, seen: &Seen) -> Term {
        let path = self.path();
        let (dir, name) = split(&path);
        let state = self.0.tree.state();
        let watched = &state.watched;
        watched.entry(dir, seen.asked, name, &seen.attributes)
    }

    /// What the server said last, however long ago.
    pub fn last(&self) -> Option<Seen> {
        self.state().seen
    }

    /// What the server said last, if that may still be told, or is no older than `least`.
    pub fn current(&self, least: Duration) -> Option<Seen> {
        let seen = self.last()?;
        let term = self.term(&seen);
        let age = match term {
            Term::Old => Duration::ZERO,
            term => self.0.tree.age(term).max(least),
        };
        is_fresh(seen.asked, age).then_some(seen)
    }

    /// The same if the server would have said that it has changed.
    pub fn watched(&self) -> Option<Seen> {
        let seen = self.current(Duration::ZERO)?;
        (self.term(&seen) == Term::Long).then_some(seen)
    }

    /// What the server says of it, asked now.
    ///
    /// # Errors
    /// `ESTALE` if it is gone; what the server says; `EIO` if it cannot be asked.
    pub fn look(&self) -> Result<Seen, Errno> {
        self.fetch(0, 0).map(|(seen, _)| seen)
    }

    /// What stat(2) says of it: what may still be told, or what the server says. A listing may say
    /// that it is as it was; what else it says may be of another file that has its number by now.
    ///
    /// # Errors
    /// As [`Held::look`].
    pub fn attributes(&self) -> Result<Seen, Errno> {
        let last = self.last();
        if let Some(known) = self.0.tree.peek(&self.path())
            && let Some(last) = last
            && known.asked >= last.asked
            && Version::of(&known.what) == last.version()
        {
            let seen = Seen {
                attributes: known.what,
                is_settled: false,
                asked: known.asked,
            };
            self.note(seen, false);
            return Ok(seen);
        }
        match self.current(Duration::ZERO) {
            Some(seen) => Ok(seen),
            None => self.look(),
        }
    }

    /// The newer one of this, which was said of a name, and what the server said last of the file;
    /// both are aware of that then. `None` if it is later and of another version, or of another file
    /// that has the number by now: a listing does not say when a file was made.
    pub fn newer(&self, known: Known<Attributes>) -> Option<Known<Attributes>> {
        let Some(last) = self.last() else {
            return Some(known);
        };
        if (known.what.dev, known.what.ino) != (last.attributes.dev, last.attributes.ino) {
            return Some(known);
        }
        if last.asked > known.asked {
            return Some(last.known());
        }
        if Version::of(&known.what) != last.version() {
            return None;
        }
        let seen = Seen {
            attributes: known.what,
            is_settled: false,
            asked: known.asked,
        };
        self.note(seen, false);
        Some(known)
    }

    /// Nobody has it open: whichever file is there when it is opened next is the one.
    pub fn forget(&self) {
        let mut state = self.state();
        state.identity = None;
        state.seen = None;
    }

    /// Bytes, and the version of the file that they are of.
    pub(super) fn fetch(&self, offset: u64, length: u32) -> Result<(Seen, Vec<u8>), Errno> {
        let tree = &self.0.tree;
        for is_again in [false, true] {
            let path = self.path();
            let asked = Instant::now();
            let answer = tree.remote.fetch(&tree.server_path(&path), offset, length);
            let found = tree.asked(answer);
            match found {
                Ok(found) if self.is_it(&found) => {
                    let seen = Seen {
                        attributes: found.version.attributes,
                        is_settled: found.version.is_settled,
                        asked,
                    };
                    self.note(seen, length > 0);
                    return Ok((seen, found.bytes));
                }
                Err(errno) if self.state().identity.is_none() || !is_gone(errno) => {
                    return Err(errno);
                }
                Ok(_) | Err(_) if is_again || !self.seek(&path)? => return Err(Errno::STALE),
                Ok(_) | Err(_) => {}
            }
        }
        Err(Errno::STALE)
    }

    /// Whether it is the file that was opened; the first one is.
    fn is_it(&self, found: &Fetched) -> bool {
        let version = &found.version;
        let identity = Identity {
            dev: version.attributes.dev,
            ino: version.attributes.ino,
            born: version.born,
        };
        *self.state().identity.get_or_insert(identity) == identity
    }

    /// Takes what was asked for last; of a version that is not settled, of which bytes came, what
    /// was asked for first, so that bytes that came since are as new as that.
    fn note(&self, seen: Seen, with_bytes: bool) {
        let mut state = self.state();
        let is_old = |last: &Seen| {
            let is_same = with_bytes && last.version() == seen.version() && !seen.is_settled;
            last.asked > seen.asked || is_same && is_fresh(last.asked, self.0.tree.max_age)
        };
        if !state.seen.as_ref().is_some_and(is_old) {
            state.seen = Some(seen);
        }
    }

    /// Looks for it where it was seen, and in its directory; true if it may have another name.
    fn seek(&self, path: &[u8]) -> Result<bool, Errno> {
        let mut state = self.state();
        if let Some(elsewhere) = state.elsewhere.take() {
            state.path = elsewhere;
            return Ok(true);
        }
        let was_sought = state.sought.is_some_and(|at| is_fresh(at, SEEK));
        let (false, Some(identity)) = (was_sought, state.identity) else {
            return Ok(false);
        };
        state.sought = Some(Instant::now());
        drop(state);
        let dir = split(path).0;
        let listing = self.0.tree.list_now(dir)?;
        let is_it = |found: &Attributes| (found.dev, found.ino) == (identity.dev, identity.ino);
        let mut entries = listing.entries.iter();
        let found = entries.find(|entry| entry.found.as_ref().is_ok_and(is_it));
        let Some(entry) = found else {
            return Ok(false);
        };
        let mut state = self.state();
        state.path = join(dir, &entry.name);
        state.sought = None;
        Ok(true)
    }
}

/// Whether there is no such file any more where it was.
fn is_gone(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::STALE | Errno::INVAL
    )
}
