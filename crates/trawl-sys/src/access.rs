//! Whether the caller may do something with a file, as the kernel judges it.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{Access as RawAccess, AtFlags};

use crate::error::{Named, Op, SysError};

/// What somebody may want to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Read it.
    Read,
    /// Write to it.
    Write,
    /// Execute it, or search it if it is a directory.
    Execute,
}

/// Asks whether the real user and group of the process may do this with what `name` in
/// `directory` leads to, symbolic links followed. `EACCES` where it may not, `EROFS` where nobody
/// may write.
///
/// Source: <https://man7.org/linux/man-pages/man2/access.2.html>
pub fn check(directory: impl AsFd, name: &CStr, wish: Wish) -> Result<(), SysError> {
    rustix::fs::accessat(directory, name, bits(wish), AtFlags::empty()).named(Op::Faccessat)
}

/// The same of what `name` in `directory` is itself: of a symbolic link nothing but itself is
/// looked at. Needs Linux 5.8.
///
/// Source: faccessat2, <https://man7.org/linux/man-pages/man2/access.2.html>
pub fn check_itself(directory: impl AsFd, name: &CStr, wish: Wish) -> Result<(), SysError> {
    check_with(directory, name, wish, libc::AT_SYMLINK_NOFOLLOW)
}

/// The same of an open descriptor, which may be one for stat(2) alone. Needs Linux 5.8.
///
/// Source: faccessat2, `AT_EMPTY_PATH`, <https://man7.org/linux/man-pages/man2/access.2.html>
pub fn check_open(fd: impl AsFd, wish: Wish) -> Result<(), SysError> {
    check_with(fd, c"", wish, libc::AT_EMPTY_PATH)
}

fn check_with(fd: impl AsFd, name: &CStr, wish: Wish, flags: libc::c_int) -> Result<(), SysError> {
    let fd = fd.as_fd().as_raw_fd();
    let mode = bits(wish).bits();
    // SAFETY: the descriptor is open, the name ends in NUL; nothing is written.
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
