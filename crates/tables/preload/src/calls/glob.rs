//! glob(3), which opens directories inside the C library.
//!
//! The C library's glob(3) does the work. It only gets our functions for reading directories,
//! through the interface that it has for this purpose (`GLOB_ALTDIRFUNC`).

use std::ffi::{c_char, c_int, c_void};

use crate::real::real;
use crate::settings;

unsafe extern "C" {
    fn opendir(path: *const c_char) -> *mut libc::DIR;
    fn readdir(stream: *mut libc::DIR) -> *mut libc::dirent64;
    fn closedir(stream: *mut libc::DIR) -> c_int;
    fn stat(path: *const c_char, into: *mut libc::stat) -> c_int;
    fn lstat(path: *const c_char, into: *mut libc::stat) -> c_int;
}

/// The C library's `glob_t`.
#[repr(C)]
struct Glob {
    count: usize,
    paths: *mut *mut c_char,
    before: usize,
    flags: c_int,
    functions: [*const c_void; 5],
}

const ALTDIRFUNC: c_int = 1 << 9;

type OnError = Option<unsafe extern "C" fn(*const c_char, c_int) -> c_int>;

/// Returns whether the directories of a search may be in a table.
fn is_ours(flags: c_int, glob: *mut Glob) -> bool {
    settings::is_on() && flags & ALTDIRFUNC == 0 && !glob.is_null()
}

/// Makes the call with our functions in place.
unsafe fn with_ours(glob: *mut Glob, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's structure; glob(3) ignores these members unless the flag is set.
    unsafe {
        let before = (*glob).functions;
        (*glob).functions = [
            closedir as *const c_void,
            readdir as *const c_void,
            opendir as *const c_void,
            lstat as *const c_void,
            stat as *const c_void,
        ];
        let code = call();
        (*glob).functions = before;
        (*glob).flags &= !ALTDIRFUNC;
        code
    }
}

macro_rules! globs {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            pattern: *const c_char,
            flags: c_int,
            on_error: OnError,
            glob: *mut Glob,
        ) -> c_int {
            let call = |flags: c_int| real!($name(
                pattern => *const c_char, flags => c_int, on_error => OnError, glob => *mut Glob,
            ) -> c_int, 1);
            if !is_ours(flags, glob) {
                return call(flags);
            }
            // SAFETY: the caller's structure.
            unsafe { with_ours(glob, || call(flags | ALTDIRFUNC)) }
        }
    )*};
}

globs!(glob glob64);
