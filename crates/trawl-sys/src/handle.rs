//! File handles: a name for a file that renames do not change, and that no later file of the same
//! inode number gets.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::error::{Errno, Op, SysError};

/// The most bytes that the kernel puts in a handle (`MAX_HANDLE_SZ`).
pub const MAX_BYTES: usize = 128;

/// `AT_HANDLE_FID` of `linux/fcntl.h`.
const AT_HANDLE_FID: libc::c_int = 0x200;

/// A file handle: opaque bytes and their type, meaningful within one file system.
#[derive(Clone, Copy)]
pub struct FileHandle {
    kind: i32,
    length: usize,
    bytes: [u8; MAX_BYTES],
}

impl FileHandle {
    /// A handle of these bytes; `None` if they are more than [`MAX_BYTES`].
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

    /// The type that the file system gives its handles.
    #[must_use]
    pub fn kind(&self) -> i32 {
        self.kind
    }

    /// The bytes.
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

/// What a handle is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// To be opened again: file systems without that refuse (`EOPNOTSUPP`).
    Open,
    /// To be compared with those in events (`AT_HANDLE_FID`, Linux 6.5): nearly all can.
    Compare,
}

/// `struct file_handle` with room for the largest.
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
    // SAFETY: the name is NUL-terminated; `raw` has `handle_bytes` bytes behind its head, which is
    // laid out as the kernel's; `mount_id` is valid for the write of one int.
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

/// The handle of `name` in `directory`; a symbolic link at its end is not followed, a mount there
/// is entered.
///
/// Source: <https://man7.org/linux/man-pages/man2/open_by_handle_at.2.html>
///
/// # Errors
/// `EOPNOTSUPP` where the file system has no handles, and those of path resolution.
pub fn of_name(directory: impl AsFd, name: &CStr, what_for: Use) -> Result<FileHandle, SysError> {
    ask(directory.as_fd(), name, 0, what_for)
}

/// The handle of what `path` leads to, symbolic links followed (also those of `/proc/PID/fd`).
///
/// Source: <https://man7.org/linux/man-pages/man2/open_by_handle_at.2.html>
///
/// # Errors
/// As [`of_name`].
pub fn of_path_followed(path: &CStr, what_for: Use) -> Result<FileHandle, SysError> {
    ask(rustix::fs::CWD, path, libc::AT_SYMLINK_FOLLOW, what_for)
}

/// The handle of an open file (also one that was opened as a starting point only).
///
/// Source: <https://man7.org/linux/man-pages/man2/open_by_handle_at.2.html>
///
/// # Errors
/// As [`of_name`].
pub fn of_fd(fd: impl AsFd, what_for: Use) -> Result<FileHandle, SysError> {
    ask(fd.as_fd(), c"", libc::AT_EMPTY_PATH, what_for)
}

/// Opens what a handle stands for, only as a starting point (`O_PATH`): nothing is read, no device
/// or FIFO is woken. `mount` is any open file of a mount of that file system; the result is seen
/// through that mount. Needs `CAP_DAC_READ_SEARCH`.
///
/// Source: <https://man7.org/linux/man-pages/man2/open_by_handle_at.2.html>
///
/// # Errors
/// `ESTALE` where the file is gone, `EPERM` without the privilege.
pub fn open(mount: impl AsFd, handle: &FileHandle) -> Result<OwnedFd, SysError> {
    let mut waits = 0..CREATION_WAITS;
    loop {
        match open_once(mount.as_fd(), handle) {
            Err(error) if error.errno == Errno::NOMEM && waits.next().is_some() => {
                std::thread::sleep(CREATION_WAIT);
            }
            result => return result,
        }
    }
}

/// Linux says `ENOMEM` of a handle whose file is gone while another file is being made with its
/// inode number (`iget_locked`, of an inode that is `I_CREATING`): of ext4, 1 in 4,000 where six
/// threads make and remove files. A moment later it says `ESTALE`.
const CREATION_WAIT: Duration = Duration::from_micros(50);
/// A tenth of a second and more: after that memory is short.
const CREATION_WAITS: u32 = 2000;

fn open_once(mount: BorrowedFd<'_>, handle: &FileHandle) -> Result<OwnedFd, SysError> {
    let mut raw = RawHandle {
        handle_bytes: u32::try_from(handle.length).unwrap_or(0),
        handle_type: handle.kind,
        f_handle: handle.bytes,
    };
    // SAFETY: `raw` is laid out as the kernel's structure with `handle_bytes` bytes behind the head.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_open_by_handle_at,
            mount.as_raw_fd(),
            std::ptr::from_mut(&mut raw),
            libc::O_PATH | libc::O_CLOEXEC | libc::O_NOFOLLOW,
        )
    };
    match i32::try_from(fd) {
        // SAFETY: the call returned a new descriptor that nobody else owns.
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
        // What another test's child inherited, in the moment before it became a program, keeps it.
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
                    // Another test's child inherited it, in the moment before it became a program.
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
