//! An open file: its identity, and the last version that the server reported.
//!
//! The server is asked by path, and an answer counts only if it is about the file that was opened:
//! same device, inode number and time of birth. If the path leads to another file by now, the file
//! is looked for in its directory, where for example rotated logs are; otherwise it is gone
//! (`ESTALE`), as with NFS.
//!
//! Invariant: bytes always come with the version of the file that they belong to.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use trawl_call::Attributes;
use trawl_model::relative_path::{join, split};
use trawl_model::sync::lock;
use trawl_remote::client::Fetched;
use trawl_sys::Errno;
use trawl_sys::stat::Time;

use super::store::is_fresh;
use super::watched::Term;
use super::{Inner, Listing, Timed, Tree};

/// Minimum time between two searches for a file that is gone.
const SEEK: Duration = Duration::from_secs(1);

/// The attributes that change with the contents, and the identity of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    dev: u64,
    ino: u64,
    size: u64,
    mtime: Time,
    ctime: Time,
}

impl Version {
    /// Returns the version with these attributes.
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

/// An answer of the server about an open file.
#[derive(Clone, Copy, Debug)]
pub struct FileAnswer {
    /// The attributes.
    pub attributes: Attributes,
    /// Whether bytes that were read then are those of every moment with these attributes.
    pub is_settled: bool,
    /// When it was requested.
    pub asked: Instant,
}

impl FileAnswer {
    /// Returns the version.
    pub fn version(&self) -> Version {
        Version::of(&self.attributes)
    }

    /// Returns the attributes in the form used for any file.
    pub fn known(&self) -> Timed<Attributes> {
        Timed {
            what: self.attributes,
            at: self.asked,
            asked: self.asked,
        }
    }

    /// Returns whether bytes that were read then are the contents of a file with these attributes.
    pub fn is_of(&self, now: &Attributes) -> bool {
        self.is_settled && self.version() == Version::of(now)
    }
}

/// The identity of a file, as far as the server can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    dev: u64,
    ino: u64,
    born: Time,
}

struct State {
    path: Vec<u8>,
    identity: Option<Identity>,
    seen: Option<FileAnswer>,
    /// When the file was last looked for.
    sought: Option<Instant>,
    /// A path at which a file with its inode number was seen.
    elsewhere: Option<Vec<u8>>,
}

/// An open file.
#[derive(Clone)]
pub struct OpenFile(Arc<Shared>);

struct Shared {
    tree: Arc<Inner>,
    state: Mutex<State>,
}

impl std::fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path().escape_ascii().to_string();
        f.debug_tuple("OpenFile").field(&path).finish()
    }
}

impl Tree {
    /// Returns a file that is about to be opened. Does not ask the server yet.
    pub fn held(&self, path: &[u8]) -> OpenFile {
        OpenFile(Arc::new(Shared {
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

    /// Returns the known attributes of a path, if they may be told, without asking the server.
    pub fn peek(&self, path: &[u8]) -> Option<Timed<Attributes>> {
        self.0.peek(path)
    }

    /// Requests the listing of a path's directory, whatever is known.
    ///
    /// # Errors
    /// `EIO` if the server cannot be asked.
    pub fn look_again(&self, path: &[u8]) -> Result<(), Errno> {
        self.0.state().singles.remove(path);
        self.0.list_now(split(path).0).map(drop)
    }

    /// Requests the listing of a directory now, and returns it.
    ///
    /// # Errors
    /// As [`Tree::listing`].
    pub fn list_again(&self, dir: &[u8]) -> Result<Arc<Listing>, Errno> {
        self.0.list_now(dir)
    }
}

impl Inner {
    fn peek(&self, path: &[u8]) -> Option<Timed<Attributes>> {
        let (dir, name) = split(path);
        let state = self.state();
        let listing = state.store.newest(dir)?;
        let what = *listing.get(name)?.found.as_ref().ok()?;
        let term = state.watched.entry(dir, listing.asked, name, &what);
        let (at, asked) = (listing.at, listing.asked);
        is_fresh(at, self.age(term)).then_some(Timed { what, at, asked })
    }
}

impl OpenFile {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }

    /// Returns whether both are the same open file.
    pub(super) fn is(&self, other: &OpenFile) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns whether both are opens of the same file, as far as the server has told.
    pub(crate) fn is_of(&self, other: &OpenFile) -> bool {
        let identity = self.state().identity;
        identity.is_some() && identity == other.state().identity
    }

    /// Returns the file's last known path.
    pub fn path(&self) -> Vec<u8> {
        self.state().path.clone()
    }

    /// Records that a file with its inode number was seen at a path.
    pub fn may_be_at(&self, path: &[u8]) {
        let mut state = self.state();
        if state.path != path {
            state.elsewhere = Some(path.to_vec());
        }
    }

    fn term(&self, seen: &FileAnswer) -> Term {
        let path = self.path();
        let (dir, name) = split(&path);
        let state = self.0.tree.state();
        let watched = &state.watched;
        watched.entry(dir, seen.asked, name, &seen.attributes)
    }

    /// Returns the server's last answer, however old.
    pub fn last(&self) -> Option<FileAnswer> {
        self.state().seen
    }

    /// Returns the server's last answer, if it may still be told or is younger than `least`.
    pub fn current(&self, least: Duration) -> Option<FileAnswer> {
        let seen = self.last()?;
        let term = self.term(&seen);
        let age = match term {
            Term::Old => Duration::ZERO,
            term => self.0.tree.age(term).max(least),
        };
        is_fresh(seen.asked, age).then_some(seen)
    }

    /// Returns the server's last answer, if the server would have reported a change since.
    pub fn watched(&self) -> Option<FileAnswer> {
        let seen = self.current(Duration::ZERO)?;
        (self.term(&seen) == Term::Long).then_some(seen)
    }

    /// Asks the server about the file now.
    ///
    /// # Errors
    /// `ESTALE` if the file is gone; the server's error; `EIO` if the server cannot be asked.
    pub fn look(&self) -> Result<FileAnswer, Errno> {
        self.fetch(0, 0).map(|(seen, _)| seen)
    }

    /// Returns the file's attributes: known ones that may still be told, or the server's. A listing
    /// can confirm that the file is unchanged; otherwise its entry may be about another file that
    /// has the inode number by now.
    ///
    /// # Errors
    /// As [`OpenFile::look`].
    pub fn attributes(&self) -> Result<FileAnswer, Errno> {
        let last = self.last();
        if let Some(known) = self.0.tree.peek(&self.path())
            && let Some(last) = last
            && known.asked >= last.asked
            && Version::of(&known.what) == last.version()
        {
            let seen = FileAnswer {
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

    /// Returns the newer of `known`, which was told about a name, and the server's last answer
    /// about the file, and remembers it. `None` if `known` is newer and of another version: it may
    /// be about another file that has the inode number by now, because a listing does not tell
    /// times of birth.
    pub fn newer(&self, known: Timed<Attributes>) -> Option<Timed<Attributes>> {
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
        let seen = FileAnswer {
            attributes: known.what,
            is_settled: false,
            asked: known.asked,
        };
        self.note(seen, false);
        Some(known)
    }

    /// Forgets the identity of a file that is not open: the next open accepts whatever file is
    /// there.
    pub fn forget(&self) {
        let mut state = self.state();
        state.identity = None;
        state.seen = None;
    }

    /// Fetches bytes, with the version of the file that they belong to.
    pub(super) fn fetch(&self, offset: u64, length: u32) -> Result<(FileAnswer, Vec<u8>), Errno> {
        let tree = &self.0.tree;
        for is_again in [false, true] {
            let path = self.path();
            let asked = Instant::now();
            let answer = tree.remote.fetch(&tree.server_path(&path), offset, length);
            let found = tree.asked(answer);
            match found {
                Ok(found) if self.is_it(&found) => {
                    let seen = FileAnswer {
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

    /// Returns whether the answer is about the file that was opened; the first answer determines
    /// the identity.
    fn is_it(&self, found: &Fetched) -> bool {
        let version = &found.version;
        let identity = Identity {
            dev: version.attributes.dev,
            ino: version.attributes.ino,
            born: version.born,
        };
        *self.state().identity.get_or_insert(identity) == identity
    }

    /// Stores the newest answer. For bytes of an unsettled version, the time of the first answer
    /// remains, so that bytes received since count as being as new as that.
    fn note(&self, seen: FileAnswer, with_bytes: bool) {
        let mut state = self.state();
        let is_old = |last: &FileAnswer| {
            let is_same = with_bytes && last.version() == seen.version() && !seen.is_settled;
            last.asked > seen.asked || is_same && is_fresh(last.asked, self.0.tree.max_age)
        };
        if !state.seen.as_ref().is_some_and(is_old) {
            state.seen = Some(seen);
        }
    }

    /// Looks for the file where it was seen, and in its directory; true if its path may have
    /// changed.
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

/// Returns whether an error says that the file is no longer at its path.
fn is_gone(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::STALE | Errno::INVAL
    )
}
