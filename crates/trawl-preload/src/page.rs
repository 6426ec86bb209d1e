//! The run's page: its generation, its marks, and the programs that were started and do not tell of
//! their changes (`trawl_table::page`, `trawl_bulk_client::started`).

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU64, Ordering};

use trawl_bulk_client::page::{Use, map as map_page};
use trawl_bulk_client::started;
pub(crate) use trawl_bulk_client::started::{Note, Starter};
use trawl_table::page;

use crate::kernel::{self, Quiet};
use crate::settings;

static WORDS: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
static IS_HOPELESS: AtomicBool = AtomicBool::new(false);

/// The page, mapped at the first need; `None` if it cannot be.
#[inline]
fn words() -> Option<&'static [AtomicU64]> {
    let mut at = WORDS.load(Ordering::Acquire);
    if at.is_null() {
        at = map()?;
    }
    // SAFETY: the mapping has that many words and is never taken back; any bits are a value, and
    // all processes use them as atomics.
    Some(unsafe { std::slice::from_raw_parts(at, page::WORDS) })
}

#[cold]
fn map() -> Option<*mut AtomicU64> {
    if IS_HOPELESS.load(Ordering::Relaxed) {
        return None;
    }
    let user = settings::user();
    let mapped = settings::page().and_then(|path| map_page(path, user, Use::Change));
    let Some(mapped) = mapped else {
        IS_HOPELESS.store(true, Ordering::Relaxed);
        settings::switch_off();
        return None;
    };
    let old = ptr::null_mut();
    match WORDS.compare_exchange(old, mapped, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(mapped),
        Err(other) => {
            // SAFETY: nobody else has seen this mapping.
            unsafe { kernel::unmap(mapped.cast(), page::BYTES) };
            Some(other)
        }
    }
}

fn word(number: usize) -> Option<&'static AtomicU64> {
    words()?.get(number)
}

/// The generation that tables must have; `None` while no table is to be believed.
#[inline]
pub(crate) fn generation() -> Option<u64> {
    let words = words()?;
    // First: who is started after this look changes things after it, too.
    if started::is_any(words) && are_others_at_work(words) {
        return None;
    }
    Some(words.get(page::GENERATION_WORD)?.load(Ordering::SeqCst))
}

/// The run's generation, whether or not tables are believed now.
pub(crate) fn changes() -> u64 {
    word(page::GENERATION_WORD).map_or(0, |word| word.load(Ordering::SeqCst))
}

/// Whether programs live that may change something without saying so.
#[cold]
fn are_others_at_work(words: &[AtomicU64]) -> bool {
    static LOOKED_NS: AtomicI64 = AtomicI64::new(0);
    const PAUSE_NS: i64 = 10_000_000;
    let now = kernel::now_ns();
    if now.saturating_sub(LOOKED_NS.load(Ordering::Relaxed)) >= PAUSE_NS {
        LOOKED_NS.store(now, Ordering::Relaxed);
        started::forget_ended(words, change);
    }
    // Who traces this process, as strace(1) does, looks at it and changes nothing in the tree.
    started::are_any(words, |process, is_parent| {
        !is_parent && process == tracer()
    })
}

/// The process that traces this one, once it was asked for; -1 before.
static TRACER: AtomicI32 = AtomicI32::new(-1);

fn tracer() -> c_int {
    let mut tracer = TRACER.load(Ordering::Relaxed);
    if tracer < 0 {
        tracer = kernel::tracer();
        TRACER.store(tracer, Ordering::Relaxed);
    }
    tracer
}

/// In a child, which may be traced by nobody.
pub(crate) fn after_fork() {
    TRACER.store(-1, Ordering::Relaxed);
}

/// Says that this program tells of its changes from here on. It is the one that this file, as it is
/// named, was executed as.
pub(crate) fn begins(file: &[u8]) {
    if let Some(words) = words() {
        started::begins(words, started::hash(file), change);
    }
}

/// A program that is about to be started, by its file's name if it is expected to tell of its
/// changes: until it does, or has ended, no table is believed.
pub(crate) fn starts(starter: fn(c_int) -> Starter, file: Option<&[u8]>) -> Option<Note> {
    if !settings::is_in_run() {
        return None;
    }
    let file = file.map_or(started::ANY_FILE, started::hash);
    started::note(words()?, starter(kernel::process()), file, change)
}

/// Says that what was noted was not started, or has ended and its changes were told.
pub(crate) fn did_not_start(noted: Option<Note>) {
    if let (Some(noted), Some(words)) = (noted, words()) {
        noted.take_away(words);
    }
}

/// Says which child of this process a program is that was noted.
pub(crate) fn is_child(noted: Option<Note>, child: c_int) {
    if let (Some(noted), Some(words)) = (noted, words()) {
        noted.is_child(words, child);
    }
}

/// Says that a child has ended, which may have changed what none of our functions saw.
pub(crate) fn has_ended(child: c_int) {
    change();
    if let Some(words) = noted_in() {
        started::has_ended(words, child);
    }
}

/// Says that a child has ended whose number is not known, noted with this file.
pub(crate) fn have_ended(file: &[u8]) {
    change();
    if let Some(words) = noted_in() {
        started::have_ended(words, kernel::process(), started::hash(file));
    }
}

/// The page, if there are notes in it.
fn noted_in() -> Option<&'static [AtomicU64]> {
    let words = settings::is_in_run().then(words).flatten();
    words.filter(|words| started::is_any(words))
}

/// Says that processes may be in another namespace from now on.
pub(crate) fn namespaces_are_left() {
    if let Some(words) = settings::is_in_run().then(words).flatten() {
        started::namespaces_are_left(words);
    }
}

/// When something was changed last, by the monotonic clock; 0 if never.
pub(crate) fn changed_ns() -> i64 {
    word(page::CHANGED_WORD).map_or(0, |word| word.load(Ordering::Relaxed) as i64)
}

/// Says that something is changed, or was: all tables are old.
pub(crate) fn change() {
    if !settings::is_in_run() {
        return;
    }
    if let Some(word) = word(page::CHANGED_WORD) {
        word.store(kernel::now_ns() as u64, Ordering::Relaxed);
    }
    if let Some(word) = word(page::GENERATION_WORD) {
        word.fetch_add(1, Ordering::SeqCst);
    }
}

/// Marks a regular file that is open for writing.
pub(crate) fn mark(fd: i32) {
    if !settings::is_in_run() {
        return;
    }
    let _quiet = Quiet::new();
    if let Some(of) = kernel::fstat(fd) {
        mark_file(&of);
    }
}

/// Marks a file that is open for writing, if it is a regular one.
pub(crate) fn mark_file(of: &libc::stat) {
    if of.st_mode & libc::S_IFMT == libc::S_IFREG {
        mark_object(of.st_dev, of.st_ino);
    }
}

/// Marks a file or directory: what stat(2) says of it is the kernel's to say.
pub(crate) fn mark_object(dev: u64, ino: u64) {
    let (number, bit) = page::mark(dev, ino);
    if let Some(word) = word(number) {
        word.fetch_or(bit, Ordering::SeqCst);
    }
}

/// True if a program of the run may have opened this file for writing, or opened it for reading in
/// a way that moves its time of access.
pub(crate) fn is_marked(dev: u64, ino: u64) -> bool {
    let (number, bit) = page::mark(dev, ino);
    word(number).is_none_or(|word| word.load(Ordering::SeqCst) & bit != 0)
}
