//! Handles the loader's searches, one after the other.
//!
//! The loader searches like this (glibc's `open_path`): for each directory, and for each of its
//! subdirectories for newer processors, it asks about the file, opens it, and if that fails checks,
//! once per directory, whether the directory exists at all. A skipped file is treated like one that
//! could not be opened, but `errno` keeps its former value; if that is anything but `ENOENT` and
//! `EACCES`, the search ends with an error. So a file is skipped only behind another one of the
//! same search that the table shows not to exist, and that the kernel has reported as missing, too,
//! or that was itself skipped.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

use trawl_table::Table;
use trawl_table_client::{Directories, Mapped, kernel};

use crate::link_map::LinkMap;
use crate::run;

/// With fewer directories a question is not worthwhile, unless each call is expensive: for 60 local
/// directories the loader's search takes as long as the question, for 16 half as long.
const DIRECTORIES_MIN: usize = 32;
const DIRECTORIES_MIN_EAGER: usize = 2;
/// Number of files that are tried before the first question, which is meant for programs with many
/// libraries.
const PATIENCE: u32 = 16;
/// A table with fewer answers was not worthwhile: the next question waits twice as long.
const WORTH_ANSWERS: u32 = 64;
const PATIENCE_MAX: u32 = 1 << 20;

struct State {
    directories: Directories,
    is_library_path_in: bool,
    /// Whether the library that reports this process's changes is loaded.
    is_preloaded: bool,
    table: Option<Mapped>,
    generation: u64,
    begun_ns: i64,
    answered: u32,
    /// Number of files tried since the last question, and the number that triggers the next one.
    tried: u32,
    patience: u32,
    /// The clock, once it was read in this search.
    now_ns: Option<i64>,
    has_asked: bool,
    /// Whether the loader's `errno` says that a file does not exist.
    is_absent_before: bool,
}

struct Shared {
    is_used: AtomicBool,
    state: UnsafeCell<State>,
}

// SAFETY: only the thread that has set `is_used` accesses the state.
unsafe impl Sync for Shared {}

static SHARED: Shared = Shared {
    is_used: AtomicBool::new(false),
    state: UnsafeCell::new(State {
        directories: Directories::new(),
        is_library_path_in: false,
        is_preloaded: false,
        table: None,
        generation: 0,
        begun_ns: 0,
        answered: 0,
        tried: 0,
        patience: PATIENCE,
        now_ns: None,
        has_asked: false,
        is_absent_before: false,
    }),
};

/// Passes the state to `body`. The loader's lock admits one thread at a time; should it not, a
/// second thread gets `otherwise`.
fn with<R>(otherwise: R, body: impl FnOnce(&mut State) -> R) -> R {
    if SHARED.is_used.swap(true, Ordering::Acquire) {
        return otherwise;
    }
    // SAFETY: no other thread uses it until `is_used` is cleared.
    let result = body(unsafe { &mut *SHARED.state.get() });
    SHARED.is_used.store(false, Ordering::Release);
    result
}

/// Notes a loaded object.
///
/// # Safety
/// The object belongs to the loader and is loaded.
pub(crate) unsafe fn opened(object: &LinkMap) {
    // SAFETY: guaranteed by the caller.
    let (name, paths) = unsafe { (object.name(), object.run_paths()) };
    with((), |state| {
        let is_preload = |end: &&[u8]| name.ends_with(end);
        let names: [&[u8]; 2] = [b"/libtrawl-preload.so", b"/libtrawl_preload.so"];
        state.is_preloaded |= names.iter().any(is_preload);
        for path in paths {
            if !path.is_empty() && state.directories.add(path, run::is_covered) {
                // The table does not cover the new directories.
                state.forget();
            }
        }
    });
}

/// Notes the beginning of a search.
pub(crate) fn begins() -> bool {
    with((), |state| {
        state.now_ns = None;
        state.has_asked = false;
        state.is_absent_before = false;
    });
    false
}

/// Notes that the loader tries a file about which nothing is known here.
pub(crate) fn goes_elsewhere() -> bool {
    with((), |state| state.is_absent_before = false);
    false
}

/// Returns whether a file must be skipped because it does not exist.
pub(crate) fn is_left_out(path: &[u8]) -> bool {
    with(false, |state| {
        let is_absent = run::is_there() && state.says_absent(path);
        let is_left_out = is_absent && state.is_absent_before;
        state.is_absent_before = is_absent;
        is_left_out
    })
}

impl State {
    fn says_absent(&mut self, path: &[u8]) -> bool {
        if !self.is_preloaded {
            return false;
        }
        if !self.is_library_path_in {
            self.is_library_path_in = true;
            // The loader accepts either separator there.
            for path in run::library_path().split(|byte| *byte == b';') {
                self.directories.add(path, run::is_covered);
            }
        }
        if !self.is_fresh() {
            self.forget();
            if !self.is_due() || !self.ask() {
                return false;
            }
        }
        let is_absent = self.table().is_some_and(|table| table.says_absent(path));
        self.answered = self.answered.saturating_add(u32::from(is_absent));
        is_absent
    }

    fn table(&self) -> Option<Table<'_>> {
        let mapped = self.table.as_ref()?;
        // SAFETY: the mapping has that many bytes, is sealed memory, so that nobody changes it, and
        // stays until `forget` takes it out.
        let bytes = unsafe { core::slice::from_raw_parts(mapped.at, mapped.length) };
        Table::new(bytes).ok()
    }

    /// Returns whether the table may still be believed. Its age is checked once per search.
    fn is_fresh(&mut self) -> bool {
        if self.table.is_none() || run::generation() != Some(self.generation) {
            return false;
        }
        let now = *self.now_ns.get_or_insert_with(kernel::now_ns);
        now.saturating_sub(self.begun_ns) < run::age_ns()
    }

    fn forget(&mut self) {
        if let Some(mapped) = self.table.take() {
            // SAFETY: it was taken out, and values derived from it are used within one call only.
            unsafe { kernel::unmap(mapped.at, mapped.length) };
            self.patience = match self.answered >= WORTH_ANSWERS {
                true => PATIENCE,
                false => self.patience.saturating_mul(2).min(PATIENCE_MAX),
            };
        }
    }

    /// Returns whether it is time for a question, at most once per search.
    fn is_due(&mut self) -> bool {
        self.tried = self.tried.saturating_add(1);
        let (least, patience) = match run::is_eager() {
            true => (DIRECTORIES_MIN_EAGER, 0),
            false => (DIRECTORIES_MIN, self.patience),
        };
        !self.has_asked && self.directories.count() >= least && self.tried > patience
    }

    /// Asks; returns whether there is a table that may be believed.
    fn ask(&mut self) -> bool {
        self.has_asked = true;
        (self.tried, self.answered) = (0, 0);
        if run::generation().is_none() {
            return false;
        }
        self.table = run::ask(self.directories.all());
        let (generation, begun_ns) = match self.table() {
            Some(table) => (table.generation(), table.begun_ns()),
            None => return false,
        };
        (self.generation, self.begun_ns) = (generation, begun_ns);
        let now = kernel::now_ns();
        self.now_ns = Some(now);
        // A table from the future is invalid; the margin allows for this coarse clock, which is
        // some milliseconds behind.
        begun_ns <= now.saturating_add(1_000_000_000) && self.is_fresh()
    }
}
