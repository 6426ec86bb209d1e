//! Paths below a directory that nothing leads out of: `..` stops at it, and links are resolved as
//! if it were the root, by the kernel and in the same call.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use crate::directory::{Links, Purpose, flags};
use crate::error::{Errno, Named, Op, SysError};

/// The kernel gives up where something is renamed meanwhile; so often it is asked again.
const TRIES: usize = 64;

fn open(top: impl AsFd, path: &CStr, flags: OFlags) -> Result<OwnedFd, SysError> {
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    let flags = flags | OFlags::CLOEXEC;
    let mut opened = Err(rustix::io::Errno::AGAIN);
    for _ in 0..TRIES {
        opened = rustix::fs::openat2(&top, path, flags, Mode::empty(), resolve);
        if !matches!(opened, Err(rustix::io::Errno::AGAIN)) {
            break;
        }
    }
    opened.named(Op::Openat)
}

/// Opens a directory, links followed within `top`.
///
/// Source: `RESOLVE_IN_ROOT`, <https://man7.org/linux/man-pages/man2/openat2.2.html>
///
/// # Errors
/// Those of openat2(2).
pub fn open_directory(top: impl AsFd, path: &CStr, purpose: Purpose) -> Result<OwnedFd, SysError> {
    let mut flags = flags(purpose);
    flags.remove(OFlags::NOFOLLOW);
    open(top, path, flags)
}

fn path_flags(links: Links) -> OFlags {
    match links {
        Links::Followed => OFlags::PATH,
        Links::Refused => OFlags::PATH | OFlags::NOFOLLOW,
    }
}

/// Opens whatever is there for stat(2) alone (`O_PATH`); with [`Links::Refused`] a link at the end
/// is opened itself.
///
/// Source: <https://man7.org/linux/man-pages/man2/openat2.2.html>
///
/// # Errors
/// Those of openat2(2).
pub fn look(top: impl AsFd, path: &CStr, links: Links) -> Result<OwnedFd, SysError> {
    open(top, path, path_flags(links))
}

/// The same from the working directory or `/`, without a limit.
///
/// # Errors
/// Those of open(2).
pub fn look_anywhere(path: &CStr, links: Links) -> Result<OwnedFd, SysError> {
    let flags = path_flags(links) | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path, flags, Mode::empty()).named(Op::Openat)
}

/// What a regular file is opened with: nothing waits, and nothing becomes a terminal.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Opens a file to read it; `EINVAL` for what is no regular file, which is not opened at all
/// unless it takes the place of one meanwhile.
///
/// # Errors
/// Those of openat2(2).
pub fn open_file(top: impl AsFd, path: &CStr) -> Result<OwnedFd, SysError> {
    regular(look(&top, path, Links::Followed)?)?;
    regular(open(&top, path, READ)?)
}

/// The same from the working directory or `/`, without a limit.
///
/// # Errors
/// Those of open(2).
pub fn open_file_anywhere(path: &CStr) -> Result<OwnedFd, SysError> {
    regular(look_anywhere(path, Links::Followed)?)?;
    let flags = READ | OFlags::CLOEXEC;
    regular(rustix::fs::openat(CWD, path, flags, Mode::empty()).named(Op::Openat)?)
}

fn regular(fd: OwnedFd) -> Result<OwnedFd, SysError> {
    match crate::stat::stat_fd(&fd)?.is_file() {
        true => Ok(fd),
        false => Err(SysError::new(Op::Openat, Errno::INVAL)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::AccessTime;
    use std::ffi::CString;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_leads_out() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("top");
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        std::fs::write(folder.path().join("secret"), "x").unwrap();
        std::fs::write(top.join("a/file"), "within").unwrap();
        symlink("../../secret", top.join("a/up")).unwrap();
        symlink(folder.path().join("secret"), top.join("a/absolute")).unwrap();
        symlink("/a/file", top.join("inside")).unwrap();
        symlink("/a", top.join("dir")).unwrap();
        let fd = std::fs::File::open(&top).unwrap();
        let path = |text: &str| CString::new(text).unwrap();
        for out in [
            "../secret",
            "a/../../secret",
            "/../secret",
            "a/up",
            "a/absolute",
        ] {
            let error = look(&fd, &path(out), Links::Followed).unwrap_err();
            assert_eq!(error.errno, Errno::NOENT, "{out}");
            assert!(open_file(&fd, &path(out)).is_err(), "{out}");
        }
        assert!(open_file(&fd, &path("inside")).is_ok());
        assert_eq!(open_file(&fd, &path("a")).unwrap_err().errno, Errno::INVAL);
        let list = Purpose::List(AccessTime::Update);
        for within in ["dir", "/dir/b", ".", "/", "../a"] {
            assert!(open_directory(&fd, &path(within), list).is_ok(), "{within}");
        }
        let link = look(&fd, &path("dir"), Links::Refused).unwrap();
        assert!(crate::stat::stat_fd(&link).unwrap().is_symlink());
    }
}
