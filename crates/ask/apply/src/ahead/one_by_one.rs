//! Files that commands will be run on, one after the other, as by find's `-exec … ;`.
//!
//! Nothing is fetched until one of the commands was seen to read: its file, or a part of it, came
//! into the kernel's cache while it ran. Where the kernel does not tell this user what is cached, a
//! command that read from a device is seen to read, but not the first one, for which the kernel may
//! have read the program. So commands that read nothing cost two looks at their file
//! at most, and those whose files are all in memory the same; after some, only one file in sixteen is
//! looked at.

use std::ffi::CString;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use trawl_sys::ahead::cached_bytes;
use trawl_sys::command::children_read_blocks;
use trawl_sys::confined::open_file_anywhere;
use trawl_sys::stat::stat_fd;

use super::arguments::may_read;
use super::gate::{Bounds, CACHED_NAMES, Follows, Gate, SAMPLE_NAMES};

/// Files of which fewer are left are not worth a thread.
const LEAST_FILES: usize = 8;
/// What the kernel reads of a file at once when a program begins to read it.
const PART_BYTES: u64 = 128 << 10;

/// Whether the commands read their files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    /// None was seen to read.
    Unknown,
    /// They read: up to this many bytes of each file are fetched.
    Reads(u64),
}

/// A file as it was before its command ran.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// Number of bytes looked at.
    length_bytes: u64,
    /// `None` if the kernel does not tell.
    cached_bytes: Option<u64>,
    /// Blocks that the commands so far have read from devices.
    read_blocks: u64,
}

/// Fetches files ahead of commands that are run on one after the other.
#[derive(Debug)]
pub struct OneByOne {
    habit: Habit,
    files: Vec<Vec<u8>>,
    before: Option<Look>,
    /// Number of commands in a row that taught nothing.
    untaught: usize,
    /// The fetching that goes on: how many of its files had their turn, and whether it is to end.
    fetching: Option<Fetching>,
}

#[derive(Debug)]
struct Fetching {
    /// Position of its first file.
    first: usize,
    begun: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl Default for OneByOne {
    fn default() -> OneByOne {
        OneByOne {
            habit: Habit::Unknown,
            files: Vec::new(),
            before: None,
            untaught: 0,
            fetching: None,
        }
    }
}

impl Drop for OneByOne {
    fn drop(&mut self) {
        self.end();
    }
}

impl OneByOne {
    /// Returns whether a program may read the files that it is given.
    pub fn may_read(program: &[u8]) -> bool {
        may_read(program)
    }

    /// Takes the files that come, which replace earlier ones.
    pub fn coming(&mut self, files: Vec<Vec<u8>>) {
        self.end();
        self.files = files;
        if let Habit::Reads(file_bytes) = self.habit {
            self.begin(0, file_bytes);
        }
    }

    /// Notes that the command on this file runs next.
    pub fn before(&mut self, position: usize) {
        if let Some(fetching) = &self.fetching {
            let begun = (position + 1).saturating_sub(fetching.first);
            fetching.begun.store(begun, Ordering::Relaxed);
            return;
        }
        let is_sample = self.untaught < CACHED_NAMES || position.is_multiple_of(SAMPLE_NAMES);
        if self.habit != Habit::Unknown || !is_sample {
            return;
        }
        self.before = self.look(position);
        if self.before.is_none_or(|look| look.is_whole()) {
            (self.before, self.untaught) = (None, self.untaught + 1);
        }
    }

    /// Notes that the command on this file has ended.
    pub fn after(&mut self, position: usize) {
        let Some(before) = self.before.take() else {
            return;
        };
        let has_read = |now: &Look| before.shows_reading(now, position);
        let Some(look) = self.look(position).filter(has_read) else {
            self.untaught += 1;
            return;
        };
        let file_bytes = match look.cached_bytes {
            Some(bytes) if bytes < look.length_bytes => bytes.max(PART_BYTES),
            _ => Bounds::default().file_bytes,
        };
        self.habit = Habit::Reads(file_bytes);
        self.begin(position + 1, file_bytes);
    }

    fn look(&self, position: usize) -> Option<Look> {
        let path = CString::new(self.files.get(position)?.as_slice()).ok()?;
        let file = open_file_anywhere(&path).ok()?;
        let size = stat_fd(file.as_fd()).ok()?.size;
        let length_bytes = size.min(Bounds::default().file_bytes);
        Some(Look {
            length_bytes,
            cached_bytes: cached_bytes(file.as_fd(), length_bytes),
            read_blocks: children_read_blocks(),
        })
    }

    /// Begins to fetch the files from this position on.
    fn begin(&mut self, first: usize, file_bytes: u64) {
        let names = self.files.get(first..).unwrap_or_default().to_vec();
        if names.len() < LEAST_FILES {
            return;
        }
        let fetching = Fetching {
            first,
            begun: Arc::default(),
            is_over: Arc::default(),
        };
        let bounds = Bounds {
            file_bytes,
            first: Bounds::default().then,
            ..Bounds::default()
        };
        let follows = Follows::Turns(Arc::clone(&fetching.begun));
        let is_over = Arc::clone(&fetching.is_over);
        let gate = Gate::new(follows, &names, bounds);
        let thread = std::thread::Builder::new().name("fetch-ahead".into());
        if thread
            .spawn(move || super::fetch(gate, names, &is_over))
            .is_ok()
        {
            self.fetching = Some(fetching);
        }
    }

    fn end(&mut self) {
        if let Some(fetching) = self.fetching.take() {
            fetching.is_over.store(true, Ordering::Relaxed);
        }
    }
}

impl Look {
    fn is_whole(&self) -> bool {
        let length = self.length_bytes;
        length == 0 || self.cached_bytes.is_some_and(|bytes| bytes >= length)
    }

    /// Returns whether the command on the file at this position has read, as things are `now`.
    fn shows_reading(&self, now: &Look, position: usize) -> bool {
        match (self.cached_bytes, now.cached_bytes) {
            (Some(before), Some(after)) => after > before,
            _ => position > 0 && now.read_blocks > self.read_blocks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_memory_teaches_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let names: Vec<Vec<u8>> = (0..40)
            .map(|at| {
                let path = dir.path().join(format!("f{at}"));
                std::fs::write(&path, "words").unwrap();
                path.into_os_string().into_encoded_bytes()
            })
            .collect();
        let mut ahead = OneByOne::default();
        ahead.coming(names);
        for position in 0..40 {
            ahead.before(position);
            ahead.after(position);
        }
        assert_eq!(ahead.habit, Habit::Unknown);
        assert!(ahead.fetching.is_none());
        // The first 32, then one in sixteen: the 33rd.
        assert_eq!(ahead.untaught, CACHED_NAMES + 1);
    }
}
