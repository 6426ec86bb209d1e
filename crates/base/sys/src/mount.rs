//! Mounts that no other process sees: they appear in no mount table and disappear with their
//! descriptor. Also unmounting, and how a FUSE server learns that its mount is gone.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, OpenTreeFlags};

use crate::error::{Named, Op, SysError};

/// Returns a second mount of the file system of `directory`, with that directory as its root and
/// nothing mounted on top. Needs `CAP_SYS_ADMIN`. The directory's own mount can be unmounted while
/// this one is open; the file system stays in use until it is closed.
///
/// Source: <https://man7.org/linux/man-pages/man2/open_tree.2.html>
///
/// # Errors
/// Fails with `EPERM` without the privilege, with `EINVAL` if the mount must not be copied.
pub fn private_copy(directory: impl AsFd) -> Result<OwnedFd, SysError> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH;
    rustix::mount::open_tree(directory, c"", flags).named(Op::OpenTree)
}

/// Mounts the file system of type `kind` on the device `source` with the given `options`, read-only
/// and visible to no other process. Needs `CAP_SYS_ADMIN`.
///
/// Source: <https://man7.org/linux/man-pages/man2/fsopen.2.html>
///
/// # Errors
/// Returns the errors of mount(2).
pub fn private_mount(
    kind: &CStr,
    source: &CStr,
    options: &[(&CStr, &CStr)],
) -> Result<OwnedFd, SysError> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC).named(Op::Fsopen)?;
    let context = context.as_fd();
    rustix::mount::fsconfig_set_string(context, c"source", source).named(Op::Fsconfig)?;
    for (name, value) in options {
        rustix::mount::fsconfig_set_string(context, *name, *value).named(Op::Fsconfig)?;
    }
    rustix::mount::fsconfig_create(context).named(Op::Fsconfig)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY;
    rustix::mount::fsmount(context, FsMountFlags::FSMOUNT_CLOEXEC, attributes).named(Op::Fsmount)
}

/// Unmounts the file system at a path; a symbolic link at its end is not followed.
///
/// Source: <https://man7.org/linux/man-pages/man2/umount2.2.html>
///
/// # Errors
/// Fails with `EBUSY` if it is in use, with `EINVAL` if it is not a mount point, with `EPERM`
/// without the privilege.
pub fn unmount(point: &Path) -> io::Result<()> {
    Ok(rustix::mount::unmount(
        point,
        rustix::mount::UnmountFlags::NOFOLLOW,
    )?)
}

/// Returns whether a FUSE server that reads its connection (`/dev/fuse`) failed because its mount is
/// gone. The kernel reports a connection that has ended with `ENODEV`, and with `ECONNABORTED` if it
/// ended while a request was being read (`fuse_dev_do_read` in the kernel's `fs/fuse/dev.c`);
/// `fuser` reports `NotConnected` if it ended before the first request.
pub fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, NotConnected};
    error.raw_os_error() == Some(libc::ENODEV)
        || matches!(error.kind(), ConnectionAborted | NotConnected)
}

/// Returns how a FUSE server ended: that its mount is gone is its normal end.
///
/// # Errors
/// Returns every other error.
pub fn ended(served: io::Result<()>) -> io::Result<()> {
    match served {
        Err(error) if is_gone(&error) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_that_is_gone_is_the_normal_end_of_its_server() {
        for gone in [libc::ENODEV, libc::ECONNABORTED] {
            ended(Err(io::Error::from_raw_os_error(gone))).unwrap();
        }
        ended(Err(io::Error::new(
            io::ErrorKind::NotConnected,
            "FUSE device disconnected during handshake",
        )))
        .unwrap();
        ended(Ok(())).unwrap();
        for other in [libc::EIO, libc::EPERM, libc::ENOMEM] {
            let error = ended(Err(io::Error::from_raw_os_error(other))).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(other));
        }
    }
}
