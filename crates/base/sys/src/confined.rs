//! Paths that cannot leave a directory: `..` stops there, and links are resolved as if the
//! directory were the root. The kernel does this within the system call that opens the path.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use crate::directory::{Links, Purpose, flags};
use crate::error::{Errno, Named, Op, SysError};

/// Maximum number of attempts: openat2(2) fails with `EAGAIN` if something is renamed meanwhile.
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

/// Opens a directory below `top`; links are followed within `top`.
///
/// Source: `RESOLVE_IN_ROOT`, <https://man7.org/linux/man-pages/man2/openat2.2.html>
///
/// # Errors
/// Returns the errors of openat2(2).
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

/// Opens any object below `top` for stat(2) only (`O_PATH`). With [`Links::Refused`], a link at the
/// end of the path is opened itself.
///
/// Source: <https://man7.org/linux/man-pages/man2/openat2.2.html>
///
/// # Errors
/// Returns the errors of openat2(2).
pub fn look(top: impl AsFd, path: &CStr, links: Links) -> Result<OwnedFd, SysError> {
    open(top, path, path_flags(links))
}

/// Like [`look`], but from the working directory or `/`, without confinement.
///
/// # Errors
/// Returns the errors of open(2).
pub fn look_anywhere(path: &CStr, links: Links) -> Result<OwnedFd, SysError> {
    let flags = path_flags(links) | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path, flags, Mode::empty()).named(Op::Openat)
}

/// Flags for opening a regular file: never wait, and never acquire a controlling terminal.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Opens a regular file below `top` for reading. Any other object is not opened, unless it replaces
/// a regular file at that moment.
///
/// # Errors
/// Fails with `EINVAL` if the object is not a regular file; otherwise returns the errors of
/// openat2(2).
pub fn open_file(top: impl AsFd, path: &CStr) -> Result<OwnedFd, SysError> {
    regular(look(&top, path, Links::Followed)?)?;
    regular(open(&top, path, READ)?)
}

/// Like [`open_file`], but from the working directory or `/`, without confinement.
///
/// # Errors
/// Returns the errors of [`open_file`], or those of open(2).
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
