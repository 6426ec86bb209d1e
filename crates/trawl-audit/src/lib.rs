//! `libtrawl-audit.so`: answers the dynamic loader's library search (rtld-audit(7)) from tables of
//! the bulk service (`trawl-bulk`).
//!
//! The loader says which files it is about to try ([`search`]), directory by directory; those of
//! which a table says that they are not there it is told to leave out. Which directories those are
//! is known from `LD_LIBRARY_PATH` and from what the program and its libraries say of themselves
//! (`trawl_bulk_client::Directories`), so that one question is enough for all.
//!
//! Invariants: a library that is there is never left out while the table is to be believed, which
//! is as for `libtrawl-preload.so`; without that library, which tells of the program's own changes,
//! nothing is answered. Nothing is allocated, no lock is waited for, nothing panics. As it is
//! shipped (the profile `audit`) the library needs no other, the C library least of all (`memory`):
//! the loader would load a second copy of it for us alone, which takes longer than most searches.
//!
//! The loader calls these functions one at a time, with its own lock held. Calls within a program
//! (`la_symbind`, `la_pltenter`) are not asked about: that would cost each of them something.

// In a build that unwinds, as tests are, the standard library says what is done with a panic.
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

/// The version of the interface that this is written for; each has all of those before it.
const VERSION: c_uint = 2;

/// Flags of `la_objsearch` (`<link.h>`).
const SEARCH_BEGINS: c_uint = 0x01;
const IN_LIBRARY_PATH: c_uint = 0x02;
const IN_RUN_PATH: c_uint = 0x04;

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) = begin;

/// Called by the loader before all else: with the environment.
unsafe extern "C" fn begin(
    _count: c_int,
    _arguments: *const *const c_char,
    environment: *const *const c_char,
) {
    if !environment.is_null() {
        // SAFETY: the loader gives an array of strings that ends in NULL; there is one thread.
        unsafe { run::begin(environment) };
    }
}

/// Says which version is spoken, 0 if this library is not needed.
#[unsafe(no_mangle)]
pub extern "C" fn la_version(version: c_uint) -> c_uint {
    match run::is_there() {
        true => version.min(VERSION),
        false => 0,
    }
}

/// Takes down where an object looks for its libraries. Of what it calls nothing is to be told.
///
/// # Safety
/// Called by the loader, with a loaded object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_objopen(
    object: *const LinkMap,
    _namespace: libc::c_long,
    _cookie: *mut usize,
) -> c_uint {
    // SAFETY: the loader's object, which nobody changes meanwhile.
    if let Some(object) = unsafe { object.as_ref() } {
        // SAFETY: as above.
        unsafe { search::opened(object) };
    }
    0
}

/// Gives back what is to be tried: the same, or NULL for what is known not to be there.
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
    let path = unsafe { trawl_bulk_client::bytes(name) }.unwrap_or_default();
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
