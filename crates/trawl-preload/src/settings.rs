//! What the variables say, read once before the program begins.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

use trawl_bulk_client::Variables;

use crate::{behind, descriptors, kernel, page, place, reads, real, search_path, tables};

static VARIABLES: Variables = Variables::new();
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
    real::look_all_up();
    if environment.is_null() {
        return;
    }
    let mut path: Option<&[u8]> = None;
    // SAFETY: the loader gives an array of strings that ends in NULL.
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
    // SAFETY: numbers; what the kernel has told the program is asked for.
    let (user, file) = unsafe {
        (
            libc::getauxval(libc::AT_EUID),
            libc::getauxval(libc::AT_EXECFN),
        )
    };
    USER.store(u32::try_from(user).unwrap_or(u32::MAX), Ordering::Relaxed);
    // SAFETY: functions that live as long as this library, which is never unloaded: the loader
    // keeps what was preloaded.
    unsafe { libc::pthread_atfork(Some(before_fork), None, Some(in_child)) };
    IS_IN_RUN.store(true, Ordering::Release);
    IS_ON.store(true, Ordering::Release);
    // Now, and not when there is something to tell: by then its file may be out of reach.
    let file: *const c_char = std::ptr::with_exposed_provenance(file as usize);
    // SAFETY: the kernel's string, or NULL.
    page::begins(unsafe { kernel::bytes(file) }.unwrap_or_default());
    // Whoever started this program may have opened it: the shell, or posix_spawn(3).
    reads::opened(libc::STDIN_FILENO);
    behind::look();
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

/// Whether tables may be used here and now.
#[inline]
pub(crate) fn is_on() -> bool {
    IS_ON.load(Ordering::Acquire) && !is_borrowed()
}

/// As [`is_on`], for what may be done in the child of vfork(2) as well: nothing is kept that is
/// true of the child alone.
pub(crate) fn is_on_here() -> bool {
    IS_ON.load(Ordering::Acquire)
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
    AFTER_VFORK.with(|flag| {
        // Else this may be such a child itself, and the number is its parent's.
        if !flag.load(Ordering::Relaxed) {
            PROCESS.store(kernel::process(), Ordering::Relaxed);
        }
        flag.store(true, Ordering::Relaxed);
    });
}

/// Whether this is the child of a vfork(2), which runs in its parent's memory: nothing may be kept
/// there that is true of the child alone.
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

/// The service's socket.
pub(crate) fn socket() -> &'static [u8] {
    VARIABLES.socket.get()
}

/// The file that is the run's page.
pub(crate) fn page() -> Option<&'static CStr> {
    VARIABLES.page.c_str()
}

/// The user that the service must be of, besides the superuser.
pub(crate) fn user() -> u32 {
    USER.load(Ordering::Relaxed)
}

/// How old a table may be.
pub(crate) fn age_ns() -> i64 {
    VARIABLES.age_ns()
}

/// The most entries that may be asked for at once.
pub(crate) fn entries_max() -> u32 {
    VARIABLES.entries_max()
}

/// Whether to ask where calls are cheap, too.
pub(crate) fn is_ready() -> bool {
    VARIABLES.is_ready()
}

/// Whether to ask at the first call.
pub(crate) fn is_eager() -> bool {
    VARIABLES.is_eager()
}

/// Whether to ask however lately something was changed or asked for in vain: for tests, which then
/// have a table behind nearly every call.
pub(crate) fn is_restless() -> bool {
    VARIABLES.is_restless()
}

/// Whether a path is a covered directory or lies below one.
pub(crate) fn is_covered(path: &[u8]) -> bool {
    VARIABLES.is_covered(path)
}
