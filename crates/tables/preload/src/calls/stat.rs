//! Answers stat(2), access(2) and readlink(2).

use std::ffi::{c_char, c_int, c_uint};

use trawl_table::{FileKind, Stat};

use crate::kernel::{self, set_errno};
use crate::place::look;
use crate::policy::CallQuestion;
use crate::real::real;
use crate::tables::TableAnswer;
use crate::{descriptors, meter, page};

/// A table's answer about a file.
enum Answer {
    Stat(Stat),
    Error(c_int),
    /// The kernel must answer.
    None,
}

/// Answers lstat(2), or stat(2) if links are followed.
unsafe fn answer(directory: c_int, path: *const c_char, flags: c_int) -> Answer {
    // SAFETY: the caller's string.
    let Some(name) = (unsafe { kernel::bytes(path) }) else {
        return Answer::None;
    };
    let known_flags = libc::AT_SYMLINK_NOFOLLOW | libc::AT_NO_AUTOMOUNT | libc::AT_EMPTY_PATH;
    if flags & !known_flags != 0 {
        return Answer::None;
    }
    if name.is_empty() {
        return match flags & libc::AT_EMPTY_PATH {
            0 => Answer::None,
            _ => of_open(directory),
        };
    }
    match look(directory, name, CallQuestion::Stat) {
        TableAnswer::Unknown => Answer::None,
        TableAnswer::Absent => Answer::Error(libc::ENOENT),
        TableAnswer::NotDirectory => Answer::Error(libc::ENOTDIR),
        TableAnswer::Found(found) => {
            let Some(stat) = found.entry().stat() else {
                return Answer::None;
            };
            let kind = FileKind::of_mode(stat.mode);
            let is_followed = flags & libc::AT_SYMLINK_NOFOLLOW == 0;
            let is_unknown = match kind {
                Some(FileKind::Link) => is_followed,
                _ => page::is_marked(stat.dev, stat.ino),
            };
            if is_unknown {
                return Answer::None;
            }
            found.held().answered();
            Answer::Stat(stat)
        }
    }
}

/// Answers fstat(2) for a virtual descriptor.
fn of_open(fd: c_int) -> Answer {
    let Some((_held, directory)) = descriptors::directory(fd) else {
        return Answer::None;
    };
    match directory.itself().and_then(|entry| entry.stat()) {
        Some(stat) => Answer::Stat(stat),
        None => Answer::None,
    }
}

/// Writes the values to the caller's structure.
unsafe fn write(stat: &Stat, into: *mut libc::stat) {
    // SAFETY: all zeros are a valid value, and the caller's structure has room.
    unsafe {
        into.write_bytes(0, 1);
        let into = &mut *into;
        into.st_dev = stat.dev;
        into.st_ino = stat.ino;
        into.st_mode = stat.mode;
        into.st_nlink = stat.nlink as libc::nlink_t;
        into.st_uid = stat.uid;
        into.st_gid = stat.gid;
        into.st_rdev = stat.rdev;
        into.st_size = stat.size as libc::off_t;
        into.st_blksize = stat.blksize as libc::blksize_t;
        into.st_blocks = stat.blocks as libc::blkcnt_t;
        into.st_atime = stat.atime.secs;
        into.st_atime_nsec = i64::from(stat.atime.nanos);
        into.st_mtime = stat.mtime.secs;
        into.st_mtime_nsec = i64::from(stat.mtime.nanos);
        into.st_ctime = stat.ctime.secs;
        into.st_ctime_nsec = i64::from(stat.ctime.nanos);
    }
}

/// Answers from a table, or calls `call`.
unsafe fn stat_or(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    into: *mut libc::stat,
    call: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller's string and structure.
    unsafe {
        match answer(directory, path, flags) {
            Answer::Stat(stat) if !into.is_null() => {
                write(&stat, into);
                0
            }
            Answer::Error(errno) => {
                set_errno(errno);
                -1
            }
            _ => {
                descriptors::make_real(directory);
                descriptors::before_path(path);
                meter::timed(call)
            }
        }
    }
}

macro_rules! stats_of_paths {
    ($($name:ident, $flags:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, into: *mut libc::stat) -> c_int {
            let call = || real!($name(path => *const c_char, into => *mut libc::stat) -> c_int, -1);
            // SAFETY: the caller's string and structure.
            unsafe { stat_or(libc::AT_FDCWD, path, $flags, into, call) }
        }
    )*};
}

stats_of_paths! {
    stat, 0;
    stat64, 0;
    lstat, libc::AT_SYMLINK_NOFOLLOW;
    lstat64, libc::AT_SYMLINK_NOFOLLOW;
}

macro_rules! stats_of_open {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(fd: c_int, into: *mut libc::stat) -> c_int {
            let call = || real!($name(fd => c_int, into => *mut libc::stat) -> c_int, -1);
            if !descriptors::is_virtual(fd) {
                return call();
            }
            // SAFETY: the caller's structure.
            unsafe { stat_or(fd, c"".as_ptr(), libc::AT_EMPTY_PATH, into, call) }
        }
    )*};
}

stats_of_open!(fstat fstat64);

macro_rules! stats_at {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            directory: c_int,
            path: *const c_char,
            into: *mut libc::stat,
            flags: c_int,
        ) -> c_int {
            let call = || real!($name(
                directory => c_int, path => *const c_char, into => *mut libc::stat, flags => c_int,
            ) -> c_int, -1);
            // SAFETY: the caller's string and structure.
            unsafe { stat_or(directory, path, flags, into, call) }
        }
    )*};
}

stats_at!(fstatat fstatat64);

/// Defines functions for programs that were linked before 2021. Their first argument names the
/// layout of the structure; on these platforms there is only one.
macro_rules! versioned {
    ($($name:ident => $now:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(_version: c_int, $($argument: $kind),*) -> c_int {
            // SAFETY: the caller's arguments.
            unsafe { $now($($argument),*) }
        }
    )*};
}

versioned! {
    __xstat => stat(path: *const c_char, into: *mut libc::stat);
    __xstat64 => stat64(path: *const c_char, into: *mut libc::stat);
    __lxstat => lstat(path: *const c_char, into: *mut libc::stat);
    __lxstat64 => lstat64(path: *const c_char, into: *mut libc::stat);
    __fxstat => fstat(fd: c_int, into: *mut libc::stat);
    __fxstat64 => fstat64(fd: c_int, into: *mut libc::stat);
    __fxstatat => fstatat(fd: c_int, path: *const c_char, into: *mut libc::stat, flags: c_int);
    __fxstatat64 => fstatat64(fd: c_int, path: *const c_char, into: *mut libc::stat, flags: c_int);
}

/// The fields that tables have: the basic ones, the birth time, the mount.
const MASK_KNOWN: c_uint = 0xfff | 0x1000;

#[unsafe(no_mangle)]
unsafe extern "C" fn statx(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    into: *mut libc::statx,
) -> c_int {
    if mask & !MASK_KNOWN == 0 && !into.is_null() {
        // SAFETY: the caller's string and structure.
        unsafe {
            match answer(directory, path, flags) {
                Answer::Stat(stat) if mask & !stat.mask & 0x7ff == 0 => {
                    write_extended(&stat, mask, into);
                    return 0;
                }
                Answer::Error(errno) => {
                    set_errno(errno);
                    return -1;
                }
                _ => {}
            }
        }
    }
    descriptors::make_real(directory);
    // SAFETY: the caller's string.
    unsafe { descriptors::before_path(path) };
    let call = || {
        real!(statx(
        directory => c_int, path => *const c_char, flags => c_int, mask => c_uint,
        into => *mut libc::statx,
    ) -> c_int, -1)
    };
    meter::timed(call)
}

unsafe fn write_extended(stat: &Stat, mask: c_uint, into: *mut libc::statx) {
    let time = |time: trawl_table::Time| {
        // SAFETY: all zeros are a valid time.
        let mut at: libc::statx_timestamp = unsafe { std::mem::zeroed() };
        (at.tv_sec, at.tv_nsec) = (time.secs, time.nanos);
        at
    };
    // SAFETY: all zeros are a valid value, and the caller's structure has room.
    unsafe {
        into.write_bytes(0, 1);
        let into = &mut *into;
        // The birth time is reported only on request.
        into.stx_mask = stat.mask & (mask | !0x800);
        into.stx_blksize = stat.blksize;
        into.stx_attributes = stat.attributes;
        into.stx_attributes_mask = stat.attributes_mask;
        into.stx_nlink = stat.nlink as u32;
        (into.stx_uid, into.stx_gid) = (stat.uid, stat.gid);
        into.stx_mode = stat.mode as u16;
        (into.stx_ino, into.stx_size, into.stx_blocks) = (stat.ino, stat.size, stat.blocks);
        into.stx_atime = time(stat.atime);
        into.stx_mtime = time(stat.mtime);
        into.stx_ctime = time(stat.ctime);
        if into.stx_mask & 0x800 != 0 {
            into.stx_btime = time(stat.btime);
        }
        into.stx_rdev_major = libc::major(stat.rdev);
        into.stx_rdev_minor = libc::minor(stat.rdev);
        into.stx_dev_major = libc::major(stat.dev);
        into.stx_dev_minor = libc::minor(stat.dev);
        into.stx_mnt_id = stat.mnt_id;
    }
}

/// Answers access(2) for existence only, not for permissions; `None` if the kernel must answer.
unsafe fn existence(directory: c_int, path: *const c_char, mode: c_int) -> Option<c_int> {
    // SAFETY: the caller's string.
    match unsafe { answer(directory, path, 0) } {
        Answer::Stat(_) => (mode == libc::F_OK).then_some(0),
        Answer::Error(errno) => {
            set_errno(errno);
            Some(-1)
        }
        Answer::None => None,
    }
}

macro_rules! accesses {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, mode: c_int) -> c_int {
            // SAFETY: the caller's string.
            match unsafe { existence(libc::AT_FDCWD, path, mode) } {
                Some(answer) => return answer,
                // SAFETY: as above.
                None => unsafe { descriptors::before_path(path) },
            }
            meter::timed(|| real!($name(path => *const c_char, mode => c_int) -> c_int, -1))
        }
    )*};
}

accesses!(access euidaccess eaccess);

#[unsafe(no_mangle)]
unsafe extern "C" fn faccessat(
    directory: c_int,
    path: *const c_char,
    mode: c_int,
    flags: c_int,
) -> c_int {
    if flags & !libc::AT_EACCESS == 0 {
        // SAFETY: the caller's string.
        if let Some(answer) = unsafe { existence(directory, path, mode) } {
            return answer;
        }
    }
    descriptors::make_real(directory);
    // SAFETY: as above.
    unsafe { descriptors::before_path(path) };
    meter::timed(|| {
        real!(faccessat(
            directory => c_int, path => *const c_char, mode => c_int, flags => c_int,
        ) -> c_int, -1)
    })
}

/// Answers readlink(2); `None` if the kernel must answer.
unsafe fn target(
    directory: c_int,
    path: *const c_char,
    into: *mut c_char,
    size: usize,
) -> Option<isize> {
    // SAFETY: the caller's string.
    let name = unsafe { kernel::bytes(path) }?;
    if name.is_empty() || into.is_null() || size == 0 || size > isize::MAX.unsigned_abs() {
        return None;
    }
    let fail = |errno| {
        set_errno(errno);
        Some(-1)
    };
    match look(directory, name, CallQuestion::Stat) {
        TableAnswer::Unknown => None,
        TableAnswer::Absent => fail(libc::ENOENT),
        TableAnswer::NotDirectory => fail(libc::ENOTDIR),
        TableAnswer::Found(found) => {
            let kind = FileKind::of_mode(found.entry().stat()?.mode);
            if kind != Some(FileKind::Link) {
                found.held().answered();
                return fail(libc::EINVAL);
            }
            let link = found.entry().link()?;
            let length = link.len().min(size);
            // SAFETY: the caller's buffer has `size` bytes.
            unsafe { link.as_ptr().copy_to_nonoverlapping(into.cast(), length) };
            found.held().answered();
            isize::try_from(length).ok()
        }
    }
}

macro_rules! links {
    ($($name:ident($($directory:ident)?; $($room:ident)?);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            $($directory: c_int,)?
            path: *const c_char,
            into: *mut c_char,
            size: usize,
            $($room: usize,)?
        ) -> isize {
            #[allow(unused_mut, unused_assignments, reason = "only some take a directory")]
            let mut at = libc::AT_FDCWD;
            $(at = $directory;)?
            // With less room the C library aborts the program.
            #[allow(unused_mut, unused_assignments, reason = "only some are told")]
            let mut has_room = true;
            $(has_room = size <= $room;)?
            // SAFETY: the caller's string and buffer.
            if has_room && let Some(answer) = unsafe { target(at, path, into, size) } {
                return answer;
            }
            descriptors::make_real(at);
            // SAFETY: as above.
            unsafe { descriptors::before_path(path) };
            meter::timed(|| {
                real!($name(
                    $($directory => c_int,)? path => *const c_char, into => *mut c_char,
                    size => usize, $($room => usize,)?
                ) -> isize, -1)
            })
        }
    )*};
}

links! {
    readlink(;);
    readlinkat(directory;);
    __readlink_chk(; room);
    __readlinkat_chk(directory; room);
}
