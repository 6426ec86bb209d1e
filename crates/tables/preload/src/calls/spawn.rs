//! posix_spawn(3): the C library starts a child by itself and opens files for it.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::calls::exec::{Candidate, NAME_BYTES_MAX, Words, expected, goes_on, only_candidate};
use crate::calls::open::is_writing;
use crate::kernel::{self, ProcPath, Quiet};
use crate::page::{self, Starter};
use crate::real::real;
use crate::{descriptors, settings};

/// Descriptor numbers at which children of this program get files to write to, one bit each; the
/// last bit stands for all higher numbers.
static WRITTEN: AtomicU64 = AtomicU64::new(0);
const OTHERS: u32 = u64::BITS - 1;
/// Limit below which numbers are examined if the last bit is set.
const NUMBERS_MAX: u32 = 1024;

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn_file_actions_addopen(
    actions: *mut c_void,
    fd: c_int,
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
) -> c_int {
    // SAFETY: the caller's string.
    unsafe { descriptors::before_path(path) };
    if is_writing(flags) && fd >= 0 {
        let bit = fd.unsigned_abs().min(OTHERS);
        WRITTEN.fetch_or(1 << bit, Ordering::Relaxed);
    }
    real!(posix_spawn_file_actions_addopen(
        actions => *mut c_void, fd => c_int, path => *const c_char, flags => c_int, mode => c_uint,
    ) -> c_int, libc::ENOSYS)
}

/// Starts a child. `file` is its program's file if it is expected to report its changes.
///
/// # Safety
/// As posix_spawn(3).
unsafe fn start(
    file: Option<&[u8]>,
    child: *mut c_int,
    actions: *const c_void,
    call: impl FnOnce(*mut c_int) -> c_int,
) -> c_int {
    if !settings::is_in_run() {
        return call(child);
    }
    let mut own = 0;
    let child = match child.is_null() {
        true => &raw mut own,
        false => child,
    };
    descriptors::make_all_real();
    let written = match actions.is_null() {
        true => 0,
        false => WRITTEN.load(Ordering::Relaxed),
    };
    if written != 0 {
        page::change();
    }
    let noted = page::starts(Starter::Parent, file);
    let errno = call(child);
    match errno {
        // SAFETY: our variable or the caller's, and filled in.
        0 => unsafe {
            mark_written(*child, written);
            page::is_child(noted, *child);
        },
        _ => page::did_not_start(noted),
    }
    if written != 0 {
        page::change();
    }
    errno
}

/// Marks the files that a child got to write to: it never opens them itself.
fn mark_written(child: c_int, written: u64) {
    if written == 0 {
        return;
    }
    let _quiet = Quiet::new();
    let numbers = (0..NUMBERS_MAX).filter(|number| written & (1 << number.min(&OTHERS)) != 0);
    for number in numbers {
        let path = ProcPath::of_descriptor(Some(child.unsigned_abs()), number);
        if let Some(of) = kernel::stat(path.as_c_str()) {
            page::mark_file(&of);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn(
    child: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    words: Words,
    environment: Words,
) -> c_int {
    let call = |child| {
        real!(posix_spawn(
            child => *mut c_int, path => *const c_char, actions => *const c_void,
            attributes => *const c_void, words => Words, environment => Words,
        ) -> c_int, libc::ENOSYS)
    };
    // SAFETY: the caller's string and structures.
    unsafe {
        let file = expected(kernel::bytes(path), environment);
        start(file, child, actions, call)
    }
}

/// posix_spawnp(3) searches for the program in the child, after the file actions. If only one file
/// can exist, that one is executed directly.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawnp(
    child: *mut c_int,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    words: Words,
    environment: Words,
) -> c_int {
    let mut candidate = Candidate::new();
    // SAFETY: the caller's string.
    let name = unsafe { kernel::bytes(file) }.unwrap_or_default();
    let is_path = name.contains(&b'/');
    let only = match name.is_empty() || is_path || name.len() > NAME_BYTES_MAX {
        true => None,
        false => only_candidate(name, &mut candidate),
    };
    let Some((only, is_last)) = only else {
        let call = |child| {
            real!(posix_spawnp(
                child => *mut c_int, file => *const c_char, actions => *const c_void,
                attributes => *const c_void, words => Words, environment => Words,
            ) -> c_int, libc::ENOSYS)
        };
        // SAFETY: the caller's structures.
        return unsafe {
            let file = expected(is_path.then_some(name), environment);
            start(file, child, actions, call)
        };
    };
    // SAFETY: one string of our own, the rest the caller's.
    let errno = unsafe { posix_spawn(child, only, actions, attributes, words, environment) };
    match errno {
        libc::EACCES => errno,
        // The C library would try the next file, which does not exist.
        errno if goes_on(errno) && !is_last => libc::ENOENT,
        errno => errno,
    }
}
