//! Whether another library stands behind ours, before the C library: one that answers by itself, or
//! notes what is asked. It must be asked everything, so no table is used then.

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::kernel::Quiet;
use crate::settings;

/// The functions that tables answer.
const ANSWERED: [&CStr; 26] = [
    c"opendir",
    c"fdopendir",
    c"readdir",
    c"readdir64",
    c"closedir",
    c"open",
    c"open64",
    c"openat",
    c"openat64",
    c"stat",
    c"stat64",
    c"lstat",
    c"lstat64",
    c"fstatat",
    c"fstatat64",
    c"__xstat",
    c"__xstat64",
    c"__lxstat",
    c"__lxstat64",
    c"__fxstatat",
    c"__fxstatat64",
    c"statx",
    c"access",
    c"faccessat",
    c"readlink",
    c"lgetxattr",
];

const UNKNOWN: u8 = 0;
const NOBODY: u8 = 1;
const SOMEBODY: u8 = 2;

static BEHIND: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Whether all that is answered would be answered by the C library otherwise. Looked at once,
/// before the first question; where it is not so, no table is used from then on.
pub(crate) fn is_nobody() -> bool {
    match BEHIND.load(Ordering::Relaxed) {
        UNKNOWN => look(),
        known => known == NOBODY,
    }
}

#[cold]
fn look() -> bool {
    let _quiet = Quiet::new();
    let library = object(c"gnu_get_libc_version");
    let is_nobody = ANSWERED.iter().all(|name| match object(name) {
        // There is none of this name in this version.
        None => true,
        Some((base, is_threads)) => is_threads || library.is_some_and(|of| of.0 == base),
    });
    let known = if is_nobody { NOBODY } else { SOMEBODY };
    BEHIND.store(known, Ordering::Relaxed);
    if !is_nobody {
        settings::switch_off();
    }
    is_nobody
}

/// Where the object begins that has the next definition of a function, and whether it is the C
/// library's part for threads, which had some of its own before 2021.
fn object(name: &CStr) -> Option<(*mut c_void, bool)> {
    // SAFETY: the name ends in NUL; the address is only looked at.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    let mut of = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `of` has room; zeroes are a value.
    if found.is_null() || unsafe { libc::dladdr(found, of.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: dladdr(3) has written it, or it is zeroes.
    let of = unsafe { of.assume_init() };
    // SAFETY: NULL or a string of the loader's, which stays as long as the object.
    let file = unsafe { crate::kernel::bytes(of.dli_fname) }.unwrap_or_default();
    let file = file.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    Some((of.dli_fbase, file.starts_with(b"libpthread")))
}
