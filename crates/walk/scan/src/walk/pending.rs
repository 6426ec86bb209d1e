//! Names of directories still to be read, and the file for them if there are too many.
//!
//! The names of one directory's subdirectories form a [`Pending`] list of segments, from which
//! names are taken at the front. A segment is in memory or in the [`Overflow`] file. All lists
//! share one memory budget.

use std::collections::VecDeque;
use std::ffi::CString;
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use trawl_model::sync::lock;

/// Storage for names beyond the memory budget: one unnamed file for the whole walk, created when it
/// is first needed. Its space is reused when no segment is left in it.
#[derive(Debug)]
pub(crate) struct Overflow {
    directory: PathBuf,
    budget_bytes: usize,
    memory_bytes: AtomicUsize,
    file: Mutex<OverflowFile>,
}

#[derive(Debug, Default)]
struct OverflowFile {
    /// `None` until it is needed; `Some(None)` if it could not be created.
    file: Option<Option<File>>,
    end: u64,
    segments: usize,
}

impl Overflow {
    pub(crate) fn new(directory: PathBuf, budget_bytes: usize) -> Arc<Overflow> {
        Arc::new(Overflow {
            directory,
            budget_bytes,
            memory_bytes: AtomicUsize::new(0),
            file: Mutex::default(),
        })
    }

    /// Returns true if the lists in memory exceed the budget.
    pub(crate) fn is_over_budget(&self) -> bool {
        self.memory_bytes.load(Ordering::Relaxed) > self.budget_bytes
    }

    /// Writes `bytes` to the file and returns their offset; `None` if that fails, and they stay in
    /// memory.
    fn write(&self, bytes: &[u8]) -> Option<u64> {
        let mut inner = lock(&self.file);
        let start = inner.end;
        let file = inner
            .file
            .get_or_insert_with(|| temporary(&self.directory))
            .as_ref()?;
        file.write_all_at(bytes, start).ok()?;
        inner.end += bytes.len() as u64;
        inner.segments += 1;
        Some(start)
    }

    /// Reads a segment back. An error means that the file system lost data that it had accepted.
    fn read(&self, start: u64, length: usize) -> std::io::Result<Vec<u8>> {
        let mut inner = lock(&self.file);
        let mut bytes = vec![0; length];
        let got = match &inner.file {
            Some(Some(file)) => file.read_exact_at(&mut bytes, start),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        };
        inner.release_segment();
        got.map(|()| bytes)
    }
}

impl OverflowFile {
    fn release_segment(&mut self) {
        self.segments = self.segments.saturating_sub(1);
        if self.segments == 0 {
            self.end = 0;
        }
    }
}

/// Creates an unnamed file; if the file system does not support that, a file whose name is removed.
fn temporary(directory: &Path) -> Option<File> {
    trawl_sys::file::unnamed_temporary(directory)
        .ok()
        .or_else(|| unlinked_temporary(directory))
}

/// Creates a file that only its owner may open, and removes its name. Other users can occupy a name
/// in a shared directory, so several are tried.
fn unlinked_temporary(directory: &Path) -> Option<File> {
    const NAMES: u32 = 100;
    let mut options = File::options();
    options.read(true).write(true).create_new(true).mode(0o600);
    (0..NAMES).find_map(|number| {
        let path = directory.join(format!("trawl-scan-{}-{number}", std::process::id()));
        let file = options.open(&path).ok()?;
        std::fs::remove_file(&path).ok()?;
        Some(file)
    })
}

#[derive(Debug)]
enum Place {
    Memory { bytes: Vec<u8>, next: usize },
    File { start: u64, length: usize },
}

/// Some names, each terminated by a NUL.
#[derive(Debug)]
struct Segment {
    place: Place,
    names: usize,
}

impl Segment {
    fn memory_bytes(&self) -> usize {
        match &self.place {
            Place::Memory { bytes, .. } => bytes.capacity(),
            Place::File { .. } => 0,
        }
    }
}

/// The subdirectories of one directory that are still to be read, in reading order.
#[derive(Debug)]
pub(crate) struct Pending {
    segments: VecDeque<Segment>,
    overflow: Arc<Overflow>,
}

/// A name from a list, or a loss of names.
#[derive(Debug)]
pub(crate) enum Taken {
    /// The next sub-directory.
    Name(CString),
    /// This number of names cannot be read back from the temporary file.
    Lost(usize, std::io::Error),
}

impl Pending {
    pub(crate) fn new(overflow: Arc<Overflow>) -> Pending {
        Pending {
            segments: VecDeque::new(),
            overflow,
        }
    }

    /// Returns the number of names left.
    pub(crate) fn len(&self) -> usize {
        self.segments.iter().map(|s| s.names).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Appends `count` names, each terminated by a NUL.
    pub(crate) fn push(&mut self, bytes: Vec<u8>, count: usize) {
        if count > 0 {
            self.push_segment(Segment {
                place: Place::Memory { bytes, next: 0 },
                names: count,
            });
        }
    }

    fn push_segment(&mut self, segment: Segment) {
        self.overflow
            .memory_bytes
            .fetch_add(segment.memory_bytes(), Ordering::Relaxed);
        self.segments.push_back(segment);
    }

    fn pop_segment(&mut self) -> Option<Segment> {
        let segment = self.segments.pop_front()?;
        self.overflow
            .memory_bytes
            .fetch_sub(segment.memory_bytes(), Ordering::Relaxed);
        Some(segment)
    }

    /// Takes the first name.
    pub(crate) fn take(&mut self) -> Option<Taken> {
        if let Some(Segment {
            place: Place::File { .. },
            ..
        }) = self.segments.front()
            && let Err(lost) = self.load_front()
        {
            return Some(lost);
        }
        let segment = self.segments.front_mut()?;
        let Place::Memory { bytes, next } = &mut segment.place else {
            return None;
        };
        let rest = bytes.get(*next..).unwrap_or_default();
        let end = memchr::memchr(0, rest).unwrap_or(rest.len());
        let name = CString::new(rest.get(..end).unwrap_or_default()).unwrap_or_default();
        *next += end + 1;
        segment.names -= 1;
        if segment.names == 0 {
            self.pop_segment();
        }
        Some(Taken::Name(name))
    }

    /// Reads the first segment back into memory.
    fn load_front(&mut self) -> Result<(), Taken> {
        let Some(segment) = self.segments.pop_front() else {
            return Ok(());
        };
        let Segment {
            place: Place::File { start, length },
            names,
        } = segment
        else {
            return Ok(());
        };
        let bytes = self
            .overflow
            .read(start, length)
            .map_err(|e| Taken::Lost(names, e))?;
        let segment = Segment {
            place: Place::Memory { bytes, next: 0 },
            names,
        };
        self.overflow
            .memory_bytes
            .fetch_add(segment.memory_bytes(), Ordering::Relaxed);
        self.segments.push_front(segment);
        Ok(())
    }

    /// Moves all segments in memory to the file.
    pub(crate) fn spill(&mut self) {
        for segment in &mut self.segments {
            let Place::Memory { bytes, next } = &segment.place else {
                continue;
            };
            let rest = bytes.get(*next..).unwrap_or_default();
            let Some(start) = self.overflow.write(rest) else {
                return;
            };
            let freed = segment.memory_bytes();
            segment.place = Place::File {
                start,
                length: rest_len(&segment.place),
            };
            self.overflow
                .memory_bytes
                .fetch_sub(freed, Ordering::Relaxed);
        }
    }

    /// Splits off about half of the names, from the end; `None` if there are fewer than two.
    pub(crate) fn split(&mut self) -> Option<Pending> {
        let mut other = Pending::new(Arc::clone(&self.overflow));
        if self.segments.len() > 1 {
            // The counters stay correct, because the segments only change their owner.
            other.segments = self.segments.split_off(self.segments.len() / 2);
            return Some(other);
        }
        let segment = self.segments.front_mut()?;
        let Place::Memory { bytes, next } = &mut segment.place else {
            return None;
        };
        if segment.names < 2 {
            return None;
        }
        let keep = segment.names / 2;
        let rest = bytes.get(*next..).unwrap_or_default();
        let cut = memchr::memchr_iter(0, rest)
            .nth(keep - 1)
            .map(|at| *next + at + 1)?;
        let theirs = bytes.get(cut..).unwrap_or_default().to_vec();
        let count = segment.names - keep;
        bytes.truncate(cut);
        segment.names = keep;
        other.push(theirs, count);
        Some(other)
    }
}

fn rest_len(place: &Place) -> usize {
    match place {
        Place::Memory { bytes, next } => bytes.len().saturating_sub(*next),
        Place::File { length, .. } => *length,
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        while self.pop_segment().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(budget_bytes: usize) -> Pending {
        Pending::new(Overflow::new(std::env::temp_dir(), budget_bytes))
    }

    fn names(pending: &mut Pending) -> Vec<String> {
        let mut names = Vec::new();
        while let Some(taken) = pending.take() {
            match taken {
                Taken::Name(name) => names.push(name.into_string().unwrap()),
                Taken::Lost(count, e) => panic!("{count} lost: {e}"),
            }
        }
        names
    }

    /// The names of directories that other users may not list are in it.
    #[test]
    fn a_named_temporary_file_is_private_and_loses_its_name() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};

        let scratch = trawl_testkit::Scratch::new("pending");
        // An ordinary user of a shared directory takes the first name.
        let taken = scratch.join(format!("trawl-scan-{}-0", std::process::id()));
        std::fs::write(&taken, "").unwrap();
        let file = unlinked_temporary(scratch.path()).unwrap();
        let found = file.metadata().unwrap();
        assert_eq!(
            (found.permissions().mode() & 0o777, found.nlink()),
            (0o600, 0)
        );
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_spilled_comes_back_in_order() {
        let mut list = pending(16);
        list.push(b"a\0bb\0ccc\0".to_vec(), 3);
        assert!(matches!(list.take(), Some(Taken::Name(n)) if n.as_c_str() == c"a"));
        list.push(b"dd\0this one is longer\0".to_vec(), 2);
        assert!(list.overflow.is_over_budget());
        list.spill();
        assert!(!list.overflow.is_over_budget());
        assert_eq!(list.len(), 4);
        let overflow = Arc::clone(&list.overflow);
        assert_eq!(names(&mut list), ["bb", "ccc", "dd", "this one is longer"]);
        assert_eq!(overflow.memory_bytes.load(Ordering::Relaxed), 0);
        assert_eq!(overflow.file.lock().unwrap().end, 0, "space is used again");
    }

    #[test]
    fn halves_hold_everything_once() {
        for count in 0..9 {
            let mut list = pending(1 << 20);
            let all: Vec<_> = (0..count).map(|i| format!("n{i}")).collect();
            let bytes = all
                .iter()
                .flat_map(|n| [n.as_bytes(), b"\0"].concat())
                .collect();
            list.push(bytes, count);
            let other = list.split();
            assert_eq!(other.is_some(), count >= 2);
            let mut got = names(&mut list);
            got.extend(other.map(|mut o| names(&mut o)).unwrap_or_default());
            assert_eq!(got, all);
        }
    }
}
