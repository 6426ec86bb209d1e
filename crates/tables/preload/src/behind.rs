//! Checks whether another library stands between ours and the C library, which may give answers of
//! its own or record calls. Such a library must receive every call, so no table is used then.

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

/// Whether the C library is the next to receive each of these calls. Otherwise no table is used.
pub(crate) fn is_nobody() -> bool {
    IS_NOBODY.load(Ordering::Relaxed)
}

/// Performs the check. It is called when the library is loaded, because it takes the loader's lock,
/// which a signal handler must not do.
pub(crate) fn look() {
    let library = next(c"gnu_get_libc_version");
    let mut objects = Objects {
        version: library.unwrap_or_default(),
        of_library: 0..0,
        of_threads: 0..0,
    };
    // SAFETY: the callback has the expected type, and `objects` lives until the call has returned.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut objects).cast()) };
    let is_library =
        |at: usize| objects.of_library.contains(&at) || objects.of_threads.contains(&at);
    // Some names do not exist in every version of the C library.
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

/// Returns the address of the next definition of a function behind ours.
fn next(name: &CStr) -> Option<usize> {
    // SAFETY: the name ends in NUL; the address is only compared.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if found.is_null() {
        // The loader's error message is not meant for the program.
        // SAFETY: the function has no preconditions.
        unsafe { libc::dlerror() };
    }
    Some(found.addr()).filter(|at| *at != 0)
}

/// Address ranges of the C library and of its thread library, which was separate before 2021.
struct Objects {
    /// Address of a function that only the C library has.
    version: usize,
    of_library: Range<usize>,
    of_threads: Range<usize>,
}

/// Callback that notes the address range of an object, if it is one of these libraries.
unsafe extern "C" fn note(
    object: *mut libc::dl_phdr_info,
    _size: usize,
    objects: *mut c_void,
) -> c_int {
    // SAFETY: the loader's structure is valid during the call; the second pointer is the one given
    // to `dl_iterate_phdr`.
    let (object, objects) = unsafe { (&*object, &mut *objects.cast::<Objects>()) };
    // SAFETY: the loader's table has that many headers.
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
    // SAFETY: NULL, or a string of the loader that lives as long as the object.
    let file = unsafe { crate::kernel::bytes(object.dlpi_name) }.unwrap_or_default();
    let file = file.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    if all.contains(&objects.version) {
        objects.of_library = all;
    } else if file.starts_with(b"libpthread") {
        objects.of_threads = all;
    }
    0
}
