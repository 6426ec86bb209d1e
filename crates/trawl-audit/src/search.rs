//! One search of the loader after the other.
//!
//! How the loader's search goes (glibc's `open_path`): for each directory, and for each of its
//! subdirectories for better processors, it asks about the file, opens it, and if that fails looks,
//! once for each, whether the directory is there at all. A file that it is told to leave out is
//! like one that could not be opened, but `errno` is then what it was before; and if that is
//! anything but `ENOENT` and `EACCES` the search ends in an error. So a file is left out only
//! behind another one of the same search of which the table says the same, and of which the kernel
//! has said so as well, or that was itself left out so.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

use trawl_bulk_client::{Directories, Mapped, kernel};
use trawl_table::Table;

use crate::link_map::LinkMap;
use crate::run;

/// With fewer directories than that a question is not worth its price, unless each call is dear: of
/// 60 local directories the loader's search takes as long as the question, of 16 half as long.
const DIRECTORIES_MIN: usize = 32;
const DIRECTORIES_MIN_EAGER: usize = 2;
/// Files that are tried before the first question, which is for programs with many libraries.
const PATIENCE: u32 = 16;
/// A table that has answered less was not worth it: the next question waits twice as long.
const WORTH_ANSWERS: u32 = 64;
const PATIENCE_MAX: u32 = 1 << 20;

struct State {
    directories: Directories,
    is_library_path_in: bool,
    /// Whether the library is there that tells of changes of this process.
    is_preloaded: bool,
    table: Option<Mapped>,
    generation: u64,
    begun_ns: i64,
    answered: u32,
    /// Files that were tried since the last question, and how many there must be.
    tried: u32,
    patience: u32,
    /// The clock, once it was asked in this search.
    now_ns: Option<i64>,
    has_asked: bool,
    /// Whether the loader's `errno` says that there is no such file.
    is_absent_before: bool,
}

struct Shared {
    is_used: AtomicBool,
    state: UnsafeCell<State>,
}

// SAFETY: the state is used only by who has set `is_used`.
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

/// Gives the state to `body`. The loader's lock lets in one at a time; should it not, who comes
/// second does without.
fn with<R>(otherwise: R, body: impl FnOnce(&mut State) -> R) -> R {
    if SHARED.is_used.swap(true, Ordering::Acquire) {
        return otherwise;
    }
    // SAFETY: nobody else uses it until `is_used` is taken back.
    let result = body(unsafe { &mut *SHARED.state.get() });
    SHARED.is_used.store(false, Ordering::Release);
    result
}

/// An object was loaded.
///
/// # Safety
/// The loader's own, and loaded.
pub(crate) unsafe fn opened(object: &LinkMap) {
    // SAFETY: the caller promises it.
    let (name, paths) = unsafe { (object.name(), object.run_paths()) };
    with((), |state| {
        let is_preload = |end: &&[u8]| name.ends_with(end);
        let names: [&[u8]; 2] = [b"/libtrawl-preload.so", b"/libtrawl_preload.so"];
        state.is_preloaded |= names.iter().any(is_preload);
        for path in paths {
            if !path.is_empty() && state.directories.add(path, run::is_covered) {
                // What the table has is not all any more.
                state.forget();
            }
        }
    });
}

/// A search begins.
pub(crate) fn begins() -> bool {
    with((), |state| {
        state.now_ns = None;
        state.has_asked = false;
        state.is_absent_before = false;
    });
    false
}

/// The loader tries something of which nothing is known here.
pub(crate) fn goes_elsewhere() -> bool {
    with((), |state| state.is_absent_before = false);
    false
}

/// Whether a file is not to be tried, since it is not there.
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
            // The loader takes either sign there.
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

    /// Whether the table may be believed still. Its age is looked at once in a search.
    fn is_fresh(&mut self) -> bool {
        if self.table.is_none() || run::generation() != Some(self.generation) {
            return false;
        }
        let now = *self.now_ns.get_or_insert_with(kernel::now_ns);
        now.saturating_sub(self.begun_ns) < run::age_ns()
    }

    fn forget(&mut self) {
        if let Some(mapped) = self.table.take() {
            // SAFETY: it was taken out, and what was made of it is used within one call.
            unsafe { kernel::unmap(mapped.at, mapped.length) };
            self.patience = match self.answered >= WORTH_ANSWERS {
                true => PATIENCE,
                false => self.patience.saturating_mul(2).min(PATIENCE_MAX),
            };
        }
    }

    /// Whether it is time for a question: once in a search.
    fn is_due(&mut self) -> bool {
        self.tried = self.tried.saturating_add(1);
        let (least, patience) = match run::is_eager() {
            true => (DIRECTORIES_MIN_EAGER, 0),
            false => (DIRECTORIES_MIN, self.patience),
        };
        !self.has_asked && self.directories.count() >= least && self.tried > patience
    }

    /// Asks; whether there is a table that is to be believed.
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
        // It cannot have been begun in the future: the clock here is some milliseconds behind.
        begun_ns <= now.saturating_add(1_000_000_000) && self.is_fresh()
    }
}
