//! Makes entries of every kind relative to an open directory.
//!
//! Invariant: every call names one component below an open descriptor, so neither `PATH_MAX` nor
//! changes of ancestors matter. Names and link targets are bytes.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags, chmodat,
    chownat, fsetxattr, linkat, makedev, mkdirat, mknodat, openat, statat, symlinkat, utimensat,
};

/// A time of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileTime {
    /// Seconds since 1970, negative before.
    pub seconds: i64,
    /// Nanoseconds, below 1,000,000,000.
    pub nanoseconds: u32,
}

impl FileTime {
    /// Makes a time from its parts.
    pub const fn new(seconds: i64, nanoseconds: u32) -> Self {
        Self {
            seconds,
            nanoseconds,
        }
    }

    fn timespec(self) -> Timespec {
        Timespec {
            tv_sec: self.seconds,
            tv_nsec: self.nanoseconds.into(),
        }
    }
}

/// The kind and number of a device file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// A block device.
    Block(u32, u32),
    /// A character device.
    Character(u32, u32),
}

/// An open directory in which entries are made.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
}

const OPEN_FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Folder {
    /// Opens an existing directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            fd: openat(CWD, path, OPEN_FOLDER, Mode::empty())?,
        })
    }

    /// Opens a directory in this one.
    pub fn enter(&self, name: &[u8]) -> io::Result<Self> {
        Ok(Self {
            fd: openat(&self.fd, name, OPEN_FOLDER, Mode::empty())?,
        })
    }

    /// Returns another handle on the same directory.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            fd: self.fd.try_clone()?,
        })
    }

    /// Makes a directory (0755) and opens it.
    pub fn make_folder(&self, name: &[u8]) -> io::Result<Self> {
        mkdirat(&self.fd, name, Mode::from_raw_mode(0o755))?;
        self.set_mode(name, 0o755)?;
        self.enter(name)
    }

    /// Makes a regular file (0644) with this content.
    pub fn make_file(&self, name: &[u8], content: &[u8]) -> io::Result<()> {
        self.create(name)?.write_all(content)
    }

    /// Makes a file of this size without any blocks, as far as the file system allows.
    pub fn make_sparse_file(&self, name: &[u8], size_bytes: u64) -> io::Result<()> {
        self.create(name)?.set_len(size_bytes)
    }

    /// Makes a new, empty regular file and opens it for writing.
    pub fn create(&self, name: &[u8]) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = File::from(openat(&self.fd, name, flags, Mode::from_raw_mode(0o644))?);
        self.set_mode(name, 0o644)?;
        Ok(file)
    }

    /// Makes a symbolic link with this target.
    pub fn make_symlink(&self, name: &[u8], target: &[u8]) -> io::Result<()> {
        Ok(symlinkat(target, &self.fd, name)?)
    }

    /// Makes another name, in `to`, of an entry of this directory.
    pub fn make_hard_link(&self, name: &[u8], to: &Folder, new_name: &[u8]) -> io::Result<()> {
        Ok(linkat(&self.fd, name, &to.fd, new_name, AtFlags::empty())?)
    }

    /// Makes a FIFO.
    pub fn make_fifo(&self, name: &[u8]) -> io::Result<()> {
        self.make_node(name, FileType::Fifo, 0)
    }

    /// Makes a socket's file; nothing listens on it.
    pub fn make_socket(&self, name: &[u8]) -> io::Result<()> {
        self.make_node(name, FileType::Socket, 0)
    }

    /// Makes a device file, which requires root and is not possible everywhere.
    pub fn make_device(&self, name: &[u8], device: Device) -> io::Result<()> {
        match device {
            Device::Block(major, minor) => {
                self.make_node(name, FileType::BlockDevice, makedev(major, minor))
            }
            Device::Character(major, minor) => {
                self.make_node(name, FileType::CharacterDevice, makedev(major, minor))
            }
        }
    }

    fn make_node(&self, name: &[u8], kind: FileType, device: u64) -> io::Result<()> {
        Ok(mknodat(
            &self.fd,
            name,
            kind,
            Mode::from_raw_mode(0o644),
            device,
        )?)
    }

    /// Sets the permission bits, including setuid, setgid and sticky; follows links.
    pub fn set_mode(&self, name: &[u8], bits: u32) -> io::Result<()> {
        Ok(chmodat(
            &self.fd,
            name,
            Mode::from_raw_mode(bits),
            AtFlags::empty(),
        )?)
    }

    /// Sets owner and group, also of a link itself. Clears setuid and setgid.
    pub fn set_owner(&self, name: &[u8], uid: u32, gid: u32) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        Ok(chownat(
            &self.fd,
            name,
            Some(uid),
            Some(gid),
            AtFlags::SYMLINK_NOFOLLOW,
        )?)
    }

    /// Sets access and modification times, also of a link itself. Fails with `InvalidInput` if the
    /// file system stores different times.
    pub fn set_times(&self, name: &[u8], accessed: FileTime, modified: FileTime) -> io::Result<()> {
        let times = Timestamps {
            last_access: accessed.timespec(),
            last_modification: modified.timespec(),
        };
        utimensat(&self.fd, name, &times, AtFlags::SYMLINK_NOFOLLOW)?;
        let kept = statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if (kept.st_mtime, kept.st_mtime_nsec) != (modified.seconds, modified.nanoseconds.into()) {
            let why = format!(
                "the file system made {modified:?} {}.{:09}",
                kept.st_mtime, kept.st_mtime_nsec
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok(())
    }

    /// Sets an extended attribute of a file or directory, which must be possible to open.
    pub fn set_xattr(&self, name: &[u8], key: &[u8], value: &[u8]) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = openat(&self.fd, name, flags, Mode::empty())?;
        Ok(fsetxattr(fd.as_fd(), key, value, XattrFlags::empty())?)
    }
}

/// Sets an extended attribute of an open file or directory.
pub fn set_attribute(fd: impl AsFd, name: &CStr, value: &[u8]) -> io::Result<()> {
    Ok(fsetxattr(fd, name, value, XattrFlags::empty())?)
}
