//! Access checks by the kernel: whether the caller may read, write or execute a file.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{Access as RawAccess, AtFlags};

use crate::error::{Named, Op, SysError};

/// Kind of access to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Executing, or searching a directory.
    Execute,
}

/// Checks whether the real user and group of the process have this access to `name` in `directory`;
/// symbolic links are followed. Fails with `EACCES` if access is denied, with `EROFS` if the file
/// system is read-only.
///
/// Source: <https://man7.org/linux/man-pages/man2/access.2.html>
pub fn check(directory: impl AsFd, name: &CStr, wish: Wish) -> Result<(), SysError> {
    rustix::fs::accessat(directory, name, bits(wish), AtFlags::empty()).named(Op::Faccessat)
}

/// Like [`check`], but a symbolic link at the end of `name` is checked itself. Needs Linux 5.8.
///
/// Source: faccessat2, <https://man7.org/linux/man-pages/man2/access.2.html>
pub fn check_itself(directory: impl AsFd, name: &CStr, wish: Wish) -> Result<(), SysError> {
    check_with(directory, name, wish, libc::AT_SYMLINK_NOFOLLOW)
}

/// Like [`check`], for an open descriptor, which may have been opened with `O_PATH`. Needs Linux
/// 5.8.
///
/// Source: faccessat2, `AT_EMPTY_PATH`, <https://man7.org/linux/man-pages/man2/access.2.html>
pub fn check_open(fd: impl AsFd, wish: Wish) -> Result<(), SysError> {
    check_with(fd, c"", wish, libc::AT_EMPTY_PATH)
}

fn check_with(fd: impl AsFd, name: &CStr, wish: Wish, flags: libc::c_int) -> Result<(), SysError> {
    let fd = fd.as_fd().as_raw_fd();
    let mode = bits(wish).bits();
    // SAFETY: the descriptor is open, the name is NUL-terminated; the kernel writes nothing.
    let code = unsafe { libc::syscall(libc::SYS_faccessat2, fd, name.as_ptr(), mode, flags) };
    match code {
        0 => Ok(()),
        _ => Err(SysError::last(Op::Faccessat)),
    }
}

fn bits(wish: Wish) -> RawAccess {
    match wish {
        Wish::Read => RawAccess::READ_OK,
        Wish::Write => RawAccess::WRITE_OK,
        Wish::Execute => RawAccess::EXEC_OK,
    }
}
