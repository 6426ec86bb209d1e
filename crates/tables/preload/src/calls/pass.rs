//! Calls that are passed on unchanged but need a real descriptor, as an argument or in a path.
//!
//! write(2) and similar calls are missing: they fail with `EBADF` whether or not a directory is
//! open.

use std::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};

use crate::calls::Argument;
use crate::descriptors;
use crate::kernel::{self, Own};
use crate::place;
use crate::real::{Real, real};

/// Defines functions with descriptors or paths among their arguments, each with its failure value.
macro_rules! passes {
    ($($name:ident($($argument:ident: $kind:ty),*; $($fd:ident)*) -> $result:ty, $failed:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> $result {
            $(descriptors::make_real($fd);)*
            // SAFETY: the caller's strings.
            unsafe { $($argument.is_followed();)* }
            real!($name($($argument => $kind),*) -> $result, $failed)
        }
    )*};
}

// Contents of open files.
passes! {
    read(fd: c_int, into: *mut c_void, size: usize; fd) -> isize, -1;
    __read_chk(fd: c_int, into: *mut c_void, size: usize, room: usize; fd) -> isize, -1;
    pread(fd: c_int, into: *mut c_void, size: usize, offset: i64; fd) -> isize, -1;
    pread64(fd: c_int, into: *mut c_void, size: usize, offset: i64; fd) -> isize, -1;
    __pread_chk(fd: c_int, into: *mut c_void, size: usize, offset: i64, room: usize; fd) -> isize, -1;
    __pread64_chk(fd: c_int, into: *mut c_void, size: usize, offset: i64, room: usize; fd) -> isize, -1;
    readv(fd: c_int, parts: *const c_void, count: c_int; fd) -> isize, -1;
    preadv(fd: c_int, parts: *const c_void, count: c_int, offset: i64; fd) -> isize, -1;
    preadv64(fd: c_int, parts: *const c_void, count: c_int, offset: i64; fd) -> isize, -1;
    preadv2(fd: c_int, parts: *const c_void, count: c_int, offset: i64, flags: c_int; fd) -> isize, -1;
    preadv64v2(fd: c_int, parts: *const c_void, count: c_int, offset: i64, flags: c_int; fd) -> isize, -1;
    getdents64(fd: c_int, into: *mut c_void, size: usize; fd) -> isize, -1;
    lseek(fd: c_int, offset: i64, whence: c_int; fd) -> i64, -1;
    lseek64(fd: c_int, offset: i64, whence: c_int; fd) -> i64, -1;
    sendfile(to: c_int, from: c_int, offset: *mut c_void, size: usize; to from) -> isize, -1;
    sendfile64(to: c_int, from: c_int, offset: *mut c_void, size: usize; to from) -> isize, -1;
    copy_file_range(from: c_int, offset: *mut c_void, to: c_int, other: *mut c_void, size: usize, flags: c_uint; from to) -> isize, -1;
    splice(from: c_int, offset: *mut c_void, to: c_int, other: *mut c_void, size: usize, flags: c_uint; from to) -> isize, -1;
    tee(from: c_int, to: c_int, size: usize, flags: c_uint; from to) -> isize, -1;
    vmsplice(fd: c_int, parts: *const c_void, count: usize, flags: c_uint; fd) -> isize, -1;
    readahead(fd: c_int, offset: i64, size: usize; fd) -> isize, -1;
    posix_fadvise(fd: c_int, offset: i64, size: i64, advice: c_int; fd) -> c_int, libc::ENOSYS;
    posix_fadvise64(fd: c_int, offset: i64, size: i64, advice: c_int; fd) -> c_int, libc::ENOSYS;
    posix_fallocate(fd: c_int, offset: i64, size: i64; fd) -> c_int, libc::ENOSYS;
    posix_fallocate64(fd: c_int, offset: i64, size: i64; fd) -> c_int, libc::ENOSYS;
    fallocate(fd: c_int, mode: c_int, offset: i64, size: i64; fd) -> c_int, -1;
    fallocate64(fd: c_int, mode: c_int, offset: i64, size: i64; fd) -> c_int, -1;
    ftruncate(fd: c_int, size: i64; fd) -> c_int, -1;
    ftruncate64(fd: c_int, size: i64; fd) -> c_int, -1;
    fsync(fd: c_int; fd) -> c_int, -1;
    fdatasync(fd: c_int; fd) -> c_int, -1;
    sync_file_range(fd: c_int, offset: i64, size: i64, flags: c_uint; fd) -> c_int, -1;
    syncfs(fd: c_int; fd) -> c_int, -1;
    flock(fd: c_int, operation: c_int; fd) -> c_int, -1;
    lockf(fd: c_int, command: c_int, size: i64; fd) -> c_int, -1;
    lockf64(fd: c_int, command: c_int, size: i64; fd) -> c_int, -1;
    fdopen(fd: c_int, mode: *const c_char; fd) -> *mut c_void, std::ptr::null_mut();
}

// Attributes of open files and of paths, watches, mounts, and descriptors for children.
passes! {
    fstatfs(fd: c_int, into: *mut c_void; fd) -> c_int, -1;
    fstatfs64(fd: c_int, into: *mut c_void; fd) -> c_int, -1;
    fstatvfs(fd: c_int, into: *mut c_void; fd) -> c_int, -1;
    fstatvfs64(fd: c_int, into: *mut c_void; fd) -> c_int, -1;
    statfs(path: *const c_char, into: *mut c_void;) -> c_int, -1;
    statfs64(path: *const c_char, into: *mut c_void;) -> c_int, -1;
    statvfs(path: *const c_char, into: *mut c_void;) -> c_int, -1;
    statvfs64(path: *const c_char, into: *mut c_void;) -> c_int, -1;
    fpathconf(fd: c_int, name: c_int; fd) -> c_long, -1;
    pathconf(path: *const c_char, name: c_int;) -> c_long, -1;
    realpath(path: *const c_char, into: *mut c_char;) -> *mut c_char, std::ptr::null_mut();
    __realpath_chk(path: *const c_char, into: *mut c_char, room: usize;) -> *mut c_char, std::ptr::null_mut();
    canonicalize_file_name(path: *const c_char;) -> *mut c_char, std::ptr::null_mut();
    ftok(path: *const c_char, number: c_int;) -> c_int, -1;
    fgetxattr(fd: c_int, name: *const c_char, value: *mut c_void, size: usize; fd) -> isize, -1;
    flistxattr(fd: c_int, list: *mut c_char, size: usize; fd) -> isize, -1;
    listxattr(path: *const c_char, list: *mut c_char, size: usize;) -> isize, -1;
    llistxattr(path: *const c_char, list: *mut c_char, size: usize;) -> isize, -1;
    name_to_handle_at(at: c_int, path: *const c_char, handle: *mut c_void, mount: *mut c_int, flags: c_int; at) -> c_int, -1;
    inotify_add_watch(group: c_int, path: *const c_char, mask: c_uint; group) -> c_int, -1;
    inotify_rm_watch(group: c_int, watch: c_int; group) -> c_int, -1;
    fanotify_mark(group: c_int, flags: c_uint, mask: u64, at: c_int, path: *const c_char; group at) -> c_int, -1;
    open_tree(at: c_int, path: *const c_char, flags: c_uint; at) -> c_int, -1;
    fspick(at: c_int, path: *const c_char, flags: c_uint; at) -> c_int, -1;
    fsconfig(fd: c_int, command: c_uint, key: *const c_char, value: *const c_void, other: c_int; fd other) -> c_int, -1;
    fsmount(fd: c_int, flags: c_uint, attributes: c_uint; fd) -> c_int, -1;
    pidfd_getfd(process: c_int, fd: c_int, flags: c_uint; process fd) -> c_int, -1;
    posix_spawn_file_actions_adddup2(actions: *mut c_void, fd: c_int, to: c_int; fd) -> c_int, libc::ENOSYS;
    posix_spawn_file_actions_addfchdir_np(actions: *mut c_void, fd: c_int; fd) -> c_int, libc::ENOSYS;
    posix_spawn_file_actions_addchdir_np(actions: *mut c_void, path: *const c_char;) -> c_int, libc::ENOSYS;
}

// Terminals, sockets and the like, which a directory is not: the kernel reports that.
passes! {
    isatty(fd: c_int; fd) -> c_int, 0;
    isfdtype(fd: c_int, kind: c_int; fd) -> c_int, -1;
    ttyname(fd: c_int; fd) -> *mut c_char, std::ptr::null_mut();
    ttyname_r(fd: c_int, into: *mut c_char, size: usize; fd) -> c_int, libc::ENOSYS;
    __ttyname_r_chk(fd: c_int, into: *mut c_char, size: usize, room: usize; fd) -> c_int, libc::ENOSYS;
    ptsname(fd: c_int; fd) -> *mut c_char, std::ptr::null_mut();
    ptsname_r(fd: c_int, into: *mut c_char, size: usize; fd) -> c_int, libc::ENOSYS;
    __ptsname_r_chk(fd: c_int, into: *mut c_char, size: usize, room: usize; fd) -> c_int, libc::ENOSYS;
    grantpt(fd: c_int; fd) -> c_int, -1;
    unlockpt(fd: c_int; fd) -> c_int, -1;
    tcgetattr(fd: c_int, into: *mut c_void; fd) -> c_int, -1;
    tcsetattr(fd: c_int, when: c_int, from: *const c_void; fd) -> c_int, -1;
    tcgetpgrp(fd: c_int; fd) -> c_int, -1;
    tcsetpgrp(fd: c_int, group: c_int; fd) -> c_int, -1;
    tcgetsid(fd: c_int; fd) -> c_int, -1;
    tcdrain(fd: c_int; fd) -> c_int, -1;
    tcflow(fd: c_int, action: c_int; fd) -> c_int, -1;
    tcflush(fd: c_int, queue: c_int; fd) -> c_int, -1;
    tcsendbreak(fd: c_int, long: c_int; fd) -> c_int, -1;
    accept(fd: c_int, from: *mut c_void, length: *mut c_void; fd) -> c_int, -1;
    accept4(fd: c_int, from: *mut c_void, length: *mut c_void, flags: c_int; fd) -> c_int, -1;
    listen(fd: c_int, waiting: c_int; fd) -> c_int, -1;
    shutdown(fd: c_int, how: c_int; fd) -> c_int, -1;
    getsockname(fd: c_int, into: *mut c_void, length: *mut c_void; fd) -> c_int, -1;
    getpeername(fd: c_int, into: *mut c_void, length: *mut c_void; fd) -> c_int, -1;
    getsockopt(fd: c_int, level: c_int, name: c_int, into: *mut c_void, length: *mut c_void; fd) -> c_int, -1;
    setsockopt(fd: c_int, level: c_int, name: c_int, from: *const c_void, length: c_uint; fd) -> c_int, -1;
    sockatmark(fd: c_int; fd) -> c_int, -1;
    send(fd: c_int, from: *const c_void, size: usize, flags: c_int; fd) -> isize, -1;
    recv(fd: c_int, into: *mut c_void, size: usize, flags: c_int; fd) -> isize, -1;
    __recv_chk(fd: c_int, into: *mut c_void, size: usize, room: usize, flags: c_int; fd) -> isize, -1;
    recvfrom(fd: c_int, into: *mut c_void, size: usize, flags: c_int, from: *mut c_void, length: *mut c_void; fd) -> isize, -1;
    __recvfrom_chk(fd: c_int, into: *mut c_void, size: usize, room: usize, flags: c_int, from: *mut c_void, length: *mut c_void; fd) -> isize, -1;
    recvmsg(fd: c_int, message: *mut c_void, flags: c_int; fd) -> isize, -1;
    recvmmsg(fd: c_int, messages: *mut c_void, count: c_uint, flags: c_int, patience: *mut c_void; fd) -> c_int, -1;
    epoll_ctl(group: c_int, operation: c_int, fd: c_int, event: *mut c_void; group fd) -> c_int, -1;
    epoll_wait(group: c_int, events: *mut c_void, count: c_int, patience: c_int; group) -> c_int, -1;
    epoll_pwait(group: c_int, events: *mut c_void, count: c_int, patience: c_int, mask: *const c_void; group) -> c_int, -1;
    epoll_pwait2(group: c_int, events: *mut c_void, count: c_int, patience: *const c_void, mask: *const c_void; group) -> c_int, -1;
    signalfd(fd: c_int, mask: *const c_void, flags: c_int; fd) -> c_int, -1;
    eventfd_read(fd: c_int, into: *mut c_void; fd) -> c_int, -1;
    timerfd_gettime(fd: c_int, into: *mut c_void; fd) -> c_int, -1;
    timerfd_settime(fd: c_int, flags: c_int, from: *const c_void, into: *mut c_void; fd) -> c_int, -1;
}

/// mmap(2), which an allocator may call before the functions were looked up.
macro_rules! maps {
    ($($name:ident, $text:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            at: *mut c_void,
            size: usize,
            protection: c_int,
            flags: c_int,
            fd: c_int,
            offset: i64,
        ) -> *mut c_void {
            static REAL: Real = Real::new($text);
            #[used]
            #[unsafe(link_section = "trawl_real")]
            static TO_BE_LOOKED_UP: &Real = &REAL;
            type Map = unsafe extern "C" fn(
                *mut c_void, usize, c_int, c_int, c_int, i64,
            ) -> *mut c_void;
            descriptors::make_real(fd);
            let found = REAL.known();
            if !found.is_null() {
                // SAFETY: the C library's function of this name has this type; the arguments are
                // the caller's own.
                return unsafe {
                    std::mem::transmute::<*mut c_void, Map>(found)(
                        at, size, protection, flags, fd, offset,
                    )
                };
            }
            // SAFETY: as above.
            match unsafe { kernel::map_at(at.cast(), size, protection, flags, fd, offset) } {
                Ok(at) => at.cast(),
                Err(errno) => {
                    kernel::set_errno(errno);
                    libc::MAP_FAILED
                }
            }
        }
    )*};
}

maps! {
    mmap, c"mmap";
    mmap64, c"mmap64";
}

/// ioctl(2): some requests have a descriptor as their argument, too.
#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: usize) -> c_int {
    const CLONE: c_ulong = 0x4004_9409;
    descriptors::make_real(fd);
    if request & 0xffff_ffff == CLONE {
        descriptors::make_real(argument as c_int);
    }
    real!(ioctl(fd => c_int, request => c_ulong, argument => usize) -> c_int, -1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn chdir(path: *const c_char) -> c_int {
    // SAFETY: the caller's string.
    let is_list = unsafe {
        descriptors::before_path(path);
        kernel::bytes(path).is_some_and(descriptors::names_list)
    };
    place::working_directory_changed();
    let code = real!(chdir(path => *const c_char) -> c_int, -1);
    place::working_directory_changed();
    if is_list
        && code == 0
        && let Ok(here) = kernel::open(c".", libc::O_PATH | libc::O_CLOEXEC).map(Own)
    {
        descriptors::list_is_open(here.0);
    }
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
