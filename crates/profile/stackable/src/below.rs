//! The file system below: calls on descriptors of the source.
//!
//! A file is held by a descriptor that only names it (`O_PATH`), and is used through `/proc/self/fd`.
//! Names are looked up one by one, in their directory's descriptor, without following links and
//! without entering file systems that are mounted below the source: nothing leads out of it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Statx, StatxFlags};

/// Directory with a link for each descriptor of this process.
const DESCRIPTORS: &str = "/proc/self/fd";

#[derive(Debug)]
pub(crate) struct Below {
    descriptors: OwnedFd,
    /// Whether the kernel lacks openat2(2), which is new in Linux 5.6.
    is_old: AtomicBool,
}

impl Below {
    pub(crate) fn new() -> io::Result<Below> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Below {
            descriptors: rustix::fs::open(DESCRIPTORS, flags, Mode::empty())?,
            is_old: AtomicBool::new(false),
        })
    }

    /// Returns a descriptor of the directory that is passed on.
    pub(crate) fn source(&self, path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(path, flags, Mode::empty())?)
    }

    /// Finds a name in a directory.
    pub(crate) fn find(&self, parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if !self.is_old.load(Ordering::Relaxed) {
            let within =
                ResolveFlags::BENEATH | ResolveFlags::NO_XDEV | ResolveFlags::NO_MAGICLINKS;
            match rustix::fs::openat2(parent, name, flags, Mode::empty(), within) {
                Err(rustix::io::Errno::NOSYS) => self.is_old.store(true, Ordering::Relaxed),
                other => return Ok(other?),
            }
        }
        Ok(rustix::fs::openat(parent, name, flags, Mode::empty())?)
    }

    /// Opens the file of a descriptor.
    pub(crate) fn reopen(&self, file: BorrowedFd<'_>, flags: OFlags) -> io::Result<OwnedFd> {
        let name = file.as_raw_fd().to_string();
        let flags = flags | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(
            self.as_fd(),
            name,
            flags,
            Mode::empty(),
        )?)
    }
}

impl AsFd for Below {
    /// Returns the directory in which [`number`] names a descriptor.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptors.as_fd()
    }
}

/// Returns the name of a descriptor in [`Below::as_fd`].
pub(crate) fn number(file: BorrowedFd<'_>) -> String {
    file.as_raw_fd().to_string()
}

/// Returns the path of a descriptor, for calls that take only paths.
pub(crate) fn path(file: BorrowedFd<'_>) -> String {
    format!("{DESCRIPTORS}/{}", file.as_raw_fd())
}

/// Returns the attributes of a descriptor's file.
pub(crate) fn stat(file: impl AsFd) -> io::Result<Statx> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT;
    Ok(rustix::fs::statx(
        file,
        c"",
        flags,
        StatxFlags::BASIC_STATS,
    )?)
}

/// Refuses names that are none: the kernel does not send them.
pub(crate) fn check_name(name: &OsStr) -> io::Result<&OsStr> {
    let bytes = name.as_encoded_bytes();
    let is_bad = matches!(bytes, b"" | b"." | b"..") || bytes.contains(&b'/');
    match is_bad {
        true => Err(rustix::io::Errno::INVAL.into()),
        false => Ok(name),
    }
}
