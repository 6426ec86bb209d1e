//! Accesses the run's page: its generation, its marks, and its notes about started programs that do
//! not report their changes (`trawl_table::page`, `trawl_table_client::started`).

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU64, Ordering};

use trawl_table::page;
use trawl_table_client::page::{Use, map as map_page};
use trawl_table_client::started;
pub(crate) use trawl_table_client::started::{Note, Starter};

use crate::kernel::{self, Quiet};
use crate::settings;

static WORDS: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
static IS_HOPELESS: AtomicBool = AtomicBool::new(false);

/// Returns the page, mapped on first use; `None` if it cannot be mapped.
#[inline]
fn words() -> Option<&'static [AtomicU64]> {
    let mut at = WORDS.load(Ordering::Acquire);
    if at.is_null() {
        at = map()?;
    }
    // SAFETY: the mapping has that many words and is never removed; every bit pattern is valid, and
    // all processes use the words as atomics.
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
            // SAFETY: no other thread has seen this mapping.
            unsafe { kernel::unmap(mapped.cast(), page::BYTES) };
            Some(other)
        }
    }
}

fn word(number: usize) -> Option<&'static AtomicU64> {
    words()?.get(number)
}

/// Returns the generation that valid tables have; `None` while no table may be believed.
#[inline]
pub(crate) fn generation() -> Option<u64> {
    let words = words()?;
    // Checked first: a program started after this check also makes its changes after it.
    if started::is_any(words) && are_others_at_work(words) {
        return None;
    }
    Some(words.get(page::GENERATION_WORD)?.load(Ordering::SeqCst))
}

/// Notes that this program is about to ask for a table of files.
pub(crate) fn asks_for_tables() {
    if let Some(word) = word(page::TABLES_WORD)
        && word.load(Ordering::Relaxed) == 0
    {
        word.store(1, Ordering::SeqCst);
    }
}

/// Returns whether a program of the run may have a table of files.
#[inline]
pub(crate) fn may_have_tables() -> bool {
    word(page::TABLES_WORD).is_some_and(|word| word.load(Ordering::SeqCst) != 0)
}

/// Returns the run's generation, whether or not tables may be used now.
pub(crate) fn changes() -> u64 {
    word(page::GENERATION_WORD).map_or(0, |word| word.load(Ordering::SeqCst))
}

/// Returns whether programs are running that may change something without reporting it.
#[cold]
fn are_others_at_work(words: &[AtomicU64]) -> bool {
    static LOOKED_NS: AtomicI64 = AtomicI64::new(0);
    const PAUSE_NS: i64 = 10_000_000;
    let now = kernel::now_ns();
    if now.saturating_sub(LOOKED_NS.load(Ordering::Relaxed)) >= PAUSE_NS {
        LOOKED_NS.store(now, Ordering::Relaxed);
        started::forget_ended(words, change);
    }
    // A tracer of this process, such as strace(1), looks at it and changes nothing in the tree.
    started::are_any(words, |process, is_parent| {
        !is_parent && process == tracer()
    })
}

/// Process id of this process's tracer; -1 while unknown.
static TRACER: AtomicI32 = AtomicI32::new(-1);

fn tracer() -> c_int {
    let mut tracer = TRACER.load(Ordering::Relaxed);
    if tracer < 0 {
        tracer = kernel::tracer();
        TRACER.store(tracer, Ordering::Relaxed);
    }
    tracer
}

/// Resets the tracer in a child, which may have none.
pub(crate) fn after_fork() {
    TRACER.store(-1, Ordering::Relaxed);
}

/// Announces that this program reports its changes from here on. `file` is the name under which it
/// was executed.
pub(crate) fn begins(file: &[u8]) {
    if let Some(words) = words() {
        started::begins(words, started::hash(file), change);
    }
}

/// Notes a program that is about to be started, with its file's name if it is expected to report
/// its changes. Until it does, or has ended, no table is believed.
pub(crate) fn starts(starter: fn(c_int) -> Starter, file: Option<&[u8]>) -> Option<Note> {
    if !settings::is_in_run() {
        return None;
    }
    let file = file.map_or(started::ANY_FILE, started::hash);
    started::note(words()?, starter(kernel::process()), file, change)
}

/// Removes a note: the program was not started, or it has ended and its changes were reported.
pub(crate) fn did_not_start(noted: Option<Note>) {
    if let (Some(noted), Some(words)) = (noted, words()) {
        noted.take_away(words);
    }
}

/// Adds to a note which child of this process the program is.
pub(crate) fn is_child(noted: Option<Note>, child: c_int) {
    if let (Some(noted), Some(words)) = (noted, words()) {
        noted.is_child(words, child);
    }
}

/// Reports that a child has ended, which may have made changes that none of our functions saw.
pub(crate) fn has_ended(child: c_int) {
    change();
    if let Some(words) = noted_in() {
        started::has_ended(words, child);
    }
}

/// Reports the end of a child whose number is unknown and that was noted with this file.
pub(crate) fn have_ended(file: &[u8]) {
    change();
    if let Some(words) = noted_in() {
        started::have_ended(words, kernel::process(), started::hash(file));
    }
}

/// Returns the page, if it has notes.
fn noted_in() -> Option<&'static [AtomicU64]> {
    let words = settings::is_in_run().then(words).flatten();
    words.filter(|words| started::is_any(words))
}

/// Announces that processes may be in another namespace from now on.
pub(crate) fn namespaces_are_left() {
    if let Some(words) = settings::is_in_run().then(words).flatten() {
        started::namespaces_are_left(words);
    }
}

/// Returns when something was changed last, by the monotonic clock; 0 if never.
pub(crate) fn changed_ns() -> i64 {
    word(page::CHANGED_WORD).map_or(0, |word| word.load(Ordering::Relaxed) as i64)
}

/// Reports a change, before or after it is made: all tables become invalid.
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

/// Marks a regular file that is open for writing, by descriptor.
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

/// Returns whether a program of the run may have opened this file for writing, or opened it for
/// reading in a way that moves its time of access.
pub(crate) fn is_marked(dev: u64, ino: u64) -> bool {
    let (number, bit) = page::mark(dev, ino);
    word(number).is_none_or(|word| word.load(Ordering::SeqCst) & bit != 0)
}
