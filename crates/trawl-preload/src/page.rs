//! The run's page: its generation and its marks (`trawl_table::page`).

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use trawl_bulk_client::page::{Use, map as map_page};
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

/// The generation that tables must have.
#[inline]
pub(crate) fn generation() -> Option<u64> {
    Some(word(page::GENERATION_WORD)?.load(Ordering::SeqCst))
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
    let Some(of) = kernel::fstat(fd).filter(|of| of.st_mode & libc::S_IFMT == libc::S_IFREG) else {
        return;
    };
    let (number, bit) = page::mark(of.st_dev, of.st_ino);
    if let Some(word) = word(number) {
        word.fetch_or(bit, Ordering::SeqCst);
    }
}

/// Whether somebody in the run may have opened this file for writing.
pub(crate) fn is_marked(dev: u64, ino: u64) -> bool {
    let (number, bit) = page::mark(dev, ino);
    word(number).is_none_or(|word| word.load(Ordering::SeqCst) & bit != 0)
}
