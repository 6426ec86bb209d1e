//! Accesses the run that this process belongs to: its variables and its page.

use core::ffi::c_char;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use trawl_table::PATH_BYTES_MAX;
use trawl_table::page::{GENERATION_WORD, WORDS};
use trawl_table::wire::{Extent, Question};
use trawl_table_client::{Mapped, Text, Variables, kernel, page, started};

static VARIABLES: Variables = Variables::new();
static LIBRARY_PATH: Text<{ PATH_BYTES_MAX + 1 }> = Text::new();
static USER: AtomicU32 = AtomicU32::new(u32::MAX);
static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
/// Whether the service was asked in vain, or the page is missing: then no further attempt is made.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Reads the environment.
///
/// # Safety
/// `environment` is an array of C strings that ends in NULL, and there is no second thread.
pub(crate) unsafe fn begin(environment: *const *const c_char) {
    let other = |name: &[u8], value: &[u8]| {
        if name == b"LD_LIBRARY_PATH" {
            LIBRARY_PATH.set(value);
        }
    };
    // SAFETY: guaranteed by the caller.
    unsafe { VARIABLES.read(environment, other) };
}

/// Returns whether there is a run.
pub(crate) fn is_there() -> bool {
    VARIABLES.is_whole() && !IS_OVER.load(Ordering::Relaxed)
}

/// Returns the value of `LD_LIBRARY_PATH` at the program's start, which the loader uses.
pub(crate) fn library_path() -> &'static [u8] {
    LIBRARY_PATH.get()
}

/// Returns whether a path is a covered directory or lies below one.
pub(crate) fn is_covered(path: &[u8]) -> bool {
    VARIABLES.is_covered(path)
}

/// Returns whether to ask as soon as there is a question.
pub(crate) fn is_eager() -> bool {
    VARIABLES.is_eager()
}

/// Returns the maximum age of a table in nanoseconds.
pub(crate) fn age_ns() -> i64 {
    VARIABLES.age_ns()
}

/// Returns the generation that valid tables have; `None` if there is no page, or while no table may
/// be believed.
pub(crate) fn generation() -> Option<u64> {
    let mut at = PAGE.load(Ordering::Relaxed);
    if at.is_null() {
        at = map_page()?;
    }
    // SAFETY: the mapping has that many words and is never removed; every bit pattern is valid, and
    // all processes use the words as atomics.
    let words = unsafe { core::slice::from_raw_parts(at, WORDS) };
    if started::is_any(words) && are_others_at_work(words) {
        return None;
    }
    Some(words.get(GENERATION_WORD)?.load(Ordering::SeqCst))
}

/// Returns whether programs are running that may change something without reporting it, other than
/// this one, which has just been started, and its tracer.
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

/// Returns the process's effective user at its first question.
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
    let mapped = trawl_table_client::ask(VARIABLES.socket.get(), user(), &question);
    if mapped.is_none() {
        IS_OVER.store(true, Ordering::Relaxed);
    }
    mapped
}
