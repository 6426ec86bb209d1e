//! Project ids: the quota id that ext4, xfs, f2fs and others store in addition to owner and group.
//!
//! Reading a directory's id takes one ioctl on its open descriptor. Reading a file's id needs
//! either `file_getattr` (Linux 6.17) or an open of the file. A walk should therefore read the ids
//! of all directories, but those of files only if their directory has a project id or passes one on
//! ([`Project::may_have_more`]): the kernel takes a new file's id from its directory, and refuses
//! links and renames between projects. An id that an administrator has set on a single file in a
//! directory without one is missed.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{Mode, OFlags};

use crate::error::{Errno, Named, Op, SysError};

/// A project id and whether new entries inherit it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// The id; 0 if there is none.
    pub id: u32,
    /// `FS_XFLAG_PROJINHERIT`: new entries in this directory get its id.
    pub inherits: bool,
}

impl Project {
    /// Returns true if entries of a directory with this project may have ids of their own.
    #[must_use]
    pub fn may_have_more(self) -> bool {
        self.id != 0 || self.inherits
    }
}

/// `struct fsxattr` of `linux/fs.h`.
#[repr(C)]
#[derive(Default)]
struct FsXattr {
    xflags: u32,
    extsize: u32,
    nextents: u32,
    projid: u32,
    cowextsize: u32,
    pad: [u8; 8],
}

/// `struct file_attr` of `linux/fs.h`, version 0.
#[repr(C)]
#[derive(Default)]
struct FileAttr {
    xflags: u64,
    extsize: u32,
    nextents: u32,
    projid: u32,
    cowextsize: u32,
}

const XFLAG_PROJINHERIT: u32 = 0x200;
/// `_IOR('X', 31, struct fsxattr)`, computed as the architecture's libc does it.
const FS_IOC_FSGETXATTR: libc::Ioctl = libc::_IOR::<FsXattr>(b'X' as u32, 31);
/// Number of `file_getattr` in the system call table that architectures share (MIPS adds an offset,
/// and is not supported here).
const SYS_FILE_GETATTR: Option<libc::c_long> =
    if cfg!(any(target_arch = "mips", target_arch = "mips64")) {
        None
    } else {
        Some(468)
    };

/// Returns the project of an open file or directory; `None` if the file system has no project ids.
///
/// Source: <https://man7.org/linux/man-pages/man2/FS_IOC_FSGETXATTR.2const.html>
pub fn of_fd(fd: impl AsFd) -> Result<Option<Project>, SysError> {
    let mut attr = FsXattr::default();
    // SAFETY: the descriptor is open while it is borrowed, and the kernel writes at most
    // `size_of::<FsXattr>()` bytes, the size encoded in the request number.
    let code = unsafe {
        libc::ioctl(
            fd.as_fd().as_raw_fd(),
            FS_IOC_FSGETXATTR,
            std::ptr::from_mut(&mut attr),
        )
    };
    if code == 0 {
        let inherits = attr.xflags & XFLAG_PROJINHERIT != 0;
        return Ok(Some(Project {
            id: attr.projid,
            inherits,
        }));
    }
    without_support(SysError::last(Op::ProjectId))
}

/// Returns the project of the regular file `name` in `directory`. Uses `file_getattr` if the kernel
/// has it; otherwise opens the file for reading (without blocking or following a link).
///
/// Source: <https://docs.kernel.org/filesystems/api-summary.html>, `file_getattr(2)`.
pub fn of_file_at(directory: impl AsFd, name: &CStr) -> Result<Option<Project>, SysError> {
    let directory = directory.as_fd();
    if let Some(number) = SYS_FILE_GETATTR {
        let mut attr = FileAttr::default();
        // SAFETY: the name is NUL-terminated, the descriptor open, and the kernel writes at most
        // the passed size of `attr`.
        let code = unsafe {
            libc::syscall(
                number,
                directory.as_raw_fd(),
                name.as_ptr(),
                std::ptr::from_mut(&mut attr),
                size_of::<FileAttr>(),
                libc::AT_SYMLINK_NOFOLLOW,
            )
        };
        if code == 0 {
            let inherits = attr.xflags & u64::from(XFLAG_PROJINHERIT) != 0;
            return Ok(Some(Project {
                id: attr.projid,
                inherits,
            }));
        }
        let error = SysError::last(Op::ProjectId);
        if !matches!(error.errno, Errno::NOSYS | Errno::PERM) {
            return without_support(error);
        }
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    of_fd(rustix::fs::openat(directory, name, flags, Mode::empty()).named(Op::ProjectId)?)
}

/// Maps errors that mean that the file system has no project ids to `None`.
fn without_support(error: SysError) -> Result<Option<Project>, SysError> {
    match error.errno {
        Errno::NOTTY | Errno::NOTSUP | Errno::INVAL | Errno::NOSYS => Ok(None),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_the_kernel_expects() {
        assert_eq!((size_of::<FsXattr>(), size_of::<FileAttr>()), (28, 24));
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!(FS_IOC_FSGETXATTR, 0x801c_581f);
    }

    #[test]
    fn both_ways_agree() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("f"), b"").unwrap();
        let parent = std::fs::File::open(dir.path()).unwrap();
        let file = std::fs::File::open(dir.path().join("f")).unwrap();
        assert_eq!(of_fd(&file), of_file_at(&parent, c"f"));
    }
}
