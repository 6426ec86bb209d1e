//! What is in files, put in memory when they are opened, and how much of it there may be.
//!
//! Invariants: a file has all that is in it, or opening it fails; no more is kept than was agreed
//! on, whatever a server says how large files are; two calls never fill one file.

use std::collections::HashSet;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rustix::fs::ftruncate;
use trawl_mount::Tree;
use trawl_mount::tree::Content;
use trawl_sys::Errno;

/// What is read at once.
const CHUNK_BYTES: usize = 1 << 20;
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
    filled: HashSet<Vec<u8>>,
    filling: HashSet<Vec<u8>>,
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

    /// Whether the caller is to fill a file, and then say that it has ended; false if it is
    /// filled. Waits for whoever fills it now.
    pub(crate) fn begin(&self, path: &[u8]) -> bool {
        let mut state = self.state();
        while state.filling.contains(path) {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        let is_new = !state.filled.contains(path);
        if is_new {
            state.filling.insert(path.to_vec());
        }
        is_new
    }

    /// See [`Contents::begin`].
    pub(crate) fn end(&self, path: &[u8], is_filled: bool) {
        let mut state = self.state();
        state.filling.remove(path);
        if is_filled {
            state.filled.insert(path.to_vec());
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Whether so much could be kept now: nothing is read in vain.
    pub(crate) fn room_for(&self, size: u64) -> Result<(), Refused> {
        let most = self.most_bytes;
        match self.state().kept_bytes {
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
    pub(crate) fn write(&self, file: &File, content: &Content, size: u64) -> Result<(), Refused> {
        let mut taken_bytes = 0;
        let written = self.copy(file, content, &mut taken_bytes);
        if written.is_err() {
            // What was written goes, even if its length cannot be set again.
            let emptied = ftruncate(file.as_fd(), 0);
            let _ = ftruncate(file.as_fd(), size);
            if emptied.is_ok() {
                self.state().kept_bytes -= taken_bytes;
            }
        }
        written
    }

    fn copy(&self, file: &File, content: &Content, taken_bytes: &mut u64) -> Result<(), Refused> {
        let mut at = 0;
        loop {
            let bytes = content.read(at, CHUNK_BYTES)?;
            if bytes.is_empty() {
                let cut = ftruncate(file.as_fd(), at);
                return cut.map_err(|errno| Errno(errno.raw_os_error()).into());
            }
            // A hole stays one.
            if bytes.iter().any(|byte| *byte != 0) {
                let pages_bytes = (bytes.len() as u64).next_multiple_of(PAGE_BYTES);
                self.take(pages_bytes)?;
                *taken_bytes += pages_bytes;
                let written = file.write_all_at(&bytes, at);
                written.map_err(|error| Errno(error.raw_os_error().unwrap_or(Errno::IO.0)))?;
            }
            at += bytes.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_was_agreed_on() {
        let contents = Contents::new(3 * PAGE_BYTES);
        let most = 3 * PAGE_BYTES;
        assert_eq!(contents.room_for(most), Ok(()));
        let size = most + 1;
        assert_eq!(
            contents.room_for(size),
            Err(Refused::TooLarge { size, most })
        );
        assert_eq!(contents.take(2 * PAGE_BYTES), Ok(()));
        assert_eq!(contents.room_for(PAGE_BYTES), Ok(()));
        assert_eq!(contents.room_for(most), Err(Refused::Full { most }));
        assert_eq!(contents.take(2 * PAGE_BYTES), Err(Refused::Full { most }));
        assert_eq!(contents.take(PAGE_BYTES), Ok(()));
        assert_eq!(contents.take(u64::MAX), Err(Refused::Full { most }));
    }

    #[test]
    fn one_call_fills_a_file_and_the_next_one_tries_again_if_it_could_not() {
        let contents = Contents::new(PAGE_BYTES);
        assert!(contents.begin(b"a") && contents.begin(b"b"));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| contents.begin(b"a"));
            contents.end(b"a", true);
            assert!(!waiting.join().expect("no panic"));
        });
        contents.end(b"b", false);
        assert!(contents.begin(b"b") && !contents.begin(b"a"));
    }
}
