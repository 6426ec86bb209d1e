//! The contents of files, copied into memory when they are opened, and the limit on them.
//!
//! A file that has changed on the server is rewritten in place, so that programs that have it open
//! see the change.
//!
//! Invariants: a file has its complete contents, of one version, or opening it fails; the old
//! contents stay until the new ones have arrived completely; the limit on kept bytes holds,
//! whatever sizes a server reports; two calls never fill the same file at once; records describe
//! the file that is at the path: a call that fills a file that is removed meanwhile records
//! nothing.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::{Condvar, Mutex, MutexGuard};

use rustix::fs::{FallocateFlags, fallocate, ftruncate};
use trawl_model::sync::{lock, wait};
use trawl_mount::Tree;
use trawl_mount::tree::{Content, FileAnswer, OpenFile};
use trawl_sys::Errno;

/// Number of bytes read at once.
const CHUNK_BYTES: usize = 1 << 20;
/// Number of attempts to copy a file that changes while it is copied.
const TRIES: usize = 3;
/// Minimum unit of memory in bytes.
const PAGE_BYTES: u64 = 4096;

/// Contents of the files of one tree.
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
    /// Files that calls are filling now.
    filling: HashMap<Vec<u8>, FileAtPath>,
}

/// Which file is at the path of a file that is being filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileAtPath {
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

    /// Marks the file that is being filled as no longer being at the path.
    fn overtake(&mut self, path: &[u8]) {
        if let Some(place) = self.filling.get_mut(path) {
            *place = FileAtPath::Other;
        }
    }
}

/// The contents of a file in memory.
#[derive(Clone, Debug)]
pub(crate) struct Filled {
    pub(crate) held: OpenFile,
    /// The version of the contents.
    pub(crate) seen: FileAnswer,
    bytes: u64,
}

/// Why a file cannot be filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The server or the kernel reports an error.
    Failed(Errno),
    /// The file is larger than the limit on kept bytes.
    TooLarge { size: u64, most: u64 },
    /// There is no room left for it.
    Full { most: u64 },
    /// Its name leads to another file by now, or to none.
    Elsewhere,
    /// The file is being executed.
    Busy,
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Refused {
        Refused::Failed(errno)
    }
}

impl Refused {
    /// Tells the user why, unless another place does; returns the errno for the call.
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
        lock(&self.state)
    }

    /// Returns how many bytes may be kept.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.most_bytes
    }

    /// Returns the contents of a file, if it has been filled. The caller must then fill it, or find
    /// that this is not necessary, and call [`Contents::end`]. Waits for another call that fills
    /// the file.
    pub(crate) fn begin(&self, path: &[u8]) -> Option<Filled> {
        let mut state = self.state();
        while state.filling.contains_key(path) {
            state = wait(&self.changed, state);
        }
        state.filling.insert(path.to_vec(), FileAtPath::Same);
        state.filled.get(path).cloned()
    }

    /// Ends what [`Contents::begin`] began. Records new contents, if there are any. Returns false,
    /// and records nothing, if the file was removed or replaced meanwhile.
    pub(crate) fn end(&self, path: &[u8], filled: Option<Filled>) -> bool {
        let mut state = self.state();
        let is_there = state.filling.remove(path) == Some(FileAtPath::Same);
        match filled {
            Some(filled) if is_there => state.insert(path, filled),
            Some(filled) => state.kept_bytes = state.kept_bytes.saturating_sub(filled.bytes),
            None => {}
        }
        drop(state);
        self.changed.notify_all();
        is_there
    }

    /// Returns whether the file that is being filled is still at the path.
    pub(crate) fn is_there(&self, path: &[u8]) -> bool {
        self.state().filling.get(path) == Some(&FileAtPath::Same)
    }

    /// Returns the contents of a file, if it has been filled.
    pub(crate) fn filled(&self, path: &[u8]) -> Option<Filled> {
        self.state().filled.get(path).cloned()
    }

    /// Returns whether a file has been filled, or is being filled.
    pub(crate) fn is_used(&self, path: &[u8]) -> bool {
        let state = self.state();
        state.filled.contains_key(path) || state.filling.contains_key(path)
    }

    /// Removes a path and its contents. A program that has the file open keeps them, but they no
    /// longer count.
    pub(crate) fn forget(&self, path: &[u8]) {
        let mut state = self.state();
        state.remove(path);
        state.overtake(path);
    }

    /// Records a new file that was put at the path with complete contents.
    pub(crate) fn put(&self, path: &[u8], filled: Filled) {
        let mut state = self.state();
        state.insert(path, filled);
        state.overtake(path);
    }

    /// Checks that a file of this size could be kept in place of the old contents, before anything
    /// is read.
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

    /// Writes the contents of a file. On failure the file has its size but no contents, as
    /// before.
    pub(crate) fn write(&self, file: &File, held: &OpenFile, size: u64) -> Result<Filled, Refused> {
        let content = Content::new(held.clone());
        let mut tries = TRIES;
        loop {
            tries -= 1;
            let mut bytes = 0;
            let mut first = None;
            let mut is_one = true;
            let mut read = |at| {
                let (bytes, seen) = content.read(at, CHUNK_BYTES)?;
                let first: &mut FileAnswer = first.get_or_insert(seen);
                is_one &= first.version() == seen.version();
                first.is_settled &= seen.is_settled && is_one;
                Ok(bytes)
            };
            let written = self.copy(file, &mut read, &mut bytes);
            let seen = match (written, first) {
                (Ok(()), Some(seen)) if is_one || tries == 0 => seen,
                (written, _) => {
                    // Removes the written bytes, even if the length cannot be set again.
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

    /// Writes new contents over the old ones.
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
            // A mixture of two versions: the next call fills the file from the start.
            self.state().remove(path);
            return Err(refused);
        }
        let Gathered { held, seen, .. } = now;
        Ok(Filled { held, seen, bytes })
    }

    /// Records that the file's contents have not changed.
    pub(crate) fn keep(&self, path: &[u8], now: Gathered) -> Filled {
        let mut state = self.state();
        // Moves the count of bytes, so that they are counted once.
        let counted = state.filled.get_mut(path);
        let bytes = counted.map_or(0, |counted| std::mem::take(&mut counted.bytes));
        let Gathered { held, seen, .. } = now;
        Filled { held, seen, bytes }
    }

    /// Stops counting the memory of a file that is about to be rewritten.
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
            // Holes stay holes, and zeros become holes.
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

/// The complete contents of a file, of one version unless it changes all the time.
pub(crate) struct Gathered {
    held: OpenFile,
    pub(crate) seen: FileAnswer,
    chunks: Vec<Vec<u8>>,
}

impl Gathered {
    /// Reads them from the server: at most what may be kept, whatever size the server reported
    /// before.
    pub(crate) fn of(held: &OpenFile, most_bytes: u64) -> Result<Gathered, Refused> {
        let content = Content::new(held.clone());
        let mut tries = TRIES;
        loop {
            tries -= 1;
            let (mut chunks, mut at, mut is_one) = (Vec::new(), 0, true);
            let (mut bytes, mut all) = content.read(at, CHUNK_BYTES)?;
            while !bytes.is_empty() {
                at += bytes.len() as u64;
                if at > most_bytes {
                    let (size, most) = (at, most_bytes);
                    return Err(Refused::TooLarge { size, most });
                }
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

    /// Returns whether a file has exactly these contents.
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
