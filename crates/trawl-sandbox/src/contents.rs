//! What is in files, put in memory when they are opened, and how much of it there may be.
//!
//! A file that has changed on the server is written anew in place, so that who has it open sees
//! that, too.
//!
//! Invariants: a file has all that is in it, of one version, or opening it fails; what is there
//! stays until all that takes its place has come; no more is kept than was agreed on, whatever a
//! server says how large files are; two calls never fill one file; what is noted of a file is of the
//! one that lies there: whoever fills a file that is taken away meanwhile notes nothing.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rustix::fs::{FallocateFlags, fallocate, ftruncate};
use trawl_mount::Tree;
use trawl_mount::tree::{Content, Held, Seen};
use trawl_sys::Errno;

/// What is read at once.
const CHUNK_BYTES: usize = 1 << 20;
/// So often a file that changes while it is copied is copied once more.
const TRIES: usize = 3;
/// Memory is taken in pages of so many bytes at least.
const PAGE_BYTES: u64 = 4096;

/// Contents of files of one tree.
#[derive(Debug)]
pub(crate) struct Contents {
    most_bytes: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    kept_bytes: u64,
    filled: HashMap<Vec<u8>, Filled>,
    /// Files that calls fill now.
    filling: HashMap<Vec<u8>, Place>,
}

/// What lies in the place of a file that is being filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The file that was there when the call began.
    Same,
    /// Another file, or none.
    Other,
}

impl State {
    fn insert(&mut self, path: &[u8], filled: Filled) {
        self.remove(path);
        self.filled.insert(path.to_vec(), filled);
    }

    fn remove(&mut self, path: &[u8]) {
        if let Some(filled) = self.filled.remove(path) {
            self.kept_bytes = self.kept_bytes.saturating_sub(filled.bytes);
        }
    }

    /// Whoever fills it now fills what is no longer there.
    fn overtake(&mut self, path: &[u8]) {
        if let Some(place) = self.filling.get_mut(path) {
            *place = Place::Other;
        }
    }
}

/// What a file in memory has in it.
#[derive(Clone, Debug)]
pub(crate) struct Filled {
    pub(crate) held: Held,
    /// The version that it is of.
    pub(crate) seen: Seen,
    bytes: u64,
}

/// Why a file is not filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The server says so, or the kernel.
    Failed(Errno),
    /// It has more in it than may be kept, bytes.
    TooLarge { size: u64, most: u64 },
    /// There is no room left for it.
    Full { most: u64 },
    /// Its name leads to another file by now, or to none.
    Elsewhere,
    /// Somebody runs it.
    Busy,
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Refused {
        Refused::Failed(errno)
    }
}

impl Refused {
    /// Says why, if nobody else does; what the call is to fail with.
    pub(crate) fn told(self, tree: &Tree, path: &[u8]) -> Errno {
        let name = format!("{}/{}", tree.name(), path.escape_ascii());
        let advice = "--sandbox-memory gives more room";
        match self {
            Refused::Failed(errno) => errno,
            Refused::Elsewhere => Errno::STALE,
            Refused::Busy => Errno(rustix::io::Errno::TXTBSY.raw_os_error()),
            Refused::TooLarge { size, most } => {
                tree.failed(&format_args!(
                    "cannot open {name}: it has {size} bytes, and at most {most} of contents are \
                     kept in memory; {advice}"
                ));
                Errno(rustix::io::Errno::FBIG.raw_os_error())
            }
            Refused::Full { most } => {
                tree.failed(&format_args!(
                    "cannot open {name}: the {most} bytes of memory for contents are full; {advice}"
                ));
                Errno::NOMEM
            }
        }
    }
}

impl Contents {
    pub(crate) fn new(most_bytes: u64) -> Contents {
        Contents {
            most_bytes,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a file has in it, if it has been filled. The caller is to fill it, or to see that it
    /// need not be, and then says that it has ended. Waits for whoever fills it now.
    pub(crate) fn begin(&self, path: &[u8]) -> Option<Filled> {
        let mut state = self.state();
        while state.filling.contains_key(path) {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.filling.insert(path.to_vec(), Place::Same);
        state.filled.get(path).cloned()
    }

    /// See [`Contents::begin`]. Notes what the file has in it now, if that is another version. False
    /// if the file was taken away meanwhile: nothing is noted then.
    pub(crate) fn end(&self, path: &[u8], filled: Option<Filled>) -> bool {
        let mut state = self.state();
        let is_there = state.filling.remove(path) == Some(Place::Same);
        match filled {
            Some(filled) if is_there => state.insert(path, filled),
            Some(filled) => state.kept_bytes = state.kept_bytes.saturating_sub(filled.bytes),
            None => {}
        }
        drop(state);
        self.changed.notify_all();
        is_there
    }

    /// Whether the file that is being filled still lies there.
    pub(crate) fn is_there(&self, path: &[u8]) -> bool {
        self.state().filling.get(path) == Some(&Place::Same)
    }

    /// What a file has in it, if it has been filled.
    pub(crate) fn filled(&self, path: &[u8]) -> Option<Filled> {
        self.state().filled.get(path).cloned()
    }

    /// Whether a file has been filled, or is being filled.
    pub(crate) fn is_used(&self, path: &[u8]) -> bool {
        let state = self.state();
        state.filled.contains_key(path) || state.filling.contains_key(path)
    }

    /// A name is taken away, and what is in the file with it. Who has it open keeps that, which
    /// does not count any more.
    pub(crate) fn forget(&self, path: &[u8]) {
        let mut state = self.state();
        state.remove(path);
        state.overtake(path);
    }

    /// A new file was put there with all that is in it.
    pub(crate) fn put(&self, path: &[u8], filled: Filled) {
        let mut state = self.state();
        state.insert(path, filled);
        state.overtake(path);
    }

    /// Whether so much could be kept now in place of what there is: nothing is read in vain.
    pub(crate) fn room_for(&self, size: u64, before: Option<&Filled>) -> Result<(), Refused> {
        let most = self.most_bytes;
        let before = before.map_or(0, |before| before.bytes);
        match self.state().kept_bytes.saturating_sub(before) {
            _ if size > most => Err(Refused::TooLarge { size, most }),
            kept if size > most - kept.min(most) => Err(Refused::Full { most }),
            _ => Ok(()),
        }
    }

    fn take(&self, bytes: u64) -> Result<(), Refused> {
        let mut state = self.state();
        let most = self.most_bytes;
        let kept = state.kept_bytes.saturating_add(bytes);
        if kept > most {
            return Err(Refused::Full { most });
        }
        state.kept_bytes = kept;
        Ok(())
    }

    /// Writes what is in a file, or nothing: it then has its size, as before.
    pub(crate) fn write(&self, file: &File, held: &Held, size: u64) -> Result<Filled, Refused> {
        let content = Content::new(held.clone());
        let mut tries = TRIES;
        loop {
            tries -= 1;
            let mut bytes = 0;
            let mut first = None;
            let mut is_one = true;
            let mut read = |at| {
                let (bytes, seen) = content.read(at, CHUNK_BYTES)?;
                let first: &mut Seen = first.get_or_insert(seen);
                is_one &= first.version() == seen.version();
                first.is_settled &= seen.is_settled && is_one;
                Ok(bytes)
            };
            let written = self.copy(file, &mut read, &mut bytes);
            let seen = match (written, first) {
                (Ok(()), Some(seen)) if is_one || tries == 0 => seen,
                (written, _) => {
                    // What was written goes, even if its length cannot be set again.
                    let emptied = ftruncate(file.as_fd(), 0);
                    let _ = ftruncate(file.as_fd(), size);
                    if emptied.is_ok() {
                        self.give_back(bytes);
                    }
                    written?;
                    continue;
                }
            };
            let held = held.clone();
            return Ok(Filled { held, seen, bytes });
        }
    }

    /// Writes what is in a file now over what was in it.
    pub(crate) fn write_over(
        &self,
        path: &[u8],
        file: &File,
        now: Gathered,
    ) -> Result<Filled, Refused> {
        self.use_again(path);
        let mut bytes = 0;
        let mut chunks = now.chunks.into_iter();
        let mut read = |_| Ok(chunks.next().unwrap_or_default());
        let written = self.copy(file, &mut read, &mut bytes);
        if let Err(refused) = written {
            self.give_back(bytes);
            // Of neither version: the next call fills it from the beginning.
            self.state().remove(path);
            return Err(refused);
        }
        let Gathered { held, seen, .. } = now;
        Ok(Filled { held, seen, bytes })
    }

    /// What is in a file now is what was in it.
    pub(crate) fn keep(&self, path: &[u8], now: Gathered) -> Filled {
        let mut state = self.state();
        // Counted once, with the one or the other.
        let counted = state.filled.get_mut(path);
        let bytes = counted.map_or(0, |counted| std::mem::take(&mut counted.bytes));
        let Gathered { held, seen, .. } = now;
        Filled { held, seen, bytes }
    }

    /// The memory that a file takes is counted anew.
    fn use_again(&self, path: &[u8]) {
        let mut state = self.state();
        let before = state.filled.get_mut(path);
        let bytes = before.map_or(0, |before| std::mem::take(&mut before.bytes));
        state.kept_bytes = state.kept_bytes.saturating_sub(bytes);
    }

    fn give_back(&self, bytes: u64) {
        let mut state = self.state();
        state.kept_bytes = state.kept_bytes.saturating_sub(bytes);
    }

    fn copy(
        &self,
        file: &File,
        read: &mut dyn FnMut(u64) -> Result<Vec<u8>, Errno>,
        taken_bytes: &mut u64,
    ) -> Result<(), Refused> {
        let failed = |errno: rustix::io::Errno| Refused::Failed(Errno(errno.raw_os_error()));
        let mut at = 0;
        loop {
            let bytes = read(at)?;
            if bytes.is_empty() {
                return ftruncate(file.as_fd(), at).map_err(failed);
            }
            let length = bytes.len() as u64;
            // A hole stays one, or becomes one.
            if bytes.iter().any(|byte| *byte != 0) {
                let pages_bytes = length.next_multiple_of(PAGE_BYTES);
                self.take(pages_bytes)?;
                *taken_bytes += pages_bytes;
                let written = file.write_all_at(&bytes, at);
                written.map_err(|error| Errno(error.raw_os_error().unwrap_or(Errno::IO.0)))?;
            } else {
                let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                fallocate(file.as_fd(), hole, at, length).map_err(failed)?;
            }
            at += length;
        }
    }
}

/// All that is in a file, of one version, unless it changes all the time.
pub(crate) struct Gathered {
    held: Held,
    pub(crate) seen: Seen,
    chunks: Vec<Vec<u8>>,
}

impl Gathered {
    /// What the server has.
    pub(crate) fn of(held: &Held) -> Result<Gathered, Errno> {
        let content = Content::new(held.clone());
        let mut tries = TRIES;
        loop {
            tries -= 1;
            let (mut chunks, mut at, mut is_one) = (Vec::new(), 0, true);
            let (mut bytes, mut all) = content.read(at, CHUNK_BYTES)?;
            while !bytes.is_empty() {
                at += bytes.len() as u64;
                chunks.push(bytes);
                let (next, seen) = content.read(at, CHUNK_BYTES)?;
                is_one &= all.version() == seen.version();
                all.is_settled &= seen.is_settled && is_one;
                bytes = next;
            }
            if is_one || tries == 0 {
                let (held, seen) = (held.clone(), all);
                return Ok(Gathered { held, seen, chunks });
            }
        }
    }

    /// Whether a file has just that in it.
    pub(crate) fn is_in(&self, file: &File) -> bool {
        let length: u64 = self.chunks.iter().map(|chunk| chunk.len() as u64).sum();
        if !file.metadata().is_ok_and(|found| found.len() == length) {
            return false;
        }
        let (mut at, mut found) = (0, Vec::new());
        self.chunks.iter().all(|chunk| {
            found.resize(chunk.len(), 0);
            let is_same = file.read_exact_at(&mut found, at).is_ok() && found == *chunk;
            at += chunk.len() as u64;
            is_same
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_was_agreed_on() {
        let contents = Contents::new(3 * PAGE_BYTES);
        let most = 3 * PAGE_BYTES;
        assert_eq!(contents.room_for(most, None), Ok(()));
        let size = most + 1;
        assert_eq!(
            contents.room_for(size, None),
            Err(Refused::TooLarge { size, most })
        );
        assert_eq!(contents.take(2 * PAGE_BYTES), Ok(()));
        assert_eq!(contents.room_for(PAGE_BYTES, None), Ok(()));
        assert_eq!(contents.room_for(most, None), Err(Refused::Full { most }));
        assert_eq!(contents.take(2 * PAGE_BYTES), Err(Refused::Full { most }));
        assert_eq!(contents.take(PAGE_BYTES), Ok(()));
        assert_eq!(contents.take(u64::MAX), Err(Refused::Full { most }));
    }

    #[test]
    fn one_call_fills_a_file_and_the_others_wait() {
        let contents = Contents::new(PAGE_BYTES);
        assert!(contents.begin(b"a").is_none() && contents.begin(b"b").is_none());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| contents.begin(b"a").is_none());
            assert!(contents.end(b"a", None));
            assert!(waiting.join().expect("no panic"));
        });
        assert!(contents.end(b"b", None));
        assert!(contents.begin(b"b").is_none());
    }

    #[test]
    fn who_fills_what_was_taken_away_is_told() {
        let contents = Contents::new(PAGE_BYTES);
        contents.begin(b"a");
        assert!(contents.is_there(b"a") && contents.is_used(b"a"));
        contents.forget(b"a");
        assert!(!contents.is_there(b"a") && !contents.end(b"a", None));
        assert!(!contents.is_used(b"a"));
        contents.begin(b"a");
        assert!(contents.is_there(b"a") && contents.end(b"a", None));
    }
}
