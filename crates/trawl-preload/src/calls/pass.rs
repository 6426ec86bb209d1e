//! Calls that are passed on as they are, but need a real descriptor.

use std::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};

use crate::place;
use crate::real::real;
use crate::{descriptors, page};

/// Functions with a descriptor among their arguments, each with what they fail with.
macro_rules! passes {
    ($($name:ident($($argument:ident: $kind:ty),*; $($fd:ident)+) -> $result:ty, $failed:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> $result {
            $(descriptors::make_real($fd);)+
            real!($name($($argument => $kind),*) -> $result, $failed)
        }
    )*};
}

passes! {
    fsync(fd: c_int; fd) -> c_int, -1;
    fdatasync(fd: c_int; fd) -> c_int, -1;
    syncfs(fd: c_int; fd) -> c_int, -1;
    ioctl(fd: c_int, request: c_ulong, argument: usize; fd) -> c_int, -1;
    read(fd: c_int, into: *mut c_void, size: usize; fd) -> isize, -1;
    lseek(fd: c_int, offset: i64, whence: c_int; fd) -> i64, -1;
    lseek64(fd: c_int, offset: i64, whence: c_int; fd) -> i64, -1;
    flock(fd: c_int, operation: c_int; fd) -> c_int, -1;
    fstatfs(fd: c_int, into: *mut c_void; fd) -> c_int, -1;
    fstatfs64(fd: c_int, into: *mut c_void; fd) -> c_int, -1;
    fstatvfs(fd: c_int, into: *mut c_void; fd) -> c_int, -1;
    fstatvfs64(fd: c_int, into: *mut c_void; fd) -> c_int, -1;
    fpathconf(fd: c_int, name: c_int; fd) -> c_long, -1;
    isatty(fd: c_int; fd) -> c_int, 0;
    fdopen(fd: c_int, mode: *const c_char; fd) -> *mut c_void, std::ptr::null_mut();
    fgetxattr(fd: c_int, name: *const c_char, value: *mut c_void, size: usize; fd) -> isize, -1;
    flistxattr(fd: c_int, list: *mut c_char, size: usize; fd) -> isize, -1;
    getdents64(fd: c_int, into: *mut c_void, size: usize; fd) -> isize, -1;
    fexecve(fd: c_int, words: *const *const c_char, environment: *const *const c_char; fd) -> c_int, -1;
    execveat(fd: c_int, path: *const c_char, words: *const *const c_char, environment: *const *const c_char, flags: c_int; fd) -> c_int, -1;
    name_to_handle_at(fd: c_int, path: *const c_char, handle: *mut c_void, mount: *mut c_int, flags: c_int; fd) -> c_int, -1;
    fanotify_mark(group: c_int, flags: c_uint, mask: u64, fd: c_int, path: *const c_char; group fd) -> c_int, -1;
    posix_spawn_file_actions_adddup2(actions: *mut c_void, fd: c_int, to: c_int; fd) -> c_int, libc::ENOSYS;
    posix_spawn_file_actions_addfchdir_np(actions: *mut c_void, fd: c_int; fd) -> c_int, libc::ENOSYS;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn chdir(path: *const c_char) -> c_int {
    place::working_directory_changed();
    let code = real!(chdir(path => *const c_char) -> c_int, -1);
    place::working_directory_changed();
    code
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fchdir(fd: c_int) -> c_int {
    descriptors::make_real(fd);
    place::working_directory_changed();
    let code = real!(fchdir(fd => c_int) -> c_int, -1);
    place::working_directory_changed();
    code
}

/// A child that has ended may have changed what none of our functions saw: it need not use the C
/// library.
fn ended(child: c_int) -> c_int {
    if child > 0 {
        page::change();
    }
    child
}

#[unsafe(no_mangle)]
unsafe extern "C" fn wait(status: *mut c_int) -> c_int {
    ended(real!(wait(status => *mut c_int) -> c_int, -1))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int {
    ended(real!(waitpid(child => c_int, status => *mut c_int, options => c_int) -> c_int, -1))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn wait3(status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int {
    ended(real!(wait3(status => *mut c_int, options => c_int, usage => *mut c_void) -> c_int, -1))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn wait4(
    child: c_int,
    status: *mut c_int,
    options: c_int,
    usage: *mut c_void,
) -> c_int {
    ended(real!(wait4(
        child => c_int, status => *mut c_int, options => c_int, usage => *mut c_void,
    ) -> c_int, -1))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn waitid(
    kind: c_int,
    child: c_uint,
    into: *mut c_void,
    options: c_int,
) -> c_int {
    let code = real!(waitid(
        kind => c_int, child => c_uint, into => *mut c_void, options => c_int,
    ) -> c_int, -1);
    if code == 0 {
        page::change();
    }
    code
}

/// system(3), pclose(3): the C library waits by itself.
#[unsafe(no_mangle)]
unsafe extern "C" fn system(command: *const c_char) -> c_int {
    let code = real!(system(command => *const c_char) -> c_int, -1);
    page::change();
    code
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pclose(stream: *mut c_void) -> c_int {
    let code = real!(pclose(stream => *mut c_void) -> c_int, -1);
    page::change();
    code
}
