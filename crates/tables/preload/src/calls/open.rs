//! Opening and closing: directories without need, and files for writing, which are marked.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::kernel::{self, Quiet, set_errno};
use crate::place::look;
use crate::policy::CallQuestion;
use crate::real::real;
use crate::tables::TableAnswer;
use crate::{descriptors, meter, page, reads, search_path, settings, streams};

/// Returns whether opening with these flags may change or create the file.
pub(crate) fn is_writing(flags: c_int) -> bool {
    flags & libc::O_ACCMODE != libc::O_RDONLY || flags & (libc::O_CREAT | libc::O_TRUNC) != 0
}

/// Returns whether opening with these flags is itself a visible change.
fn is_change(flags: c_int) -> bool {
    flags & (libc::O_CREAT | libc::O_TRUNC) != 0
}

/// Returns whether the call only opens a directory, so that it can be postponed without an effect.
fn is_postponable(flags: c_int) -> bool {
    let asked = libc::O_DIRECTORY | libc::O_CLOEXEC;
    let never = libc::O_PATH | libc::O_ASYNC | libc::O_DIRECT;
    flags & asked == asked && flags & never == 0 && !is_writing(flags)
}

/// Returns whether writes to this path cannot affect a table.
fn is_elsewhere(path: &[u8]) -> bool {
    matches!(path, b"/dev/null" | b"/dev/tty" | b"/dev/full") || path.starts_with(b"/proc/")
}

/// Opens by a table, or by calling `open`.
unsafe fn opened(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    open: impl FnOnce() -> c_int,
) -> c_int {
    if !settings::is_in_run() {
        return open();
    }
    // SAFETY: the caller's string.
    let Some(name) = (unsafe { kernel::bytes(path) }) else {
        return open();
    };
    if is_postponable(flags)
        && let Some(fd) = by_table(directory, name, flags)
    {
        return fd;
    }
    if !is_writing(flags) && search_path::says_absent(name) {
        set_errno(libc::ENOENT);
        return -1;
    }
    descriptors::make_real(directory);
    descriptors::before_name(name);
    let is_list = descriptors::names_list(name);
    let open = || {
        let fd = open();
        if is_list && fd >= 0 {
            descriptors::list_is_open(fd);
        }
        fd
    };
    if is_postponable(flags) {
        return read(flags, || meter::timed_open(open));
    }
    if is_elsewhere(name) {
        return open();
    }
    match is_writing(flags) {
        true => write(is_change(flags), open),
        false => read(flags, open),
    }
}

/// Opens for reading, and notes that the time of access may be moved.
fn read(flags: c_int, open: impl FnOnce() -> c_int) -> c_int {
    let fd = open();
    if flags & (libc::O_PATH | libc::O_NOATIME) == 0 {
        reads::opened(fd);
    }
    fd
}

/// Opens for writing: marks the file, and reports the change if there is one.
pub(crate) fn write(is_change: bool, open: impl FnOnce() -> c_int) -> c_int {
    if is_change {
        page::change();
    }
    let fd = open();
    if fd >= 0 {
        page::mark(fd);
    }
    if is_change {
        page::change();
    }
    fd
}

/// Returns a virtual descriptor, or -1 with `errno` set; `None` if the kernel must answer.
fn by_table(directory: c_int, path: &[u8], flags: c_int) -> Option<c_int> {
    let fail = |errno| {
        set_errno(errno);
        Some(-1)
    };
    match look(directory, path, CallQuestion::List) {
        TableAnswer::Unknown => None,
        TableAnswer::Absent => fail(libc::ENOENT),
        TableAnswer::NotDirectory => fail(libc::ENOTDIR),
        TableAnswer::Found(found) => {
            let Some(listed) = found.listed() else {
                return fail(libc::ENOTDIR);
            };
            // Without the result of fstat(2) the descriptor would be useless.
            found.entry().stat()?;
            let fd = descriptors::new(found.held(), listed.number(), flags, 0)?;
            found.held().answered();
            Some(fd)
        }
    }
}

/// open_by_handle_at(2), which names no path.
#[unsafe(no_mangle)]
unsafe extern "C" fn open_by_handle_at(mount: c_int, handle: *mut c_void, flags: c_int) -> c_int {
    descriptors::make_real(mount);
    let call = || {
        real!(open_by_handle_at(
            mount => c_int, handle => *mut c_void, flags => c_int,
        ) -> c_int, -1)
    };
    match is_writing(flags) {
        true => write(is_change(flags), call),
        false => read(flags, call),
    }
}

/// Defines functions that take flags and optionally a mode.
macro_rules! opens {
    ($($name:ident($($directory:ident)?);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            $($directory: c_int,)?
            path: *const c_char,
            flags: c_int,
            mode: c_uint,
        ) -> c_int {
            #[allow(unused_mut, unused_assignments, reason = "only some take a directory")]
            let mut at = libc::AT_FDCWD;
            $(at = $directory;)?
            let call = || real!($name(
                $($directory => c_int,)? path => *const c_char, flags => c_int, mode => c_uint,
            ) -> c_int, -1);
            // SAFETY: the caller's string.
            unsafe { opened(at, path, flags, call) }
        }
    )*};
}

opens! {
    open();
    open64();
    openat(directory);
    openat64(directory);
    __open_2();
    __open64_2();
    __openat_2(directory);
    __openat64_2(directory);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn creat(path: *const c_char, mode: c_uint) -> c_int {
    // SAFETY: the caller's string.
    unsafe { descriptors::before_path(path) };
    write(
        true,
        || real!(creat(path => *const c_char, mode => c_uint) -> c_int, -1),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn creat64(path: *const c_char, mode: c_uint) -> c_int {
    // SAFETY: the caller's string.
    unsafe { descriptors::before_path(path) };
    write(
        true,
        || real!(creat64(path => *const c_char, mode => c_uint) -> c_int, -1),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn opendir(path: *const c_char) -> *mut libc::DIR {
    // SAFETY: the caller's string.
    let name = unsafe { kernel::bytes(path) }.unwrap_or_default();
    let fail = |errno| {
        set_errno(errno);
        std::ptr::null_mut()
    };
    match look(libc::AT_FDCWD, name, CallQuestion::List) {
        TableAnswer::Unknown => open_stream(path, name),
        TableAnswer::Absent => fail(libc::ENOENT),
        TableAnswer::NotDirectory => fail(libc::ENOTDIR),
        TableAnswer::Found(found) => match found.listed() {
            None => fail(libc::ENOTDIR),
            Some(listed) => {
                found.held().answered();
                streams::open(found.held(), listed.number(), None)
            }
        },
    }
}

/// Opens a directory with the C library's function.
fn open_stream(path: *const c_char, name: &[u8]) -> *mut libc::DIR {
    descriptors::before_name(name);
    let stream = meter::timed_open(
        || real!(opendir(path => *const c_char) -> *mut libc::DIR, std::ptr::null_mut()),
    );
    if !stream.is_null() && settings::is_in_run() {
        let fd = real!(dirfd(stream => *mut libc::DIR) -> c_int, -1);
        reads::opened(fd);
        if descriptors::names_list(name) {
            descriptors::list_is_open(fd);
        }
    }
    stream
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdopendir(fd: c_int) -> *mut libc::DIR {
    if let Some((held, directory)) = descriptors::directory(fd) {
        return streams::open(&held, directory.number(), Some(fd));
    }
    real!(fdopendir(fd => c_int) -> *mut libc::DIR, std::ptr::null_mut())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn close(fd: c_int) -> c_int {
    match descriptors::forget(fd) {
        true => 0,
        false => real!(close(fd => c_int) -> c_int, -1),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    const CLOEXEC: c_int = 4;
    if flags & CLOEXEC == 0 {
        forget_from(first, last);
    }
    real!(close_range(first => c_uint, last => c_uint, flags => c_int) -> c_int, -1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn closefrom(first: c_int) {
    forget_from(first.max(0).unsigned_abs(), c_uint::MAX);
    real!(closefrom(first => c_int) -> (), ());
}

fn forget_from(first: c_uint, last: c_uint) {
    for fd in descriptors::numbers() {
        if (first..=last).contains(&fd.unsigned_abs()) {
            descriptors::forget(fd);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup(fd: c_int) -> c_int {
    descriptors::make_real(fd);
    real!(dup(fd => c_int) -> c_int, -1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup2(fd: c_int, to: c_int) -> c_int {
    descriptors::make_real(fd);
    if fd != to {
        descriptors::forget(to);
    }
    real!(dup2(fd => c_int, to => c_int) -> c_int, -1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup3(fd: c_int, to: c_int, flags: c_int) -> c_int {
    descriptors::make_real(fd);
    if fd != to {
        descriptors::forget(to);
    }
    real!(dup3(fd => c_int, to => c_int, flags => c_int) -> c_int, -1)
}

/// Returns the result of fcntl(2) for a virtual descriptor that can stay virtual.
fn virtual_fcntl(fd: c_int, command: c_int, argument: usize) -> Option<c_int> {
    let flags = descriptors::flags(fd)?;
    let number = argument as c_int;
    match command {
        libc::F_GETFD => Some(libc::FD_CLOEXEC),
        libc::F_SETFD if number & libc::FD_CLOEXEC != 0 => Some(0),
        libc::F_GETFL => Some(flags & !(libc::O_CLOEXEC | libc::O_NOCTTY | libc::O_CREAT) | LARGE),
        libc::F_DUPFD_CLOEXEC => descriptors::again(fd, number),
        _ => None,
    }
}

/// The kernel's `O_LARGEFILE`; the C library's is 0 where all files are large.
#[cfg(target_arch = "x86_64")]
const LARGE: c_int = 0o100_000;
#[cfg(target_arch = "aarch64")]
const LARGE: c_int = 0o400_000;

/// Asks whether two descriptors refer to one open file; since Linux 6.10.
const QUERY: c_int = 1024 + 3;

/// Called before the kernel allocates a number from this one on: it does not know the virtual ones.
fn before_copy(least: c_int) {
    let virtual_ones = descriptors::numbers();
    if least >= virtual_ones.start && least < virtual_ones.end {
        descriptors::make_all_real();
    }
}

macro_rules! fcntls {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(fd: c_int, command: c_int, argument: usize) -> c_int {
            if descriptors::is_virtual(fd) {
                let _quiet = Quiet::new();
                if let Some(result) = virtual_fcntl(fd, command, argument) {
                    return result;
                }
                descriptors::make_real(fd);
            }
            if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC | QUERY) {
                before_copy(argument as c_int);
            }
            real!($name(fd => c_int, command => c_int, argument => usize) -> c_int, -1)
        }
    )*};
}

fcntls!(fcntl fcntl64);

/// Streams of the C library, which opens files by itself.
macro_rules! streams_of_files {
    ($($name:ident($($stream:ident)?);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            path: *const c_char,
            mode: *const c_char,
            $($stream: *mut libc::FILE,)?
        ) -> *mut libc::FILE {
            let call = || real!($name(
                path => *const c_char, mode => *const c_char, $($stream => *mut libc::FILE,)?
            ) -> *mut libc::FILE, std::ptr::null_mut());
            // SAFETY: the caller's strings.
            unsafe { file(path, mode, call) }
        }
    )*};
}

streams_of_files! {
    fopen();
    fopen64();
    freopen(stream);
    freopen64(stream);
}

unsafe fn file(
    path: *const c_char,
    mode: *const c_char,
    open: impl FnOnce() -> *mut libc::FILE,
) -> *mut libc::FILE {
    // SAFETY: the caller's strings.
    let (path, mode) = unsafe { (kernel::bytes(path), kernel::bytes(mode)) };
    let mode = mode.unwrap_or_default();
    descriptors::before_name(path.unwrap_or_default());
    let is_writing = mode.iter().any(|letter| b"wa+".contains(letter));
    if !settings::is_in_run() || path.is_some_and(is_elsewhere) {
        return open();
    }
    if !is_writing {
        let file = open();
        if !file.is_null() {
            // SAFETY: a stream that was just opened.
            reads::opened(unsafe { libc::fileno(file) });
        }
        return file;
    }
    page::change();
    let file = open();
    if !file.is_null() {
        // SAFETY: a stream that was just opened.
        page::mark(unsafe { libc::fileno(file) });
    }
    page::change();
    file
}
