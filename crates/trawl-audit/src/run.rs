//! The run that this process belongs to: what its variables say, its page.

use core::ffi::c_char;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use trawl_bulk_client::{Mapped, Text, Variables, kernel, page, started};
use trawl_table::PATH_BYTES_MAX;
use trawl_table::page::{GENERATION_WORD, WORDS};
use trawl_table::wire::{Extent, Question};

static VARIABLES: Variables = Variables::new();
static LIBRARY_PATH: Text<{ PATH_BYTES_MAX + 1 }> = Text::new();
static USER: AtomicU32 = AtomicU32::new(u32::MAX);
static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
/// Whether the service was asked in vain, or there is no page: it is not tried again.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Reads the environment.
///
/// # Safety
/// An array of C strings that ends in NULL; there is no second thread.
pub(crate) unsafe fn begin(environment: *const *const c_char) {
    let other = |name: &[u8], value: &[u8]| {
        if name == b"LD_LIBRARY_PATH" {
            LIBRARY_PATH.set(value);
        }
    };
    // SAFETY: the caller promises it.
    unsafe { VARIABLES.read(environment, other) };
}

/// Whether there is a run.
pub(crate) fn is_there() -> bool {
    VARIABLES.is_whole() && !IS_OVER.load(Ordering::Relaxed)
}

/// What `LD_LIBRARY_PATH` was when the program began, which is what the loader goes by.
pub(crate) fn library_path() -> &'static [u8] {
    LIBRARY_PATH.get()
}

/// Whether a path is a covered directory or lies below one.
pub(crate) fn is_covered(path: &[u8]) -> bool {
    VARIABLES.is_covered(path)
}

/// Whether to ask as soon as there is something to ask.
pub(crate) fn is_eager() -> bool {
    VARIABLES.is_eager()
}

/// How old a table may be.
pub(crate) fn age_ns() -> i64 {
    VARIABLES.age_ns()
}

/// The generation that tables must have; `None` if there is no page, and while no table is to be
/// believed.
pub(crate) fn generation() -> Option<u64> {
    let mut at = PAGE.load(Ordering::Relaxed);
    if at.is_null() {
        at = map_page()?;
    }
    // SAFETY: the mapping has that many words and is never taken back; any bits are a value, and
    // all processes use them as atomics.
    let words = unsafe { core::slice::from_raw_parts(at, WORDS) };
    if started::is_any(words) && are_others_at_work(words) {
        return None;
    }
    Some(words.get(GENERATION_WORD)?.load(Ordering::SeqCst))
}

/// Whether programs live that may change something without saying so, other than this one, which has
/// just been started, and the one that traces it.
#[cold]
fn are_others_at_work(words: &[AtomicU64]) -> bool {
    let (own, parent, tracer) = (kernel::process(), kernel::parent(), kernel::tracer());
    started::are_any(words, |process, is_parent| match is_parent {
        true => process == parent,
        false => process == own || process == tracer,
    })
}

fn map_page() -> Option<*mut AtomicU64> {
    if IS_OVER.load(Ordering::Relaxed) {
        return None;
    }
    let path = VARIABLES.page.c_str();
    let mapped = path.and_then(|path| page::map(path, user(), page::Use::Look));
    match mapped {
        Some(at) => PAGE.store(at, Ordering::Relaxed),
        None => IS_OVER.store(true, Ordering::Relaxed),
    }
    mapped
}

/// Who the process was when it first asked.
fn user() -> u32 {
    let mut user = USER.load(Ordering::Relaxed);
    if user == u32::MAX {
        user = kernel::effective_user();
        USER.store(user, Ordering::Relaxed);
    }
    user
}

/// Asks for the names in these directories.
pub(crate) fn ask(directories: &[u8]) -> Option<Mapped> {
    let question = Question {
        path: directories,
        from: b"",
        level: trawl_table::Level::Names,
        extent: Extent::Each,
        entries_max: VARIABLES.entries_max(),
    };
    let mapped = trawl_bulk_client::ask(VARIABLES.socket.get(), user(), &question);
    if mapped.is_none() {
        IS_OVER.store(true, Ordering::Relaxed);
    }
    mapped
}
