//! Mounts that no other process sees: they appear in no mount table and disappear with their
//! descriptor. Also unmounting.

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
