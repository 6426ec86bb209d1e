//! Errors of system calls: the call's name and its errno, without an allocation.

use std::fmt;

/// The system or library call that failed, named as in the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[repr(u8)]
#[allow(
    missing_docs,
    reason = "each variant is the call of that name; see `Op::name`"
)]
pub enum Op {
    Openat,
    Faccessat,
    Getdents64,
    Fstat,
    Statx,
    Readlinkat,
    Listxattr,
    Getxattr,
    Setxattr,
    ProjectId,
    Statfs,
    Fsync,
    Syncfs,
    Renameat2,
    Unlinkat,
    Mkdirat,
    Linkat,
    Fallocate,
    Getrlimit,
    Setrlimit,
    Getgroups,
    Fcntl,
    Getpwuid,
    Getpwnam,
    Getgrgid,
    Getgrnam,
    Sigaction,
    Tcgetattr,
    Tcsetattr,
    Unshare,
    Fchdir,
    Clone,
    Setgroups,
    Setresgid,
    Setresuid,
    Capset,
    Read,
    Write,
    FanotifyInit,
    FanotifyMark,
    QueuedBytes,
    ProcmapQuery,
    NameToHandleAt,
    OpenByHandleAt,
    OpenTree,
    Fsopen,
    Fsconfig,
    Fsmount,
    TimerfdCreate,
    TimerfdSettime,
    Poll,
    Eventfd,
    Signalfd,
    Getsockopt,
    Mmap,
    Bpf,
    MemfdCreate,
    Epoll,
    BtrfsSubvolume,
    BtrfsSync,
    BtrfsSearch,
    XfsBulkstat,
    IoUringSetup,
    IoUringEnter,
    Preadv2,
    Fadvise,
    Fiemap,
    Removexattr,
    QuotactlFd,
}

impl Op {
    /// Every operation, for tables that map a stored name back to the operation.
    pub const ALL: [Op; 69] = [
        Op::Openat,
        Op::Faccessat,
        Op::Getdents64,
        Op::Fstat,
        Op::Statx,
        Op::Readlinkat,
        Op::Listxattr,
        Op::Getxattr,
        Op::Setxattr,
        Op::ProjectId,
        Op::Statfs,
        Op::Fsync,
        Op::Syncfs,
        Op::Renameat2,
        Op::Unlinkat,
        Op::Mkdirat,
        Op::Linkat,
        Op::Fallocate,
        Op::Getrlimit,
        Op::Setrlimit,
        Op::Getgroups,
        Op::Fcntl,
        Op::Getpwuid,
        Op::Getpwnam,
        Op::Getgrgid,
        Op::Getgrnam,
        Op::Sigaction,
        Op::Tcgetattr,
        Op::Tcsetattr,
        Op::Unshare,
        Op::Fchdir,
        Op::Clone,
        Op::Setgroups,
        Op::Setresgid,
        Op::Setresuid,
        Op::Capset,
        Op::Read,
        Op::Write,
        Op::FanotifyInit,
        Op::FanotifyMark,
        Op::QueuedBytes,
        Op::ProcmapQuery,
        Op::NameToHandleAt,
        Op::OpenByHandleAt,
        Op::OpenTree,
        Op::Fsopen,
        Op::Fsconfig,
        Op::Fsmount,
        Op::TimerfdCreate,
        Op::TimerfdSettime,
        Op::Poll,
        Op::Eventfd,
        Op::Signalfd,
        Op::Getsockopt,
        Op::Mmap,
        Op::Bpf,
        Op::MemfdCreate,
        Op::Epoll,
        Op::BtrfsSubvolume,
        Op::BtrfsSync,
        Op::BtrfsSearch,
        Op::XfsBulkstat,
        Op::IoUringSetup,
        Op::IoUringEnter,
        Op::Preadv2,
        Op::Fadvise,
        Op::Fiemap,
        Op::Removexattr,
        Op::QuotactlFd,
    ];

    /// Returns the call's name as in the manual, such as `"openat"`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Op::Openat => "openat",
            Op::Faccessat => "faccessat",
            Op::Getdents64 => "getdents64",
            Op::Fstat => "fstat",
            Op::Statx => "statx",
            Op::Readlinkat => "readlinkat",
            Op::Listxattr => "listxattr",
            Op::Getxattr => "getxattr",
            Op::Setxattr => "setxattr",
            Op::ProjectId => "project-id",
            Op::Statfs => "statfs",
            Op::Fsync => "fsync",
            Op::Syncfs => "syncfs",
            Op::Renameat2 => "renameat2",
            Op::Unlinkat => "unlinkat",
            Op::Mkdirat => "mkdirat",
            Op::Linkat => "linkat",
            Op::Fallocate => "fallocate",
            Op::Getrlimit => "getrlimit",
            Op::Setrlimit => "setrlimit",
            Op::Getgroups => "getgroups",
            Op::Fcntl => "fcntl",
            Op::Getpwuid => "getpwuid_r",
            Op::Getpwnam => "getpwnam_r",
            Op::Getgrgid => "getgrgid_r",
            Op::Getgrnam => "getgrnam_r",
            Op::Sigaction => "sigaction",
            Op::Tcgetattr => "tcgetattr",
            Op::Tcsetattr => "tcsetattr",
            Op::Unshare => "unshare",
            Op::Fchdir => "fchdir",
            Op::Clone => "clone",
            Op::Setgroups => "setgroups",
            Op::Setresgid => "setresgid",
            Op::Setresuid => "setresuid",
            Op::Capset => "capset",
            Op::Read => "read",
            Op::Write => "write",
            Op::FanotifyInit => "fanotify_init",
            Op::FanotifyMark => "fanotify_mark",
            Op::QueuedBytes => "ioctl(FIONREAD)",
            Op::ProcmapQuery => "ioctl(PROCMAP_QUERY)",
            Op::NameToHandleAt => "name_to_handle_at",
            Op::OpenByHandleAt => "open_by_handle_at",
            Op::OpenTree => "open_tree",
            Op::Fsopen => "fsopen",
            Op::Fsconfig => "fsconfig",
            Op::Fsmount => "fsmount",
            Op::TimerfdCreate => "timerfd_create",
            Op::TimerfdSettime => "timerfd_settime",
            Op::Poll => "poll",
            Op::Eventfd => "eventfd",
            Op::Signalfd => "signalfd",
            Op::Getsockopt => "getsockopt",
            Op::Mmap => "mmap",
            Op::Bpf => "bpf",
            Op::MemfdCreate => "memfd_create",
            Op::Epoll => "epoll",
            Op::BtrfsSubvolume => "ioctl(BTRFS_IOC_GET_SUBVOL_INFO)",
            Op::BtrfsSync => "ioctl(BTRFS_IOC_START_SYNC)",
            Op::BtrfsSearch => "ioctl(BTRFS_IOC_TREE_SEARCH_V2)",
            Op::XfsBulkstat => "ioctl(XFS_IOC_BULKSTAT)",
            Op::IoUringSetup => "io_uring_setup",
            Op::IoUringEnter => "io_uring_enter",
            Op::Preadv2 => "preadv2",
            Op::Fadvise => "posix_fadvise",
            Op::Fiemap => "ioctl(FS_IOC_FIEMAP)",
            Op::Removexattr => "removexattr",
            Op::QuotactlFd => "quotactl_fd",
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An errno value, shown as the C library's message in lower case.
///
/// Source: <https://man7.org/linux/man-pages/man3/errno.3.html>
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Errno(pub i32);

#[allow(missing_docs, reason = "each constant is the errno of that name")]
impl Errno {
    pub const ACCES: Errno = Errno(libc::EACCES);
    pub const AGAIN: Errno = Errno(libc::EAGAIN);
    pub const BADF: Errno = Errno(libc::EBADF);
    pub const BUSY: Errno = Errno(libc::EBUSY);
    pub const EXIST: Errno = Errno(libc::EEXIST);
    pub const INTR: Errno = Errno(libc::EINTR);
    pub const ISDIR: Errno = Errno(libc::EISDIR);
    pub const INVAL: Errno = Errno(libc::EINVAL);
    pub const IO: Errno = Errno(libc::EIO);
    pub const LOOP: Errno = Errno(libc::ELOOP);
    pub const MFILE: Errno = Errno(libc::EMFILE);
    pub const NFILE: Errno = Errno(libc::ENFILE);
    pub const NOMEM: Errno = Errno(libc::ENOMEM);
    pub const NODEV: Errno = Errno(libc::ENODEV);
    pub const NODATA: Errno = Errno(libc::ENODATA);
    pub const NAMETOOLONG: Errno = Errno(libc::ENAMETOOLONG);
    pub const NOENT: Errno = Errno(libc::ENOENT);
    pub const NOSPC: Errno = Errno(libc::ENOSPC);
    pub const NOSYS: Errno = Errno(libc::ENOSYS);
    pub const NOTDIR: Errno = Errno(libc::ENOTDIR);
    pub const NOTSUP: Errno = Errno(libc::ENOTSUP);
    pub const NOTTY: Errno = Errno(libc::ENOTTY);
    pub const PERM: Errno = Errno(libc::EPERM);
    pub const RANGE: Errno = Errno(libc::ERANGE);
    pub const SRCH: Errno = Errno(libc::ESRCH);
    pub const STALE: Errno = Errno(libc::ESTALE);
    pub const TOOBIG: Errno = Errno(libc::E2BIG);
    pub const WOULDBLOCK: Errno = Errno(libc::EWOULDBLOCK);
    pub const OVERFLOW: Errno = Errno(libc::EOVERFLOW);
    pub const XDEV: Errno = Errno(libc::EXDEV);

    /// Returns the calling thread's current errno.
    pub(crate) fn last() -> Errno {
        Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
    }
}

impl From<rustix::io::Errno> for Errno {
    fn from(errno: rustix::io::Errno) -> Self {
        Errno(errno.raw_os_error())
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = std::io::Error::from_raw_os_error(self.0).to_string();
        let message = text.split(" (os error").next().unwrap_or(&text);
        let mut letters = message.chars();
        match letters.next() {
            Some(first) => write!(f, "{}{}", first.to_lowercase(), letters.as_str()),
            None => write!(f, "error {}", self.0),
        }
    }
}

/// A failed call and its errno. The value is `Copy` and two words long; the caller adds the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{op}: {errno}")]
pub struct SysError {
    /// The call that failed.
    pub op: Op,
    /// Its errno.
    pub errno: Errno,
}

impl SysError {
    /// Pairs a call with its errno.
    #[must_use]
    pub fn new(op: Op, errno: impl Into<Errno>) -> Self {
        SysError {
            op,
            errno: errno.into(),
        }
    }

    /// Returns an error for a C library call that has just failed and left its reason in `errno`.
    pub(crate) fn last(op: Op) -> Self {
        SysError {
            op,
            errno: Errno::last(),
        }
    }

    /// Returns true if the file has disappeared: it does not exist, or its handle is stale.
    #[must_use]
    pub fn is_vanished(&self) -> bool {
        matches!(self.errno, Errno::NOENT | Errno::STALE)
    }

    /// Returns true if the file system does not support the operation.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        self.errno == Errno::NOTSUP
    }

    /// Returns true if the process or the system has run out of descriptors.
    #[must_use]
    pub fn is_out_of_descriptors(&self) -> bool {
        matches!(self.errno, Errno::MFILE | Errno::NFILE)
    }
}

impl From<SysError> for std::io::Error {
    fn from(error: SysError) -> Self {
        std::io::Error::from_raw_os_error(error.errno.0)
    }
}

/// Converts the error of a rustix call into a [`SysError`].
pub(crate) trait Named<T> {
    fn named(self, op: Op) -> Result<T, SysError>;
}

impl<T> Named<T> for Result<T, rustix::io::Errno> {
    fn named(self, op: Op) -> Result<T, SysError> {
        self.map_err(|errno| SysError::new(op, errno))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_distinct_and_complete() {
        let names: HashSet<_> = Op::ALL.iter().map(|op| op.name()).collect();
        assert_eq!(names.len(), Op::ALL.len());
        assert_eq!(Op::QuotactlFd as usize + 1, Op::ALL.len());
    }

    #[test]
    fn messages_are_lower_case_without_numbers() {
        let error = SysError::new(Op::Openat, Errno::ACCES);
        assert_eq!(error.to_string(), "openat: permission denied");
    }
}
