//! Entries at paths of any length: if a path is longer than the kernel accepts in one call, the
//! entry is reached through an open descriptor of its directory.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::CWD;

use crate::access::{Wish, check};
use crate::directory::{AccessTime, Links, Purpose, ReadBuffer, open_at, open_below, open_root};
use crate::error::{Errno, Op, SysError};
use crate::link::{TargetBuffer, read_link_at};
use crate::stat::{Stat, stat_at, stat_at_followed};

/// Maximum length of a path that the kernel accepts in one call, including the NUL.
const PATH_MAX: usize = 4096;

/// An entry as passed to system calls: a path relative to an open directory.
#[derive(Debug)]
pub struct Far {
    dir: Option<OwnedFd>,
    name: CString,
}

impl Far {
    /// Returns the entry at an absolute path or a path relative to the working directory. Links on
    /// the way are followed; a link at the end is not.
    ///
    /// # Errors
    /// Fails with `ENOENT` if the path contains a NUL, and with the errors of opening the directory
    /// of a long path.
    pub fn at(path: &[u8]) -> Result<Far, SysError> {
        let text =
            |path: &[u8]| CString::new(path).map_err(|_| SysError::new(Op::Openat, Errno::NOENT));
        let cut = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        if path.len() < PATH_MAX || cut == 0 {
            return Ok(Far {
                dir: None,
                name: text(path)?,
            });
        }
        let above = text(without_slashes(&path[..cut]))?;
        let open = |from: BorrowedFd<'_>| open_below(from, &above, Purpose::Pass, Links::Followed);
        let dir = match path.starts_with(b"/") {
            true => open(open_root(Purpose::Pass)?.as_fd())?,
            false => open(CWD)?,
        };
        Ok(Far {
            dir: Some(dir),
            name: text(&path[cut + 1..])?,
        })
    }

    /// Returns a path to the entry that is short enough for one call; valid while `self` lives.
    #[must_use]
    pub fn short_path(&self) -> CString {
        let Some(dir) = &self.dir else {
            return self.name.clone();
        };
        let mut path = format!("/proc/self/fd/{}/", dir.as_raw_fd()).into_bytes();
        path.extend(self.name.to_bytes());
        CString::new(path).unwrap_or_default()
    }

    /// Returns the directory to which [`Far::name`] is relative.
    #[must_use]
    pub fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_ref().map_or(CWD, AsFd::as_fd)
    }

    /// Returns the path relative to [`Far::dir`].
    #[must_use]
    pub fn name(&self) -> &CStr {
        &self.name
    }
}

/// Returns an absolute path relative to `/`.
fn without_slashes(path: &[u8]) -> &[u8] {
    let start = path.iter().position(|byte| *byte != b'/');
    &path[start.unwrap_or(path.len())..]
}

/// Returns the statx(2) of the object at `path`; a link at the end is not followed.
pub fn stat_itself(path: &[u8]) -> Result<Stat, SysError> {
    let far = Far::at(path)?;
    stat_at(far.dir(), far.name())
}

/// Returns the statx(2) of the object at `path`, links followed.
pub fn stat(path: &[u8]) -> Result<Stat, SysError> {
    let far = Far::at(path)?;
    stat_at_followed(far.dir(), far.name())
}

/// Returns the target of the symbolic link at `path`, readlink(2).
pub fn read_link(path: &[u8]) -> Result<Vec<u8>, SysError> {
    let far = Far::at(path)?;
    let mut buffer = TargetBuffer::default();
    read_link_at(far.dir(), far.name(), &mut buffer).map(<[u8]>::to_vec)
}

/// Checks access(2) to the object at `path`, links followed.
pub fn may(path: &[u8], wish: Wish) -> Result<(), SysError> {
    let far = Far::at(path)?;
    check(far.dir(), far.name(), wish)
}

/// Returns true if the directory at `path` has no entries.
pub fn is_empty_directory(path: &[u8]) -> Result<bool, SysError> {
    let far = Far::at(path)?;
    let purpose = Purpose::List(AccessTime::Keep);
    let dir = open_at(far.dir(), far.name(), purpose)?;
    let mut buffer = ReadBuffer::new(4096);
    let mut reader = buffer.read(&dir);
    while let Some(entry) = reader.next() {
        if !entry?.is_dot() {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn long_paths_are_reached_and_links_in_them_read() {
        let top = tempfile::tempdir().unwrap();
        let mut path = top.path().as_os_str().as_bytes().to_vec();
        let mut dir = std::fs::File::open(top.path()).unwrap();
        let part = CString::new("d".repeat(200)).unwrap();
        while path.len() < PATH_MAX + 500 {
            rustix::fs::mkdirat(&dir, &part, rustix::fs::Mode::RWXU).unwrap();
            dir = crate::directory::open_at(&dir, &part, Purpose::Pass)
                .unwrap()
                .into();
            path.push(b'/');
            path.extend(part.to_bytes());
        }
        rustix::fs::symlinkat(c"..", &dir, c"link").unwrap();
        let link = [&path[..], b"/link"].concat();
        assert_eq!(read_link(&link).unwrap(), b"..");
        assert!(stat_itself(&link).unwrap().is_symlink());
        assert!(stat(&link).unwrap().is_directory());
        assert_eq!(may(&link, Wish::Read), Ok(()));
        let gone = [&path[..], b"/gone/x"].concat();
        assert_eq!(stat(&gone).unwrap_err().errno, Errno::NOENT);
        assert_eq!(stat_itself(b"/").unwrap().ino, stat(b"/.").unwrap().ino);
    }
}
