//! Holds the settings from the environment, read once before the program begins.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

use trawl_table_client::Variables;

use crate::{behind, descriptors, kernel, page, place, reads, real, search_path, start, tables};

static VARIABLES: Variables = Variables::new();
static USER: AtomicU32 = AtomicU32::new(u32::MAX);
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Whether tables may be used. Once false it stays false.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// Whether there is a run whose page must be told of changes.
static IS_IN_RUN: AtomicBool = AtomicBool::new(false);
/// Number of times that tables were switched off, for inspection in a debugger.
static DISABLED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether this thread has called vfork(2) and has not been seen in the parent since.
    static AFTER_VFORK: AtomicBool = const { AtomicBool::new(false) };
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) = begin;

/// Called by the loader like the C library's constructors, with the arguments and the environment.
unsafe extern "C" fn begin(
    _count: c_int,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) {
    real::look_all_up();
    if environment.is_null() {
        return;
    }
    let mut path: Option<&[u8]> = None;
    // SAFETY: the loader passes an array of strings that ends in NULL.
    unsafe {
        VARIABLES.read(environment, |name, value| {
            if name == b"PATH" {
                path = Some(value);
            }
        });
    }
    if !VARIABLES.is_whole() {
        return;
    }
    search_path::begin(path.unwrap_or_default());
    // SAFETY: the calls only read numbers that the kernel passed to the program.
    let (user, file) = unsafe {
        (
            libc::getauxval(libc::AT_EUID),
            libc::getauxval(libc::AT_EXECFN),
        )
    };
    USER.store(u32::try_from(user).unwrap_or(u32::MAX), Ordering::Relaxed);
    // SAFETY: the functions live as long as this library, which is never unloaded: the loader keeps
    // preloaded libraries.
    unsafe { libc::pthread_atfork(Some(before_fork), None, Some(in_child)) };
    IS_IN_RUN.store(true, Ordering::Release);
    IS_ON.store(true, Ordering::Release);
    // Now, and not at the first change: by then the page's file may be out of reach.
    let file: *const c_char = std::ptr::with_exposed_provenance(file as usize);
    // SAFETY: a string of the kernel, or NULL.
    page::begins(unsafe { kernel::bytes(file) }.unwrap_or_default());
    // Whoever started this program may have opened it: the shell, or posix_spawn(3).
    reads::opened(libc::STDIN_FILENO);
    behind::look();
    if let Some(least) = VARIABLES.files_min() {
        // SAFETY: the loader passes the program's arguments, an array of strings that ends in NULL.
        unsafe { start::tell(arguments, least) };
    }
}

/// The child has the same open files, and may look at its parent's by their numbers.
extern "C" fn before_fork() {
    descriptors::make_all_real();
}

extern "C" fn in_child() {
    AFTER_VFORK.with(|flag| flag.store(false, Ordering::Relaxed));
    page::after_fork();
    tables::after_fork();
    place::after_fork();
}

/// Returns whether tables may be used here and now.
#[inline]
pub(crate) fn is_on() -> bool {
    IS_ON.load(Ordering::Acquire) && !is_borrowed()
}

/// Like [`is_on`], for operations that are also allowed in the child of vfork(2): they store
/// nothing that holds for the child only.
pub(crate) fn is_on_here() -> bool {
    IS_ON.load(Ordering::Acquire)
}

/// Returns whether changes must be reported.
#[inline]
pub(crate) fn is_in_run() -> bool {
    IS_IN_RUN.load(Ordering::Acquire)
}

/// Stops using tables: the process's identity, or its view of the file system, is no longer the one
/// that the service knows.
pub(crate) fn switch_off() {
    IS_ON.store(false, Ordering::Release);
    DISABLED.fetch_add(1, Ordering::Relaxed);
}

/// Notes that this thread is about to call vfork(2).
pub(crate) fn before_vfork() {
    AFTER_VFORK.with(|flag| {
        // Otherwise this may be such a child itself, and the number is its parent's.
        if !flag.load(Ordering::Relaxed) {
            PROCESS.store(kernel::process(), Ordering::Relaxed);
        }
        flag.store(true, Ordering::Relaxed);
    });
}

/// Returns whether this is the child of a vfork(2), which runs in its parent's memory: nothing may
/// be stored there that holds for the child only.
#[inline]
pub(crate) fn is_borrowed() -> bool {
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

/// Returns the service's socket.
pub(crate) fn socket() -> &'static [u8] {
    VARIABLES.socket.get()
}

/// Returns the file of the run's page.
pub(crate) fn page() -> Option<&'static CStr> {
    VARIABLES.page.c_str()
}

/// Returns the user as whom the service must run, unless it runs as the superuser.
pub(crate) fn user() -> u32 {
    USER.load(Ordering::Relaxed)
}

/// Returns the maximum age of a table in nanoseconds.
pub(crate) fn age_ns() -> i64 {
    VARIABLES.age_ns()
}

/// Returns the maximum number of entries to ask for at once.
pub(crate) fn entries_max() -> u32 {
    VARIABLES.entries_max()
}

/// Returns whether to ask even where calls are cheap.
pub(crate) fn is_ready() -> bool {
    VARIABLES.is_ready()
}

/// Returns whether to ask at the first call.
pub(crate) fn is_eager() -> bool {
    VARIABLES.is_eager()
}

/// Returns whether to ask regardless of recent changes and questions in vain: for tests, which then
/// have a table behind nearly every call.
pub(crate) fn is_restless() -> bool {
    VARIABLES.is_restless()
}

/// Returns whether a path is a covered directory or lies below one.
pub(crate) fn is_covered(path: &[u8]) -> bool {
    VARIABLES.is_covered(path)
}
