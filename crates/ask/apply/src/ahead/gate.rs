//! How far ahead of a program its files are fetched, and how one is.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use trawl_call::request::Cancel;
use trawl_sets::member::Op;
use trawl_sets::opener::Fetched;
use trawl_sets::{Found, Local, Names, Opener, PlaceId, Problem};
use trawl_sys::SysError;
use trawl_sys::ahead::{is_cached, will_need};
use trawl_sys::confined::open_file_anywhere;
use trawl_sys::stat::stat_fd;

use super::process::Process;

/// How long to wait between two looks at a program that goes on, and at one that stands still.
const WAITS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];

/// After how many names to look at the program, although there is room: files that it has passed
/// need not be fetched, and where all are in memory it is faster than fetching.
const LOOK_NAMES: usize = 32;

/// Once this many files in a row were in memory, only the last of each [`SAMPLE_NAMES`] is looked at; if
/// it is in memory, all of them are left out. Opening a file costs as much as reading it from memory.
pub(super) const CACHED_NAMES: usize = 32;
/// See [`CACHED_NAMES`].
pub(super) const SAMPLE_NAMES: usize = 16;

/// Limits of what is fetched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Maximum number of bytes of one file.
    pub(crate) file_bytes: u64,
    /// Maximum number of files and bytes before the program was seen to open one: it may not read
    /// its arguments at all.
    pub(crate) first: Window,
    /// Maximum number of files and bytes behind the last file that the program was seen to open.
    pub(crate) then: Window,
}

/// A number of files and bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            file_bytes: 1 << 20,
            first: Window {
                files: 64,
                bytes: 4 << 20,
            },
            then: Window {
                files: 512,
                bytes: 32 << 20,
            },
        }
    }
}

/// How far the program and its files are.
#[derive(Debug, Default)]
struct Progress {
    /// Number of names given out to be fetched.
    given: usize,
    /// Number of names that the program has come to, the last one included.
    passed: usize,
    /// Bytes that were fetched, by position.
    bytes: Vec<u64>,
    /// Bytes that were fetched at positions that the program has not come to.
    ahead_bytes: u64,
    /// Number of files in a row that were in memory already.
    cached: usize,
    /// Positions of fetched files by device and inode number.
    positions: HashMap<(u64, u64), usize>,
}

impl Progress {
    fn has_room(&self, bounds: &Bounds) -> bool {
        let window = match self.passed {
            0 => bounds.first,
            _ => bounds.then,
        };
        self.given < self.passed.saturating_add(window.files) && self.ahead_bytes < window.bytes
    }

    /// Returns whether so many files in a row were in memory that the next ones probably are, too.
    fn is_among_cached(&self) -> bool {
        self.cached >= CACHED_NAMES
    }

    fn looked_at(&mut self, was_cached: bool) {
        self.cached = if was_cached { self.cached + 1 } else { 0 };
    }

    fn fetched(&mut self, position: usize, bytes: u64, id: (u64, u64)) {
        self.positions.insert(id, position);
        if let Some(counted) = self.bytes.get_mut(position)
            && position >= self.passed
        {
            *counted = bytes;
            self.ahead_bytes = self.ahead_bytes.saturating_add(bytes);
        }
    }

    /// Notes that the program has come to this position; returns whether it is further than before.
    fn has_come_to(&mut self, position: usize) -> bool {
        let passed = (position + 1).min(self.bytes.len());
        if passed <= self.passed {
            return false;
        }
        let left: u64 = self.bytes[self.passed..passed].iter().sum();
        self.ahead_bytes = self.ahead_bytes.saturating_sub(left);
        self.passed = passed;
        true
    }
}

/// What shows how far the reader of the files has come.
#[derive(Debug)]
pub(crate) enum Follows {
    /// The files that a program has open.
    Process(Process),
    /// How many of the files have had their turn, the one whose turn it is included.
    Turns(Arc<AtomicUsize>),
    /// Nothing: the files that the first window has room for are fetched, and no others.
    Nobody,
}

/// Lets names through as far as the program's progress allows.
#[derive(Debug)]
pub(crate) struct Gate {
    follows: Follows,
    bounds: Bounds,
    positions: HashMap<Vec<u8>, usize>,
    progress: Mutex<Progress>,
}

impl Gate {
    /// Makes one for the files that the program will open in this order.
    pub(crate) fn new(follows: Follows, names: &[Vec<u8>], bounds: Bounds) -> Gate {
        let positions = names.iter().cloned().enumerate();
        Gate {
            follows,
            bounds,
            positions: positions.map(|(at, name)| (name, at)).collect(),
            progress: Mutex::new(Progress {
                bytes: vec![0; names.len()],
                ..Progress::default()
            }),
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a file, and looks whether what would be fetched of it is in memory.
    fn look_at(&self, name: &[u8]) -> Result<Looked, SysError> {
        let path = CString::new(name).unwrap_or_default();
        let file = open_file_anywhere(&path)?;
        let of = stat_fd(file.as_fd())?;
        let bytes = of.size.min(self.bounds.file_bytes);
        Ok(Looked {
            was_cached: is_cached(file.as_fd(), bytes) == Some(true),
            file: file.into(),
            bytes,
            id: (of.dev.as_u64(), of.ino),
        })
    }

    /// Looks at how far the program has come; returns whether it is further than before, and `None`
    /// if it has ended.
    fn look(&self) -> Option<bool> {
        let process = match &self.follows {
            Follows::Process(process) => process,
            Follows::Turns(begun) => {
                let last = begun.load(Ordering::Relaxed).checked_sub(1);
                return Some(last.is_some_and(|last| self.progress().has_come_to(last)));
            }
            Follows::Nobody => return self.progress().has_room(&self.bounds).then_some(false),
        };
        let mut is_further = false;
        for file in process.open_files()? {
            let by_path = self.positions.get(&file.path).copied();
            // A path with links or `..` in it is another one in `/proc`.
            let position = by_path.or_else(|| {
                let id = file.id()?;
                self.progress().positions.get(&id).copied()
            });
            if let Some(position) = position {
                is_further |= self.progress().has_come_to(position);
            }
        }
        Some(is_further)
    }
}

/// A file that was looked at.
struct Looked {
    file: File,
    /// Number of bytes to fetch.
    bytes: u64,
    was_cached: bool,
    /// Device and inode number.
    id: (u64, u64),
}

/// The names that pass a gate.
pub(crate) struct Gated {
    gate: Arc<Gate>,
    names: std::vec::IntoIter<Vec<u8>>,
    is_over: Arc<AtomicBool>,
    /// Number of names since the last look.
    unlooked: usize,
}

impl Gated {
    /// Makes a source of these names.
    pub(crate) fn new(gate: Arc<Gate>, names: Vec<Vec<u8>>, is_over: Arc<AtomicBool>) -> Gated {
        Gated {
            gate,
            names: names.into_iter(),
            is_over,
            unlooked: 0,
        }
    }

    /// Leaves out the names that the program has passed; returns false if it has ended.
    fn keep_up(&mut self) -> bool {
        self.unlooked += 1;
        if self.unlooked >= LOOK_NAMES {
            self.unlooked = 0;
            if self.gate.look().is_none() {
                return false;
            }
        }
        let mut progress = self.gate.progress();
        while progress.given < progress.passed && Iterator::next(&mut self.names).is_some() {
            progress.given += 1;
        }
        true
    }

    /// Leaves out the next [`SAMPLE_NAMES`] if the files before them were in memory and the last of them
    /// is. It is looked at here, so that no further names are left out before the result is known.
    fn leave_out(&mut self) -> bool {
        if !self.gate.progress().is_among_cached() {
            return false;
        }
        let Some(sample) = self.names.as_slice().get(SAMPLE_NAMES - 1) else {
            return false;
        };
        let looked = self.gate.look_at(sample);
        let was_cached = looked.is_ok_and(|looked| looked.was_cached);
        let mut progress = self.gate.progress();
        progress.looked_at(was_cached);
        if was_cached {
            self.names.by_ref().take(SAMPLE_NAMES).for_each(drop);
            progress.given += SAMPLE_NAMES;
        }
        was_cached
    }

    /// Waits until there is room for one more; returns false if none is wanted any more.
    fn wait(&self, cancel: &Cancel) -> bool {
        let [least, most] = WAITS;
        let mut pause = least;
        while !self.gate.progress().has_room(&self.gate.bounds) {
            if cancel.is_cancelled() || self.is_over.load(Ordering::Relaxed) {
                return false;
            }
            pause = match self.gate.look() {
                None => return false,
                Some(true) => least,
                Some(false) => {
                    std::thread::sleep(pause);
                    most.min(pause * 2)
                }
            };
        }
        true
    }
}

impl Names for Gated {
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        loop {
            if !self.wait(cancel) || !self.keep_up() {
                return None;
            }
            if !self.leave_out() {
                break;
            }
        }
        let name = Iterator::next(&mut self.names)?;
        self.gate.progress().given += 1;
        Some(Ok(Found::named(name)))
    }
}

/// Opens files and has the kernel read them ahead, without waiting for it and without reading.
pub(crate) struct Files(pub(crate) Arc<Gate>);

impl Files {
    fn begin(&self, found: &Found) -> Result<(File, u64), SysError> {
        let looked = self.0.look_at(&found.name)?;
        let Looked { file, bytes, .. } = looked;
        if bytes > 0 && !looked.was_cached {
            will_need(file.as_fd(), 0, bytes)?;
        }
        self.0.progress().looked_at(looked.was_cached);
        if let Some(position) = self.0.positions.get(&found.name) {
            self.0.progress().fetched(*position, bytes, looked.id);
        }
        Ok((file, bytes))
    }
}

impl Opener for Files {
    fn place(&self, found: &Found) -> Option<PlaceId> {
        Local::default().place(found)
    }

    fn fetch(&self, found: &Found, _: u64) -> Result<Fetched, Problem> {
        let begun = self.begin(found).map_err(|error| Problem {
            name: found.name.clone(),
            op: Op::Open,
            source: error.into(),
        });
        begun.map(|(file, ahead_bytes)| Fetched::of(file, ahead_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_testkit::skip::Skip;

    #[test]
    fn the_window_moves_with_the_program() {
        let bounds = Bounds::default();
        let mut progress = Progress {
            bytes: vec![0; 5000],
            ..Progress::default()
        };
        progress.given = bounds.first.files;
        assert!(!progress.has_room(&bounds));
        assert!(progress.has_come_to(0) && progress.has_room(&bounds));
        for position in 0..40 {
            progress.fetched(position, 1 << 20, (1, position as u64));
        }
        // The program has come to the first: 39 MiB are ahead of it.
        assert_eq!(progress.ahead_bytes, 39 << 20);
        assert!(!progress.has_room(&bounds));
        assert!(progress.has_come_to(7) && !progress.has_come_to(6));
        assert!(!progress.has_room(&bounds));
        assert!(progress.has_come_to(8) && progress.has_room(&bounds));
        progress.given = 9 + bounds.then.files;
        assert!(!progress.has_room(&bounds));
        // Whatever comes late for what the program has passed is no longer ahead.
        progress.fetched(3, 1 << 20, (1, 3));
        assert_eq!(progress.ahead_bytes, 31 << 20);
    }

    #[test]
    fn among_files_in_memory_one_in_sixteen_is_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        // Those of one byte are in memory, as they were just written; an empty one would be, too.
        let in_memory = CACHED_NAMES + 2 * SAMPLE_NAMES;
        let names: Vec<Vec<u8>> = (0..in_memory + 3 * SAMPLE_NAMES)
            .map(|at| {
                let path = dir.path().join(at.to_string());
                if at < in_memory {
                    std::fs::write(&path, "x").unwrap();
                }
                path.into_os_string().into_encoded_bytes()
            })
            .collect();
        let first = File::options().write(true).open(dir.path().join("0"));
        if is_cached(first.unwrap(), 1).is_none() {
            Skip::new("files in memory", "the kernel has no cachestat(2)").say();
            return;
        }
        let gate = Gate::new(
            Follows::Turns(Arc::default()),
            &names,
            Bounds {
                first: Window {
                    files: names.len() + 1,
                    bytes: 1 << 20,
                },
                ..Bounds::default()
            },
        );
        let gate = Arc::new(gate);
        let mut gated = Gated::new(Arc::clone(&gate), names.clone(), Arc::default());
        let mut given = Vec::new();
        while let Some(Ok(found)) = Names::next(&mut gated, &Cancel::default()) {
            // An opener finds the first files in memory.
            if given.len() < CACHED_NAMES {
                gate.progress().looked_at(true);
            }
            given.push(found.name);
        }
        let expected = [&names[..CACHED_NAMES], &names[in_memory..]].concat();
        assert!(given == expected, "{} names", given.len());
    }
}
