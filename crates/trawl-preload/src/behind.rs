//! Whether another library stands behind ours, before the C library: one that answers by itself, or
//! notes what is asked. It must be asked everything, so no table is used then.

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

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

static IS_NOBODY: AtomicBool = AtomicBool::new(false);

/// Whether all that is answered would be answered by the C library otherwise. Where it is not so,
/// no table is used.
pub(crate) fn is_nobody() -> bool {
    IS_NOBODY.load(Ordering::Relaxed)
}

/// Looks, when the library is loaded: the loader's lock is taken, as no signal handler may.
pub(crate) fn look() {
    let library = next(c"gnu_get_libc_version");
    let mut objects = Objects {
        version: library.unwrap_or_default(),
        of_library: 0..0,
        of_threads: 0..0,
    };
    // SAFETY: the function gets what it is written for, and `objects` lives until it has returned.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut objects).cast()) };
    let is_library =
        |at: usize| objects.of_library.contains(&at) || objects.of_threads.contains(&at);
    // There may be none of a name in this version.
    let is_nobody = ANSWERED
        .iter()
        .filter_map(|name| next(name))
        .all(is_library);
    if is_nobody {
        IS_NOBODY.store(true, Ordering::Relaxed);
    } else {
        settings::switch_off();
    }
}

/// The next definition of a function behind ours.
fn next(name: &CStr) -> Option<usize> {
    // SAFETY: the name ends in NUL; the address is only looked at.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if found.is_null() {
        // What the loader says of it is not for the program.
        // SAFETY: it has no conditions.
        unsafe { libc::dlerror() };
    }
    Some(found.addr()).filter(|at| *at != 0)
}

/// Where the C library is, and its part for threads, which had functions of its own before 2021.
struct Objects {
    /// A function that only the C library has.
    version: usize,
    of_library: Range<usize>,
    of_threads: Range<usize>,
}

/// Notes an object, if it is one of these.
unsafe extern "C" fn note(
    object: *mut libc::dl_phdr_info,
    _size: usize,
    objects: *mut c_void,
) -> c_int {
    // SAFETY: the loader's, valid for the call; the second is what was given to `dl_iterate_phdr`.
    let (object, objects) = unsafe { (&*object, &mut *objects.cast::<Objects>()) };
    // SAFETY: the loader's table of so many headers.
    let headers = unsafe { std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()) };
    let base = object.dlpi_addr as usize;
    let (mut first, mut end) = (usize::MAX, 0);
    for header in headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD)
    {
        let start = base.wrapping_add(header.p_vaddr as usize);
        first = first.min(start);
        end = end.max(start.wrapping_add(header.p_memsz as usize));
    }
    let all = first..end;
    // SAFETY: NULL or a string of the loader's, which stays as long as the object.
    let file = unsafe { crate::kernel::bytes(object.dlpi_name) }.unwrap_or_default();
    let file = file.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    if all.contains(&objects.version) {
        objects.of_library = all;
    } else if file.starts_with(b"libpthread") {
        objects.of_threads = all;
    }
    0
}
