//! What the variables say, read once before the program begins.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

use crate::{kernel, place, tables};

/// A text that is written once, before there is a second thread.
struct Text<const N: usize> {
    bytes: UnsafeCell<[u8; N]>,
    length: AtomicU32,
}

// SAFETY: the bytes are written by `begin` alone, before anything else of the process runs, and
// read only once the length, which is stored after them, is not zero.
unsafe impl<const N: usize> Sync for Text<N> {}

impl<const N: usize> Text<N> {
    const fn new() -> Text<N> {
        Text {
            bytes: UnsafeCell::new([0; N]),
            length: AtomicU32::new(0),
        }
    }

    /// Keeps it, if it and a NUL fit and it was not set before.
    fn set(&self, text: &[u8]) {
        if text.len() >= N || self.length.load(Ordering::Acquire) != 0 {
            return;
        }
        // SAFETY: nobody reads yet, see above.
        let bytes = unsafe { &mut *self.bytes.get() };
        bytes[..text.len()].copy_from_slice(text);
        self.length.store(text.len() as u32, Ordering::Release);
    }

    fn get(&self) -> &[u8] {
        let length = self.length.load(Ordering::Acquire) as usize;
        // SAFETY: nobody writes once the length is not zero, see above.
        let bytes = unsafe { &*self.bytes.get() };
        bytes.get(..length).unwrap_or_default()
    }

    fn c_str(&self) -> Option<&CStr> {
        let length = self.length.load(Ordering::Acquire) as usize;
        // SAFETY: as above; the byte after the text is still zero.
        let bytes = unsafe { &*self.bytes.get() };
        CStr::from_bytes_with_nul(bytes.get(..=length)?).ok()
    }
}

static SOCKET: Text<108> = Text::new();
static PAGE: Text<512> = Text::new();
static ROOTS: Text<8192> = Text::new();
static AGE_NS: AtomicI64 = AtomicI64::new(0);
static ENTRIES_MAX: AtomicU32 = AtomicU32::new(1 << 20);
static IS_EAGER: AtomicBool = AtomicBool::new(false);
static IS_RESTLESS: AtomicBool = AtomicBool::new(false);
static USER: AtomicU32 = AtomicU32::new(u32::MAX);
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Whether tables may be used. Once it is false it stays so.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// Whether there is a run, whose page is to be told of changes.
static IS_IN_RUN: AtomicBool = AtomicBool::new(false);
/// Counts what was disabled, for a look from a debugger.
static DISABLED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether this thread has called vfork(2) and has not been seen in the parent since.
    static AFTER_VFORK: AtomicBool = const { AtomicBool::new(false) };
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) = begin;

/// Called by the loader, as the C library's own constructors are: with the environment.
unsafe extern "C" fn begin(
    _count: c_int,
    _arguments: *const *const c_char,
    environment: *const *const c_char,
) {
    if environment.is_null() {
        return;
    }
    let mut at = environment;
    // SAFETY: the loader gives an array of strings that ends in NULL.
    while let Some(text) = unsafe { kernel::bytes(*at) } {
        if let Some(rest) = text.strip_prefix(b"TRAWL_BULK_") {
            variable(rest);
        }
        // SAFETY: it was not the last one.
        at = unsafe { at.add(1) };
    }
    let is_whole = !SOCKET.get().is_empty() && !PAGE.get().is_empty() && !ROOTS.get().is_empty();
    if !is_whole || AGE_NS.load(Ordering::Relaxed) <= 0 {
        return;
    }
    USER.store(kernel::effective_user(), Ordering::Relaxed);
    PROCESS.store(kernel::process(), Ordering::Relaxed);
    // SAFETY: functions that live as long as this library, which is never unloaded: the loader
    // keeps what was preloaded.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    IS_IN_RUN.store(true, Ordering::Release);
    IS_ON.store(true, Ordering::Release);
}

extern "C" fn in_child() {
    PROCESS.store(kernel::process(), Ordering::Relaxed);
    AFTER_VFORK.with(|flag| flag.store(false, Ordering::Relaxed));
    tables::after_fork();
    place::after_fork();
}

fn variable(text: &[u8]) {
    let Some(middle) = text.iter().position(|byte| *byte == b'=') else {
        return;
    };
    let (name, value) = (&text[..middle], &text[middle + 1..]);
    match name {
        b"SOCKET" => SOCKET.set(value),
        b"PAGE" => PAGE.set(value),
        b"ROOTS" => ROOTS.set(value),
        b"AGE_MS" => {
            let age = number(value).unwrap_or(0).min(3_600_000);
            AGE_NS.store(i64::from(age) * 1_000_000, Ordering::Relaxed);
        }
        b"ENTRIES" => ENTRIES_MAX.store(number(value).unwrap_or(1 << 20), Ordering::Relaxed),
        b"HASTE" => {
            let is_restless = value == b"restless";
            IS_RESTLESS.store(is_restless, Ordering::Relaxed);
            IS_EAGER.store(is_restless || value == b"eager", Ordering::Relaxed);
        }
        _ => {}
    }
}

fn number(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether tables may be used here and now.
#[inline]
pub(crate) fn is_on() -> bool {
    IS_ON.load(Ordering::Acquire) && !is_borrowed()
}

/// Whether changes are to be told.
#[inline]
pub(crate) fn is_in_run() -> bool {
    IS_IN_RUN.load(Ordering::Acquire)
}

/// Uses no table any more: who this process is, or what it sees, is no longer what the service
/// knows.
pub(crate) fn switch_off() {
    IS_ON.store(false, Ordering::Release);
    DISABLED.fetch_add(1, Ordering::Relaxed);
}

/// Notes that this thread is about to call vfork(2).
pub(crate) fn before_vfork() {
    AFTER_VFORK.with(|flag| flag.store(true, Ordering::Relaxed));
}

/// Whether this is the child of a vfork(2), which runs in its parent's memory: nothing may be kept
/// there that is true of the child alone.
#[inline]
fn is_borrowed() -> bool {
    AFTER_VFORK.with(|flag| flag.load(Ordering::Relaxed)) && is_child()
}

#[cold]
fn is_child() -> bool {
    if kernel::process() != PROCESS.load(Ordering::Relaxed) {
        return true;
    }
    AFTER_VFORK.with(|flag| flag.store(false, Ordering::Relaxed));
    false
}

/// The service's socket.
pub(crate) fn socket() -> &'static [u8] {
    SOCKET.get()
}

/// The file that is the run's page.
pub(crate) fn page() -> Option<&'static CStr> {
    PAGE.c_str()
}

/// The user that the service must be of, besides the superuser.
pub(crate) fn user() -> u32 {
    USER.load(Ordering::Relaxed)
}

/// How old a table may be.
pub(crate) fn age_ns() -> i64 {
    AGE_NS.load(Ordering::Relaxed)
}

/// The most entries that may be asked for at once.
pub(crate) fn entries_max() -> u32 {
    ENTRIES_MAX.load(Ordering::Relaxed)
}

/// Whether to ask at the first call.
pub(crate) fn is_eager() -> bool {
    IS_EAGER.load(Ordering::Relaxed)
}

/// Whether to ask however lately something was changed or asked for in vain: for tests, which then
/// have a table behind nearly every call.
pub(crate) fn is_restless() -> bool {
    IS_RESTLESS.load(Ordering::Relaxed)
}

/// Whether a path is a covered directory or lies below one.
pub(crate) fn is_covered(path: &[u8]) -> bool {
    let mut roots = ROOTS.get().split(|byte| *byte == b':');
    roots.any(|root| {
        let rest = match root {
            b"" => None,
            b"/" => Some(path),
            root => path.strip_prefix(root),
        };
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    })
}
