//! Reads all inodes of an xfs file system in order of their numbers, many with one call.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use crate::error::{Op, SysError};
use crate::stat::{Inode, Time};

/// `struct xfs_bulkstat` of `linux/fs/xfs/libxfs/xfs_fs.h`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Bulkstat {
    ino: u64,
    size: u64,
    blocks: u64,
    xflags: u64,
    atime: i64,
    mtime: i64,
    ctime: i64,
    btime: i64,
    generation: u32,
    uid: u32,
    gid: u32,
    project: u32,
    atime_ns: u32,
    mtime_ns: u32,
    ctime_ns: u32,
    btime_ns: u32,
    block_bytes: u32,
    rdev: u32,
    cow_extent_size: u32,
    extent_size: u32,
    nlink: u32,
    extents: u32,
    attribute_extents: u32,
    version: u16,
    fork_offset: u16,
    sick: u16,
    checked: u16,
    mode: u16,
    pad: u16,
    extents64: u64,
    more_pad: [u64; 6],
}

const NONE: Bulkstat = Bulkstat {
    ino: 0,
    size: 0,
    blocks: 0,
    xflags: 0,
    atime: 0,
    mtime: 0,
    ctime: 0,
    btime: 0,
    generation: 0,
    uid: 0,
    gid: 0,
    project: 0,
    atime_ns: 0,
    mtime_ns: 0,
    ctime_ns: 0,
    btime_ns: 0,
    block_bytes: 0,
    rdev: 0,
    cow_extent_size: 0,
    extent_size: 0,
    nlink: 0,
    extents: 0,
    attribute_extents: 0,
    version: 0,
    fork_offset: 0,
    sick: 0,
    checked: 0,
    mode: 0,
    pad: 0,
    extents64: 0,
    more_pad: [0; 6],
};

/// `struct xfs_bulk_ireq`: the fixed-size part of `struct xfs_bulkstat_req`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Head {
    ino: u64,
    flags: u32,
    room: u32,
    given: u32,
    group: u32,
    reserved: [u64; 5],
}

#[repr(C)]
struct Request {
    head: Head,
    found: [Bulkstat; AT_ONCE],
}

/// Maximum number of inodes that one call returns.
const AT_ONCE: usize = 1024;

const BULKSTAT: libc::Ioctl = libc::_IOR::<Head>(b'X' as u32, 127);

/// A reader of the inodes of a file system.
pub struct Inodes {
    fd: OwnedFd,
    request: Box<Request>,
}

impl Inodes {
    /// Makes a reader for the file system of a directory that is open for reading.
    #[must_use]
    pub fn of(fd: OwnedFd) -> Self {
        let head = Head {
            ino: 0,
            flags: 0,
            room: AT_ONCE as u32,
            given: 0,
            group: 0,
            reserved: [0; 5],
        };
        let found = [NONE; AT_ONCE];
        Inodes {
            fd,
            request: Box::new(Request { head, found }),
        }
    }

    /// Returns the next inodes in order of their numbers; none at the end. Needs `CAP_SYS_ADMIN`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/ioctl_xfs_bulkstat.2.html>
    ///
    /// # Errors
    /// Fails with `EPERM` without the privilege, with `ENOTTY` on other file systems and before
    /// Linux 5.5.
    pub fn next_ones(&mut self) -> Result<impl Iterator<Item = Inode> + '_, SysError> {
        self.request.head.given = 0;
        // SAFETY: the head has the kernel's layout and is followed by space for as many inodes as
        // it says; any bytes are a valid value for them.
        let code = unsafe {
            libc::ioctl(
                self.fd.as_fd().as_raw_fd(),
                BULKSTAT,
                std::ptr::from_mut(&mut *self.request),
            )
        };
        if code != 0 {
            return Err(SysError::last(Op::XfsBulkstat));
        }
        let given = (self.request.head.given as usize).min(AT_ONCE);
        let given = self.request.found.iter().take(given);
        Ok(given.map(Inode::from))
    }
}

impl From<&Bulkstat> for Inode {
    fn from(found: &Bulkstat) -> Self {
        let time = |secs, nanos| Time { secs, nanos };
        Inode {
            ino: found.ino,
            mode: u32::from(found.mode),
            nlink: found.nlink,
            mtime: time(found.mtime, found.mtime_ns),
            ctime: time(found.ctime, found.ctime_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_as_large_as_the_kernels() {
        assert_eq!((size_of::<Head>(), size_of::<Bulkstat>()), (64, 192));
    }

    #[test]
    fn other_file_systems_have_no_such_call() {
        let proc = std::fs::File::open("/proc").unwrap();
        assert!(Inodes::of(proc.into()).next_ones().is_err());
    }
}
