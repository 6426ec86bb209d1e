//! Directories: opened by a single name relative to an open directory, never through a symbolic
//! link, and read with getdents64 into a reusable buffer.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, RawDir, ResolveFlags};

use crate::error::{Errno, Named, Op, SysError};

/// Whether reading may update a directory's access time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessTime {
    /// Asks the kernel not to update it (`O_NOATIME`), which is allowed to the owner and root only.
    /// If that is refused, the directory is opened without the flag.
    Keep,
    /// Allows the update.
    Update,
}

/// The purpose of opening a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To list it; needs read permission.
    List(AccessTime),
    /// Only as a starting point for names below it (`O_PATH`); needs no permission on the directory
    /// itself.
    Pass,
}

pub(crate) fn flags(purpose: Purpose) -> OFlags {
    let base = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match purpose {
        Purpose::List(AccessTime::Keep) => base | OFlags::RDONLY | OFlags::NOATIME,
        Purpose::List(AccessTime::Update) => base | OFlags::RDONLY,
        Purpose::Pass => base | OFlags::PATH,
    }
}

/// Opens the directory `name` in `parent`. A symbolic link as the last component is never followed;
/// `name` should be a single component, so that no link is followed at all.
///
/// # Errors
/// Fails with `ENOTDIR` or `ELOOP` if the name is not (or no longer) a directory, with `EACCES`,
/// `ENOENT`, `EMFILE` and the other errors of <https://man7.org/linux/man-pages/man2/open.2.html>.
pub fn open_at(parent: impl AsFd, name: &CStr, purpose: Purpose) -> Result<OwnedFd, SysError> {
    open_path(parent, name, purpose, Links::Refused)
}

/// Whether a symbolic link at the end of a name is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// A symbolic link is an error.
    Refused,
    /// The link's target is opened.
    Followed,
}

/// Like [`open_at`], with a choice about symbolic links; `name` may be a path.
///
/// Source: <https://man7.org/linux/man-pages/man2/open.2.html>
pub fn open_path(
    parent: impl AsFd,
    name: &CStr,
    purpose: Purpose,
    links: Links,
) -> Result<OwnedFd, SysError> {
    let open = |purpose| {
        let mut flags = flags(purpose);
        if links == Links::Followed {
            flags.remove(OFlags::NOFOLLOW);
        }
        rustix::fs::openat(parent.as_fd(), name, flags, Mode::empty())
    };
    match open(purpose) {
        Err(rustix::io::Errno::PERM) if purpose == Purpose::List(AccessTime::Keep) => {
            open(Purpose::List(AccessTime::Update)).named(Op::Openat)
        }
        other => other.named(Op::Openat),
    }
}

/// Maximum length of a path that the kernel accepts in one call, including the NUL.
const PATH_MAX: usize = 4096;

/// Opens the directory at the relative `path` below `parent`; the path may have any length. If
/// links are refused, no component may be a link, and the path cannot leave `parent`.
///
/// Source: <https://man7.org/linux/man-pages/man2/openat2.2.html>
pub fn open_below(
    parent: impl AsFd,
    path: &CStr,
    purpose: Purpose,
    links: Links,
) -> Result<OwnedFd, SysError> {
    let mut from: Option<OwnedFd> = None;
    let mut rest = path.to_bytes();
    while rest.len() >= PATH_MAX {
        let cut = rest[..PATH_MAX].iter().rposition(|byte| *byte == b'/');
        let cut = cut.ok_or_else(|| SysError::new(Op::Openat, Errno::NAMETOOLONG))?;
        let stage = CString::new(&rest[..cut]).unwrap_or_default();
        let parent = from.as_ref().map_or(parent.as_fd(), AsFd::as_fd);
        from = Some(open_stage(parent, &stage, Purpose::Pass, links)?);
        rest = &rest[cut + 1..];
    }
    match from {
        None => open_stage(parent.as_fd(), path, purpose, links),
        Some(from) => {
            let last = CString::new(rest).unwrap_or_default();
            open_stage(from.as_fd(), &last, purpose, links)
        }
    }
}

fn open_stage(
    parent: BorrowedFd<'_>,
    path: &CStr,
    purpose: Purpose,
    links: Links,
) -> Result<OwnedFd, SysError> {
    if links == Links::Followed {
        return open_path(parent, path, purpose, links);
    }
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    rustix::fs::openat2(parent, path, flags(purpose), Mode::empty(), resolve).named(Op::Openat)
}

/// Opens the file-system root `/`.
pub fn open_root(purpose: Purpose) -> Result<OwnedFd, SysError> {
    open_at(CWD, c"/", purpose)
}

/// One directory entry as returned by getdents64; its name lies in the reader's buffer.
#[derive(Debug)]
pub struct RawEntry<'a> {
    raw: rustix::fs::RawDirEntry<'a>,
}

impl<'a> RawEntry<'a> {
    fn new(raw: rustix::fs::RawDirEntry<'a>) -> Self {
        RawEntry { raw }
    }

    /// Returns the inode number. At a mount point, this is the number of the covered directory, not
    /// of the mounted root.
    #[inline]
    #[must_use]
    pub fn ino(&self) -> u64 {
        self.raw.ino()
    }

    /// Returns the entry's type as recorded in the directory.
    #[inline]
    #[must_use]
    pub fn hint(&self) -> TypeHint {
        match self.raw.file_type() {
            rustix::fs::FileType::Directory => TypeHint::Directory,
            rustix::fs::FileType::Unknown => TypeHint::Unknown,
            _ => TypeHint::Other,
        }
    }

    /// Returns the type as mode bits (`S_IFMT`); `None` if the directory does not record it.
    #[inline]
    #[must_use]
    pub fn type_bits(&self) -> Option<u32> {
        match self.raw.file_type() {
            rustix::fs::FileType::Unknown => None,
            known => Some(known.as_raw_mode() & libc::S_IFMT),
        }
    }

    /// Returns the name including its NUL.
    #[inline]
    #[must_use]
    pub fn name(&self) -> &CStr {
        self.raw.file_name()
    }

    /// Returns true if this is `.` or `..`.
    #[inline]
    #[must_use]
    pub fn is_dot(&self) -> bool {
        matches!(self.name().to_bytes(), b"." | b"..")
    }
}

/// Type of an entry as recorded in the directory, known without a stat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeHint {
    /// A directory.
    Directory,
    /// Anything else.
    Other,
    /// Unknown: the file system records no types in its directories.
    Unknown,
}

/// A buffer for directory entries, reused for one directory after another.
#[derive(Debug)]
pub struct ReadBuffer {
    bytes: Vec<MaybeUninit<u8>>,
}

impl ReadBuffer {
    /// Makes a buffer of `size_bytes`, but at least 4 KiB, because the kernel refuses a buffer
    /// smaller than one entry. 64 KiB hold about 2,000 entries a call.
    #[must_use]
    pub fn new(size_bytes: usize) -> Self {
        ReadBuffer {
            bytes: vec![MaybeUninit::uninit(); size_bytes.max(4096)],
        }
    }

    /// Starts or continues reading `directory` at its current position.
    pub fn read<Fd: AsFd>(&mut self, directory: Fd) -> Reader<'_, Fd> {
        Reader {
            raw: RawDir::new(directory, &mut self.bytes),
        }
    }
}

/// Reads the entries of one directory.
pub struct Reader<'a, Fd: AsFd> {
    raw: RawDir<'a, Fd>,
}

impl<Fd: AsFd> Reader<'_, Fd> {
    /// Returns the next entry in the directory's own order, including `.` and `..` (see
    /// [`RawEntry::is_dot`]); `None` at the end.
    ///
    /// After an error, the entries returned before it are valid and the rest is unknown; after
    /// `EINTR` the call may be repeated. `ENOENT` means that the directory was removed while it was
    /// open.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/getdents64.2.html>
    #[allow(
        clippy::should_implement_trait,
        reason = "an entry borrows from the reader"
    )]
    #[inline]
    pub fn next(&mut self) -> Option<Result<RawEntry<'_>, SysError>> {
        Some(match self.raw.next()? {
            Ok(entry) => Ok(RawEntry::new(entry)),
            Err(errno) => Err(SysError::new(Op::Getdents64, Errno::from(errno))),
        })
    }

    /// Returns true if the next call of [`Reader::next`] makes a system call.
    #[must_use]
    pub fn is_buffer_empty(&self) -> bool {
        self.raw.is_buffer_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::os::unix::ffi::OsStrExt;

    fn open(path: &std::path::Path) -> Result<OwnedFd, SysError> {
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        open_at(CWD, &name, Purpose::List(AccessTime::Keep))
    }

    #[test]
    fn lists_what_read_dir_lists() {
        let dir = tempfile::tempdir().unwrap();
        for i in 0..3000 {
            std::fs::write(dir.path().join(format!("file-{i}")), b"").unwrap();
        }
        std::fs::create_dir(dir.path().join("d")).unwrap();
        let want: BTreeSet<Vec<u8>> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().as_bytes().to_vec())
            .collect();
        let mut buffer = ReadBuffer::new(4096);
        let mut reader = buffer.read(open(dir.path()).unwrap());
        let (mut got, mut directories) = (BTreeSet::new(), 0);
        while let Some(entry) = reader.next() {
            let entry = entry.unwrap();
            directories += usize::from(entry.hint() == TypeHint::Directory);
            if !entry.is_dot() {
                assert!(got.insert(entry.name().to_bytes().to_vec()));
            }
        }
        assert_eq!(got, want);
        assert_eq!(directories, 3);
    }

    #[test]
    fn links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/", dir.path().join("link")).unwrap();
        let error = open(&dir.path().join("link")).unwrap_err();
        assert_eq!(error.op, Op::Openat);
        assert!(matches!(error.errno, Errno::NOTDIR | Errno::LOOP));
    }
}
