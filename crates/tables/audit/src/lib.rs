//! `libtrawl-audit.so`: answers the dynamic loader's library search (rtld-audit(7)) from tables of
//! the bulk service (`trawl-table-service`).
//!
//! The loader announces, directory by directory, which files it is about to try ([`search`]); it is
//! told to skip those that a table shows not to exist. The directories are known from
//! `LD_LIBRARY_PATH` and from the run paths of the program and its libraries
//! (`trawl_table_client::Directories`), so one question covers all of them.
//!
//! Invariants: an existing library is never skipped while the table may be believed, under the same
//! conditions as in `libtrawl-preload.so`. Without that library, which reports the program's own
//! changes, nothing is answered. Nothing is allocated, no lock is waited for, nothing panics. As
//! shipped (profile `audit`) the library needs no other library, in particular not the C library
//! (`memory`): the loader would load a second copy of it for us alone, which takes longer than most
//! searches.
//!
//! The loader calls these functions one at a time, with its own lock held. Calls within a program
//! (`la_symbind`, `la_pltenter`) are not audited: that would slow down each of them.

// In a build that unwinds, such as that of tests, the standard library defines the panic handler.
#![cfg_attr(panic = "abort", no_std)]
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod link_map;
#[cfg(panic = "abort")]
mod memory;
mod run;
mod search;

use core::ffi::{c_char, c_int, c_uint};

use link_map::LinkMap;

/// The version of the interface that this library implements; each version includes those before
/// it.
const VERSION: c_uint = 2;

/// Flags of `la_objsearch` (`<link.h>`).
const SEARCH_BEGINS: c_uint = 0x01;
const IN_LIBRARY_PATH: c_uint = 0x02;
const IN_RUN_PATH: c_uint = 0x04;

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) = begin;

/// Called by the loader before everything else, with the environment.
unsafe extern "C" fn begin(
    _count: c_int,
    _arguments: *const *const c_char,
    environment: *const *const c_char,
) {
    if !environment.is_null() {
        // SAFETY: the loader passes an array of strings that ends in NULL; there is only one
        // thread.
        unsafe { run::begin(environment) };
    }
}

/// Returns the version of the interface, or 0 if this library is not needed.
#[unsafe(no_mangle)]
pub extern "C" fn la_version(version: c_uint) -> c_uint {
    match run::is_there() {
        true => version.min(VERSION),
        false => 0,
    }
}

/// Notes where an object searches its libraries. Returns 0: the object's calls are not audited.
///
/// # Safety
/// Called by the loader, with a loaded object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_objopen(
    object: *const LinkMap,
    _namespace: libc::c_long,
    _cookie: *mut usize,
) -> c_uint {
    // SAFETY: the loader's object, which does not change during the call.
    if let Some(object) = unsafe { object.as_ref() } {
        // SAFETY: as above.
        unsafe { search::opened(object) };
    }
    0
}

/// Returns the path that the loader is to try: `name` itself, or NULL for a file that is known not
/// to exist.
///
/// # Safety
/// Called by the loader, with a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_objsearch(
    name: *const c_char,
    _cookie: *mut usize,
    step: c_uint,
) -> *mut c_char {
    // SAFETY: the loader's string.
    let path = unsafe { trawl_table_client::bytes(name) }.unwrap_or_default();
    let is_left_out = match step {
        IN_LIBRARY_PATH | IN_RUN_PATH => search::is_left_out(path),
        SEARCH_BEGINS => search::begins(),
        _ => search::goes_elsewhere(),
    };
    match is_left_out {
        true => core::ptr::null_mut(),
        false => name.cast_mut(),
    }
}
