//! Makes a path absolute, as text. Symbolic links are not resolved here: a table leads from name to
//! name through directories only.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};

use trawl_table::PATH_BYTES_MAX;

use crate::kernel::{self, Quiet};
use crate::policy::{self, CallQuestion, QuestionResult};
use crate::tables::{self, TableAnswer};
use crate::{descriptors, meter, page, settings};

const ROOM: usize = PATH_BYTES_MAX + 1;

/// An absolute path without double slashes, and with `.` at its end only. A slash at its end means
/// that the object must be a directory; `/.` means that the directory is also entered.
pub(crate) struct CallPath {
    bytes: [MaybeUninit<u8>; ROOM],
    length: usize,
    /// Whether it contains `..`.
    has_dots: bool,
    /// Whether it was given relative to an open directory.
    is_in_order: bool,
}

impl CallPath {
    const fn empty() -> CallPath {
        CallPath {
            bytes: [MaybeUninit::uninit(); ROOM],
            length: 0,
            has_dots: false,
            is_in_order: false,
        }
    }

    /// Returns the path.
    pub(crate) fn path(&self) -> &[u8] {
        // SAFETY: `push` has written the first `length` bytes.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.length) }
    }

    /// Returns the path without a slash or `/.` at its end; `None` if it contains `..`.
    pub(crate) fn plain(&self) -> Option<&[u8]> {
        let path = self.path();
        let path = match path {
            b"/" => path,
            path => match path.strip_suffix(b"/.") {
                Some(path) => path,
                None => path.strip_suffix(b"/").unwrap_or(path),
            },
        };
        (!self.has_dots && !path.is_empty()).then_some(path)
    }

    /// Returns whether the program probably visits directories in the order of their listings.
    /// Programs that open one directory below another do; those that concatenate paths often sort
    /// names first.
    pub(crate) fn is_in_order(&self) -> bool {
        self.is_in_order
    }

    fn push(&mut self, bytes: &[u8]) -> Option<()> {
        let room = self.bytes.get_mut(self.length..self.length + bytes.len())?;
        for (to, from) in room.iter_mut().zip(bytes) {
            to.write(*from);
        }
        self.length += bytes.len();
        Some(())
    }

    /// Appends the components of a path.
    fn push_path(&mut self, path: &[u8]) -> Option<()> {
        let mut is_open = path.is_empty();
        for name in path.split(|byte| *byte == b'/') {
            is_open = matches!(name, b"" | b"." | b"..");
            if matches!(name, b"" | b".") {
                continue;
            }
            self.has_dots |= name == b"..";
            self.push(b"/")?;
            self.push(name)?;
        }
        if is_open {
            let is_top = self.length == 0;
            self.push(match path {
                b"." if !is_top => b"/.",
                path if path.ends_with(b"/.") && !is_top => b"/.",
                _ => b"/",
            })?;
        }
        Some(())
    }

    /// Appends an absolute path from the kernel.
    fn push_directory(&mut self, path: &[u8]) -> Option<()> {
        match path {
            b"/" => Some(()),
            path => self.push(path),
        }
    }
}

/// Returns what is known about a path, for the question `want`; may ask the service.
pub(crate) fn look(directory: c_int, path: &[u8], want: CallQuestion) -> TableAnswer {
    // The most frequent reason to return, so checked first.
    if !policy::is_worth_a_look() {
        return TableAnswer::Unknown;
    }
    if !settings::is_on() || path.is_empty() || path.len() > PATH_BYTES_MAX {
        return TableAnswer::Unknown;
    }
    let mut place = CallPath::empty();
    place.is_in_order = directory != libc::AT_FDCWD;
    if !path.starts_with(b"/")
        && let Some(at) = descriptors::virtual_place(directory)
    {
        let (held, number) = at;
        if held.is_fresh() {
            let known = tables::walk(held.again(), number, path);
            if is_enough(&known, want) {
                return known;
            }
        }
        let mut space = [0; ROOM];
        let above = held
            .table()
            .and_then(|table| tables::path_of(&table, number, &mut space));
        if above
            .and_then(|above| place.push_directory(above))
            .is_none()
        {
            return TableAnswer::Unknown;
        }
    } else if start(&mut place, directory, path, want).is_none() {
        return TableAnswer::Unknown;
    }
    match place.push_path(path) {
        Some(()) => look_at(&place, want),
        None => TableAnswer::Unknown,
    }
}

/// Returns what is known about a place.
fn look_at(place: &CallPath, want: CallQuestion) -> TableAnswer {
    if !settings::is_covered(place.path()) {
        return TableAnswer::Unknown;
    }
    let known = match tables::is_any_live() {
        true => tables::find(place.path(), |known| is_enough(known, want)),
        false => TableAnswer::Unknown,
    };
    if is_enough(&known, want) {
        return known;
    }
    let (is_there, is_search) = match &known {
        TableAnswer::Found(found) => (true, found.held().is_search()),
        _ => (false, false),
    };
    let is_in_table = is_there && !is_search && want != CallQuestion::List;
    drop(known);
    let asked = policy::ask_for(place, want, is_in_table, is_there);
    if asked == QuestionResult::Nothing {
        meter::begin();
        return TableAnswer::Unknown;
    }
    let known = tables::find(place.path(), |known| is_enough(known, want));
    match is_enough(&known, want) {
        true => known,
        false if asked == QuestionResult::SearchPath => TableAnswer::Unknown,
        false => {
            policy::asked_in_vain();
            TableAnswer::Unknown
        }
    }
}

/// Returns whether `known` answers the question.
fn is_enough(known: &TableAnswer, want: CallQuestion) -> bool {
    let found = match known {
        TableAnswer::Unknown => return false,
        TableAnswer::Absent | TableAnswer::NotDirectory => return true,
        TableAnswer::Found(found) => found,
    };
    let entry = found.entry();
    match want {
        // An object that is neither a directory nor a link is known not to be a directory.
        CallQuestion::List => found.listed().is_some() || !matches!(entry.kind(), 0 | 4 | 10),
        CallQuestion::Stat => entry.stat().is_some(),
        CallQuestion::Attributes => {
            let table = found.held().table();
            entry.stat().is_some()
                && table.is_some_and(|table| table.level() >= trawl_table::Level::Attributes)
        }
    }
}

/// Writes the directory at which a relative path begins.
fn start(place: &mut CallPath, directory: c_int, path: &[u8], want: CallQuestion) -> Option<()> {
    if path.starts_with(b"/") {
        return Some(());
    }
    if directory == libc::AT_FDCWD {
        return push_working_directory(place);
    }
    if want != CallQuestion::List || !policy::goes_through_directories() {
        if want == CallQuestion::List {
            policy::opens_directory();
        }
        return None;
    }
    push_open_directory(place, directory)
}

/// Appends the path of a directory that the program has open.
fn push_open_directory(place: &mut CallPath, directory: c_int) -> Option<()> {
    static VAIN: AtomicUsize = AtomicUsize::new(0);
    const VAIN_MAX: usize = 8;
    if VAIN.load(Ordering::Relaxed) >= VAIN_MAX {
        return None;
    }
    let _quiet = Quiet::new();
    let mut space = [0; ROOM];
    let path = kernel::path_of(directory, &mut space).and_then(|length| space.get(..length));
    match path.filter(|path| settings::is_covered(path)) {
        Some(path) => {
            VAIN.store(0, Ordering::Relaxed);
            place.push_directory(path)
        }
        None => {
            VAIN.fetch_add(1, Ordering::Relaxed);
            None
        }
    }
}

/// The working directory as last read.
struct WorkingDirectory {
    is_used: AtomicBool,
    bytes: UnsafeCell<[u8; ROOM]>,
    length: AtomicUsize,
    epoch: AtomicU64,
    generation: AtomicU64,
    read_ns: AtomicI64,
}

// SAFETY: only the thread that has set `is_used` accesses the bytes.
unsafe impl Sync for WorkingDirectory {}

static WORKING_DIRECTORY: WorkingDirectory = WorkingDirectory {
    is_used: AtomicBool::new(false),
    bytes: UnsafeCell::new([0; ROOM]),
    length: AtomicUsize::new(0),
    epoch: AtomicU64::new(0),
    generation: AtomicU64::new(0),
    read_ns: AtomicI64::new(0),
};

/// Counts changes of the working directory.
static EPOCH: AtomicU64 = AtomicU64::new(1);

/// Records that the working directory may have changed.
pub(crate) fn working_directory_changed() {
    EPOCH.fetch_add(1, Ordering::SeqCst);
}

/// Where a change of the working directory leads.
#[derive(Clone, Copy)]
pub(crate) enum Step<'a> {
    /// Into a directory in it, which is not a link.
    Into(&'a [u8]),
    /// To its parent.
    Up,
    /// To an unknown directory.
    Anywhere,
}

/// Changes the working directory. The cached path is updated, with its former age, if no other
/// thread changes the working directory at the same time.
pub(crate) fn change_working_directory<E>(
    step: Step<'_>,
    change: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let before = EPOCH.fetch_add(1, Ordering::SeqCst);
    let changed = change();
    let now = EPOCH.fetch_add(1, Ordering::SeqCst) + 1;
    let of = &WORKING_DIRECTORY;
    if changed.is_err() || now != before + 2 || of.is_used.swap(true, Ordering::Acquire) {
        return changed;
    }
    if of.epoch.load(Ordering::Relaxed) == before {
        // SAFETY: no other thread uses the bytes until `is_used` is cleared.
        let bytes = unsafe { &mut *of.bytes.get() };
        let length = of.length.load(Ordering::Relaxed);
        if let Some(length) = stepped(bytes, length, step) {
            of.length.store(length, Ordering::Relaxed);
            of.epoch.store(now, Ordering::Relaxed);
        }
    }
    of.is_used.store(false, Ordering::Release);
    changed
}

/// Applies a step to a path of this length; returns the new length, or `None` if it is unknown.
fn stepped(path: &mut [u8], length: usize, step: Step<'_>) -> Option<usize> {
    // A path that could not be read has length 0.
    let at = match path.get(..length)? {
        b"" => return None,
        b"/" => 0,
        path => path.len(),
    };
    match step {
        Step::Anywhere => None,
        Step::Up => {
            let slash = path.get(..at)?.iter().rposition(|byte| *byte == b'/')?;
            Some(slash.max(1))
        }
        Step::Into(name) => {
            let end = at + 1 + name.len();
            let room = path.get_mut(at..end)?;
            let (slash, to) = room.split_first_mut()?;
            *slash = b'/';
            to.copy_from_slice(name);
            Some(end)
        }
    }
}

/// Number of active walks of the C library that may change the working directory.
static WANDERERS: AtomicUsize = AtomicUsize::new(0);

/// Records the start of such a walk: relative paths have no known start while it runs.
pub(crate) fn wandering_begins() {
    WANDERERS.fetch_add(1, Ordering::SeqCst);
}

/// Records the end of such a walk.
pub(crate) fn wandering_ends() {
    working_directory_changed();
    WANDERERS.fetch_sub(1, Ordering::SeqCst);
}

/// Resets the state in a child, where threads that may have been writing the path do not exist.
pub(crate) fn after_fork() {
    working_directory_changed();
    WORKING_DIRECTORY.is_used.store(false, Ordering::SeqCst);
}

fn push_working_directory(place: &mut CallPath) -> Option<()> {
    if WANDERERS.load(Ordering::SeqCst) != 0 {
        return None;
    }
    let generation = page::generation()?;
    let of = &WORKING_DIRECTORY;
    // If another thread, or the code that this signal handler interrupted, is using it, do without.
    if of.is_used.swap(true, Ordering::Acquire) {
        return None;
    }
    // SAFETY: no other thread uses the bytes until `is_used` is cleared.
    let bytes = unsafe { &mut *of.bytes.get() };
    let epoch = EPOCH.load(Ordering::SeqCst);
    let now = kernel::now_ns();
    let is_known = of.epoch.load(Ordering::Relaxed) == epoch
        && of.generation.load(Ordering::Relaxed) == generation
        && now.saturating_sub(of.read_ns.load(Ordering::Relaxed)) < settings::age_ns();
    if !is_known {
        let _quiet = Quiet::new();
        let length = kernel::working_directory(bytes).unwrap_or(0);
        of.length.store(length, Ordering::Relaxed);
        of.epoch.store(epoch, Ordering::Relaxed);
        of.generation.store(generation, Ordering::Relaxed);
        of.read_ns.store(now, Ordering::Relaxed);
    }
    let path = bytes.get(..of.length.load(Ordering::Relaxed));
    let path = path.filter(|path| !path.is_empty());
    let pushed = path.and_then(|path| place.push_directory(path));
    of.is_used.store(false, Ordering::Release);
    pushed
}
