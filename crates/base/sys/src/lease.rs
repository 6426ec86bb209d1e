//! Whether a file is open for writing, by anybody.

use std::os::fd::{AsFd, AsRawFd};

use crate::error::{Errno, Op, SysError};

/// Command that chooses the signal, which `libc` lacks.
const F_SETSIG: libc::c_int = 10;

/// Returns whether no open file of this inode can be written at this moment, memory mappings
/// included. The file must be open for reading only.
///
/// A lease says so: the kernel grants a read lease only then. The lease is given back at once. Its
/// owner would be told of a writer by a signal that is ignored by default.
///
/// Source: `F_SETLEASE`, <https://man7.org/linux/man-pages/man2/F_SETLEASE.2const.html>
///
/// # Errors
/// Fails if the file system has no leases, or if the file belongs to another user and the process
/// lacks `CAP_LEASE`.
pub fn has_no_writer(file: impl AsFd) -> Result<bool, SysError> {
    let fd = file.as_fd().as_raw_fd();
    set(fd, F_SETSIG, libc::SIGURG)?;
    match set(fd, libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => set(fd, libc::F_SETLEASE, libc::F_UNLCK).map(|()| true),
        Err(error) if error.errno == Errno(libc::EAGAIN) => Ok(false),
        Err(error) => Err(error),
    }
}

fn set(fd: i32, command: i32, value: i32) -> Result<(), SysError> {
    // SAFETY: the descriptor is open, and these commands take an integer.
    let done = unsafe { libc::fcntl(fd, command, value) };
    let errno = || std::io::Error::last_os_error().raw_os_error();
    match done {
        0 => Ok(()),
        _ => Err(SysError::new(Op::Fcntl, Errno(errno().unwrap_or_default()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, OpenOptions};

    #[test]
    fn a_writer_is_noticed_until_it_closes() {
        let made = tempfile::NamedTempFile::new().unwrap();
        let path = made.into_temp_path();
        let reader = File::open(&path).unwrap();
        match has_no_writer(&reader) {
            Ok(none) => assert!(none),
            Err(error) => return println!("skipped, because there are no leases here: {error}"),
        }
        let writer = OpenOptions::new().append(true).open(&path).unwrap();
        assert_eq!(has_no_writer(&reader), Ok(false));
        drop(writer);
        assert!(crate::soon(|| has_no_writer(&reader) == Ok(true)));
    }
}
