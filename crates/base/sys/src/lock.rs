//! Locks on whole files that belong to the open file, not to the process.
//!
//! Unlike with flock(2), a process that may only read a file can take only a shared lock on it. So
//! readers of a file that they cannot write cannot lock each other out.

use std::os::fd::{AsFd, AsRawFd};

use crate::error::{Errno, Op, SysError};

/// The locks that others may hold at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Shared locks. The file must be open for reading.
    Shared,
    /// No locks. The file must be open for writing.
    Alone,
}

/// Tries to lock the whole of an open file, without waiting. Returns false if another open file has
/// a conflicting lock. Closing the file's last descriptor releases the lock.
///
/// Source: `F_OFD_SETLK`, <https://man7.org/linux/man-pages/man2/F_OFD_SETLK.2const.html>
///
/// # Errors
/// Fails if the file system does not support such locks.
pub fn try_lock(file: impl AsFd, lock: Lock) -> Result<bool, SysError> {
    let kind = match lock {
        Lock::Shared => libc::F_RDLCK,
        Lock::Alone => libc::F_WRLCK,
    };
    // SAFETY: all zeroes is a valid value of this plain structure.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    range.l_type = kind as libc::c_short;
    range.l_whence = libc::SEEK_SET as libc::c_short;
    // SAFETY: the descriptor is open, and `range` is valid for the call.
    let done = unsafe { libc::fcntl(file.as_fd().as_raw_fd(), libc::F_OFD_SETLK, &range) };
    if done == 0 {
        return Ok(true);
    }
    let errno = std::io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or_default();
    match errno {
        libc::EAGAIN | libc::EACCES => Ok(false),
        errno => Err(SysError::new(Op::Fcntl, Errno(errno))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    #[test]
    fn readers_share_and_cannot_exclude() {
        let made = tempfile::NamedTempFile::new().unwrap();
        let reader = || std::fs::File::open(made.path()).unwrap();
        let (first, second) = (reader(), reader());
        assert_eq!(try_lock(&first, Lock::Shared), Ok(true));
        assert_eq!(try_lock(&second, Lock::Shared), Ok(true));
        assert!(try_lock(&first, Lock::Alone).is_err(), "it cannot write");
        let writer = OpenOptions::new()
            .read(true)
            .write(true)
            .open(made.path())
            .unwrap();
        assert_eq!(try_lock(&writer, Lock::Alone), Ok(false));
        drop((first, second));
        assert_eq!(try_lock(&writer, Lock::Alone), Ok(true));
        assert_eq!(try_lock(reader(), Lock::Shared), Ok(false));
    }
}
