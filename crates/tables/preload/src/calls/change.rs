//! Calls that change something: the run's generation advances before and after each.
//!
//! Before the change, so that a table begun in the meantime is not believed later; after it, so
//! that a table is not believed that was begun before the change was made.

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

use crate::calls::Argument;
use crate::calls::open::write;
use crate::real::real;
use crate::{descriptors, page};

/// Defines functions that change something; their descriptor arguments are listed.
macro_rules! changes {
    ($($name:ident($($argument:ident: $kind:ty),*; $($fd:ident)*) -> $result:ty, $failed:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> $result {
            $(descriptors::make_real($fd);)*
            // SAFETY: the caller's strings.
            unsafe { $($argument.is_followed();)* }
            page::change();
            let result = real!($name($($argument => $kind),*) -> $result, $failed);
            page::change();
            result
        }
    )*};
}

changes! {
    mkdir(path: *const c_char, mode: c_uint;) -> c_int, -1;
    mkdirat(at: c_int, path: *const c_char, mode: c_uint; at) -> c_int, -1;
    unlink(path: *const c_char;) -> c_int, -1;
    link(old: *const c_char, new: *const c_char;) -> c_int, -1;
    linkat(from: c_int, old: *const c_char, at: c_int, new: *const c_char, flags: c_int; from at) -> c_int, -1;
    symlink(to: *const c_char, path: *const c_char;) -> c_int, -1;
    symlinkat(to: *const c_char, at: c_int, path: *const c_char; at) -> c_int, -1;
    mknod(path: *const c_char, mode: c_uint, device: u64;) -> c_int, -1;
    mknodat(at: c_int, path: *const c_char, mode: c_uint, device: u64; at) -> c_int, -1;
    mkfifo(path: *const c_char, mode: c_uint;) -> c_int, -1;
    mkfifoat(at: c_int, path: *const c_char, mode: c_uint; at) -> c_int, -1;
    chmod(path: *const c_char, mode: c_uint;) -> c_int, -1;
    lchmod(path: *const c_char, mode: c_uint;) -> c_int, -1;
    fchmod(fd: c_int, mode: c_uint; fd) -> c_int, -1;
    fchmodat(at: c_int, path: *const c_char, mode: c_uint, flags: c_int; at) -> c_int, -1;
    chown(path: *const c_char, uid: c_uint, gid: c_uint;) -> c_int, -1;
    lchown(path: *const c_char, uid: c_uint, gid: c_uint;) -> c_int, -1;
    fchown(fd: c_int, uid: c_uint, gid: c_uint; fd) -> c_int, -1;
    fchownat(at: c_int, path: *const c_char, uid: c_uint, gid: c_uint, flags: c_int; at) -> c_int, -1;
    utime(path: *const c_char, times: *const c_void;) -> c_int, -1;
    utimes(path: *const c_char, times: *const c_void;) -> c_int, -1;
    lutimes(path: *const c_char, times: *const c_void;) -> c_int, -1;
    futimes(fd: c_int, times: *const c_void; fd) -> c_int, -1;
    futimens(fd: c_int, times: *const c_void; fd) -> c_int, -1;
    futimesat(at: c_int, path: *const c_char, times: *const c_void; at) -> c_int, -1;
    utimensat(at: c_int, path: *const c_char, times: *const c_void, flags: c_int; at) -> c_int, -1;
    truncate(path: *const c_char, size: i64;) -> c_int, -1;
    truncate64(path: *const c_char, size: i64;) -> c_int, -1;
    setxattr(path: *const c_char, name: *const c_char, value: *const c_void, size: usize, flags: c_int;) -> c_int, -1;
    lsetxattr(path: *const c_char, name: *const c_char, value: *const c_void, size: usize, flags: c_int;) -> c_int, -1;
    fsetxattr(fd: c_int, name: *const c_char, value: *const c_void, size: usize, flags: c_int; fd) -> c_int, -1;
    removexattr(path: *const c_char, name: *const c_char;) -> c_int, -1;
    lremovexattr(path: *const c_char, name: *const c_char;) -> c_int, -1;
    fremovexattr(fd: c_int, name: *const c_char; fd) -> c_int, -1;
    mount(from: *const c_char, at: *const c_char, kind: *const c_char, flags: c_ulong, data: *const c_void;) -> c_int, -1;
    umount(at: *const c_char;) -> c_int, -1;
    umount2(at: *const c_char, flags: c_int;) -> c_int, -1;
    move_mount(from: c_int, old: *const c_char, at: c_int, new: *const c_char, flags: c_uint; from at) -> c_int, -1;
    mount_setattr(at: c_int, path: *const c_char, flags: c_uint, attributes: *mut c_void, size: usize; at) -> c_int, -1;
}

/// Defines functions after which a directory may be elsewhere or removed: descriptors are made real
/// first.
macro_rules! moves {
    ($($name:ident($($argument:ident: $kind:ty),*; $($fd:ident)*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            descriptors::make_all_real();
            page::change();
            let result = real!($name($($argument => $kind),*) -> c_int, -1);
            page::change();
            result
        }
    )*};
}

moves! {
    rename(old: *const c_char, new: *const c_char;);
    renameat(from: c_int, old: *const c_char, at: c_int, new: *const c_char; from at);
    renameat2(from: c_int, old: *const c_char, at: c_int, new: *const c_char, flags: c_uint; from at);
    rmdir(path: *const c_char;);
    remove(path: *const c_char;);
    unlinkat(at: c_int, path: *const c_char, flags: c_int; at);
}

/// Defines functions that create a file and return its descriptor.
macro_rules! temporary {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(template: *mut c_char, $($argument: $kind),*) -> c_int {
            // SAFETY: the caller's string.
            unsafe { descriptors::before_path(template) };
            write(true, || {
                real!($name(template => *mut c_char, $($argument => $kind),*) -> c_int, -1)
            })
        }
    )*};
}

/// mkdtemp(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn mkdtemp(template: *mut c_char) -> *mut c_char {
    // SAFETY: the caller's string.
    unsafe { descriptors::before_path(template) };
    page::change();
    let made = real!(mkdtemp(template => *mut c_char) -> *mut c_char, std::ptr::null_mut());
    page::change();
    made
}

temporary! {
    mkstemp();
    mkstemp64();
    mkostemp(flags: c_int);
    mkostemp64(flags: c_int);
    mkstemps(suffix: c_int);
    mkstemps64(suffix: c_int);
    mkostemps(suffix: c_int, flags: c_int);
    mkostemps64(suffix: c_int, flags: c_int);
}
