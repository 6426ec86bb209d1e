//! Whether the caller may do something with a file, as the kernel judges it.

use std::ffi::CStr;
use std::os::fd::AsFd;

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
    let mode = match wish {
        Wish::Read => RawAccess::READ_OK,
        Wish::Write => RawAccess::WRITE_OK,
        Wish::Execute => RawAccess::EXEC_OK,
    };
    rustix::fs::accessat(directory, name, mode, AtFlags::empty()).named(Op::Faccessat)
}
