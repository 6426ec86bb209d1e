//! File handles: identifiers of files that renames do not change, and that a later file with the
//! same inode number does not get.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::error::{Errno, Op, SysError};

/// Maximum number of bytes in a handle (`MAX_HANDLE_SZ`).
pub const MAX_BYTES: usize = 128;

/// Value from `linux/fcntl.h`.
const AT_HANDLE_FID: libc::c_int = 0x200;

/// A file handle: opaque bytes and their type, meaningful within one file system.
#[derive(Clone, Copy)]
pub struct FileHandle {
    kind: i32,
    length: usize,
    bytes: [u8; MAX_BYTES],
}

impl FileHandle {
    /// Makes a handle from its type and bytes; `None` if there are more than [`MAX_BYTES`].
    #[must_use]
    pub fn new(kind: i32, bytes: &[u8]) -> Option<Self> {
        let mut handle = FileHandle {
            kind,
            length: bytes.len(),
            bytes: [0; MAX_BYTES],
        };
        handle.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(handle)
    }

    /// Returns the type that the file system assigns to the handle.
    #[must_use]
    pub fn kind(&self) -> i32 {
        self.kind
    }

    /// Returns the handle's bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl PartialEq for FileHandle {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, self.bytes()) == (other.kind, other.bytes())
    }
}

impl Eq for FileHandle {}

impl std::fmt::Debug for FileHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FileHandle({:#x}, {:02x?})", self.kind, self.bytes())
    }
}

/// The purpose of a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// To open the file again; fails with `EOPNOTSUPP` if the file system cannot do that.
    Open,
    /// To compare it with handles in events (`AT_HANDLE_FID`, Linux 6.5); nearly all file systems
    /// support this.
    Compare,
}

/// `struct file_handle` with space for the largest handle.
#[repr(C)]
struct RawHandle {
    handle_bytes: u32,
    handle_type: i32,
    f_handle: [u8; MAX_BYTES],
}

fn ask(
    directory: BorrowedFd<'_>,
    name: &CStr,
    flags: libc::c_int,
    what_for: Use,
) -> Result<FileHandle, SysError> {
    let flags = match what_for {
        Use::Open => flags,
        Use::Compare => flags | AT_HANDLE_FID,
    };
    let mut raw = RawHandle {
        handle_bytes: MAX_BYTES as u32,
        handle_type: 0,
        f_handle: [0; MAX_BYTES],
    };
    let mut mount_id: libc::c_int = 0;
    // SAFETY: the name is NUL-terminated; `raw` has `handle_bytes` bytes after its head, which has
    // the kernel's layout; `mount_id` is valid for the write of one int.
    let code = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            directory.as_raw_fd(),
            name.as_ptr(),
            std::ptr::from_mut(&mut raw),
            &raw mut mount_id,
            flags,
        )
    };
    if code != 0 {
        return Err(SysError::last(Op::NameToHandleAt));
    }
    let length = (raw.handle_bytes as usize).min(MAX_BYTES);
    FileHandle::new(raw.handle_type, &raw.f_handle[..length])
        .ok_or_else(|| SysError::new(Op::NameToHandleAt, Errno::OVERFLOW))
}

/// Returns the handle of `name` in `directory`. A symbolic link at its end is not followed; at a
/// mount point, the handle is that of the mounted root.
///
/// Source: <https://man7.org/linux/man-pages/man2/open_by_handle_at.2.html>
///
/// # Errors
/// Fails with `EOPNOTSUPP` if the file system has no handles, and with the errors of path
/// resolution.
pub fn of_name(directory: impl AsFd, name: &CStr, what_for: Use) -> Result<FileHandle, SysError> {
    ask(directory.as_fd(), name, 0, what_for)
}

/// Returns the handle of the object at `path`; symbolic links are followed, including those in
/// `/proc/PID/fd`.
///
/// Source: <https://man7.org/linux/man-pages/man2/open_by_handle_at.2.html>
///
/// # Errors
/// Returns the errors of [`of_name`].
pub fn of_path_followed(path: &CStr, what_for: Use) -> Result<FileHandle, SysError> {
    ask(rustix::fs::CWD, path, libc::AT_SYMLINK_FOLLOW, what_for)
}

/// Returns the handle of an open file, which may have been opened with `O_PATH`.
///
/// Source: <https://man7.org/linux/man-pages/man2/open_by_handle_at.2.html>
///
/// # Errors
/// Returns the errors of [`of_name`].
pub fn of_fd(fd: impl AsFd, what_for: Use) -> Result<FileHandle, SysError> {
    ask(fd.as_fd(), c"", libc::AT_EMPTY_PATH, what_for)
}

/// Opens the object of a handle as a starting point only (`O_PATH`): nothing is read, and no device
/// or FIFO is activated. `mount` is any open file on a mount of that file system; the result
/// belongs to that mount. Needs `CAP_DAC_READ_SEARCH`.
///
/// Source: <https://man7.org/linux/man-pages/man2/open_by_handle_at.2.html>
///
/// # Errors
/// Fails with `ESTALE` if the file no longer exists, with `EPERM` without the privilege.
pub fn open(mount: impl AsFd, handle: &FileHandle) -> Result<OwnedFd, SysError> {
    open_with(mount.as_fd(), handle, libc::O_PATH | libc::O_NOFOLLOW)
}

/// Opens the content of a handle's file for reading, like [`open`]; no directory is looked at.
/// Opening a FIFO or a device does not block.
///
/// Source: <https://man7.org/linux/man-pages/man2/open_by_handle_at.2.html>
///
/// # Errors
/// As of [`open`]; `EACCES` if this process may not read the file.
pub fn open_content(mount: impl AsFd, handle: &FileHandle) -> Result<std::fs::File, SysError> {
    let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW;
    open_with(mount.as_fd(), handle, flags).map(std::fs::File::from)
}

fn open_with(
    mount: BorrowedFd<'_>,
    handle: &FileHandle,
    flags: libc::c_int,
) -> Result<OwnedFd, SysError> {
    let mut waits = 0..CREATION_WAITS;
    loop {
        match open_once(mount, handle, flags) {
            Err(error) if error.errno == Errno::NOMEM && waits.next().is_some() => {
                std::thread::sleep(CREATION_WAIT);
            }
            result => return result,
        }
    }
}

/// Delay before a retry after `ENOMEM`. Linux reports `ENOMEM` for the handle of a removed file
/// while another file with the same inode number is being created (`iget_locked` of an inode in
/// state `I_CREATING`): on ext4, in 1 of 4,000 cases with six threads that create and remove files.
/// A moment later it reports `ESTALE`.
const CREATION_WAIT: Duration = Duration::from_micros(50);
/// Maximum number of retries, which take at least a tenth of a second; after that, memory is short.
const CREATION_WAITS: u32 = 2000;

fn open_once(
    mount: BorrowedFd<'_>,
    handle: &FileHandle,
    flags: libc::c_int,
) -> Result<OwnedFd, SysError> {
    let mut raw = RawHandle {
        handle_bytes: u32::try_from(handle.length).unwrap_or(0),
        handle_type: handle.kind,
        f_handle: handle.bytes,
    };
    // SAFETY: `raw` has the kernel's layout with `handle_bytes` bytes after the head.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_open_by_handle_at,
            mount.as_raw_fd(),
            std::ptr::from_mut(&mut raw),
            flags | libc::O_CLOEXEC,
        )
    };
    match i32::try_from(fd) {
        // SAFETY: the call returned a new descriptor that nothing else owns.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(SysError::last(Op::OpenByHandleAt)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::{Purpose, open_at};
    use crate::stat::stat_fd;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_handle_survives_a_rename_and_not_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = CString::new(dir.path().as_os_str().as_bytes()).unwrap();
        let folder = open_at(crate::CWD, &path, Purpose::Pass).unwrap();
        std::fs::write(dir.path().join("a"), "x").unwrap();
        let handle = match of_name(&folder, c"a", Use::Open) {
            Ok(handle) => handle,
            Err(e) if e.is_unsupported() => return eprintln!("skipped, because {e}"),
            Err(e) => panic!("{e}"),
        };
        assert_eq!(of_name(&folder, c"a", Use::Compare), Ok(handle));
        std::fs::rename(dir.path().join("a"), dir.path().join("b")).unwrap();
        assert_eq!(of_name(&folder, c"b", Use::Open), Ok(handle));
        let mount = std::fs::File::open(dir.path()).unwrap();
        match open(&mount, &handle) {
            Err(e) if e.errno == Errno::PERM => return eprintln!("skipped, because {e}"),
            Err(e) => panic!("{e}"),
            Ok(fd) => assert_eq!(stat_fd(fd).unwrap().size, 1),
        }
        std::fs::remove_file(dir.path().join("b")).unwrap();
        // A child of another test may hold an inherited descriptor of it until it has called exec.
        let until = std::time::Instant::now() + Duration::from_secs(10);
        let is_held = || open(&mount, &handle).is_ok() && std::time::Instant::now() < until;
        while is_held() {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(open(&mount, &handle).unwrap_err().errno, Errno::STALE);
    }

    #[test]
    fn a_file_whose_number_is_being_given_anew_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let mount = std::fs::File::open(dir.path()).unwrap();
        let in_turn = &|thread: u32| {
            for turn in 0..4000 {
                let path = dir.path().join(format!("{thread}-{}", turn % 7));
                std::fs::write(&path, "x").unwrap();
                let name = CString::new(path.as_os_str().as_bytes()).unwrap();
                let handle = match of_name(crate::CWD, &name, Use::Open) {
                    Ok(handle) => handle,
                    Err(e) if e.is_unsupported() => return eprintln!("skipped, because {e}"),
                    Err(e) => panic!("{e}"),
                };
                std::fs::remove_file(&path).unwrap();
                match open(&mount, &handle) {
                    // A child of another test inherited a descriptor of it and has not yet called
                    // exec.
                    Ok(_) => {}
                    Err(e) if e.errno == Errno::PERM => return eprintln!("skipped, because {e}"),
                    Err(e) => assert!(e.is_vanished(), "{e}"),
                }
            }
        };
        std::thread::scope(|scope| {
            for thread in 0..6 {
                scope.spawn(move || in_turn(thread));
            }
        });
    }

    #[test]
    fn bytes_that_are_no_handle_are_refused() {
        let mount = std::fs::File::open("/").unwrap();
        assert!(FileHandle::new(1, &[0; MAX_BYTES + 1]).is_none());
        for length in [0, 1, 7, MAX_BYTES] {
            let handle = FileHandle::new(0x7b, &[0xa5; MAX_BYTES][..length]).unwrap();
            assert!(open(&mount, &handle).is_err());
        }
    }
}
