//! Project ids: the quota id that ext4, xfs, f2fs and others keep beside owner and group.
//!
//! A directory's id is one ioctl on its open descriptor. A file's needs either `file_getattr`
//! (Linux 6.17) or an open of the file, so the rule for walkers is: read directories always, and
//! files only where their directory has a project id or passes it on ([`Project::may_have_more`]):
//! the kernel sets a file's id from its directory's, and refuses links and renames between
//! projects. An id that an administrator set on a single file in a directory without one is missed.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{Mode, OFlags};

use crate::error::{Errno, Named, Op, SysError};

/// A project id and whether new entries inherit it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// The id, 0 for none.
    pub id: u32,
    /// `FS_XFLAG_PROJINHERIT`: entries made in this directory get its id.
    pub inherits: bool,
}

impl Project {
    /// Whether entries of a directory with this project may have an id of their own.
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
/// `_IOR('X', 31, struct fsxattr)`, computed as the architecture's libc does.
const FS_IOC_FSGETXATTR: libc::Ioctl = libc::_IOR::<FsXattr>(b'X' as u32, 31);
/// The number of `file_getattr` in the table that architectures share (MIPS adds an offset, and
/// goes without).
const SYS_FILE_GETATTR: Option<libc::c_long> =
    if cfg!(any(target_arch = "mips", target_arch = "mips64")) {
        None
    } else {
        Some(468)
    };

/// The project of an open file or directory. `None` where the file system has no project ids.
///
/// Source: <https://man7.org/linux/man-pages/man2/FS_IOC_FSGETXATTR.2const.html>
pub fn of_fd(fd: impl AsFd) -> Result<Option<Project>, SysError> {
    let mut attr = FsXattr::default();
    // SAFETY: the descriptor is open for the borrow's length and the kernel writes at most
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

/// The project of the regular file `name` in `directory`, by `file_getattr` where the kernel has
/// it, otherwise by opening the file for reading (without blocking or following a link).
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

/// "This file system has none" is an answer, not an error.
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
