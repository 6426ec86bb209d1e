//! Quotas of the file system that holds an open file: what users, groups and projects use there, and
//! what they may use.
//!
//! `quotactl_fd` takes a descriptor, so that neither a device nor a mount point must be known. The
//! kernel decides who learns what: a user their own quota and those of their groups, and whoever has
//! `CAP_SYS_ADMIN` all of them. Nothing is changed here.
//!
//! Source: <https://man7.org/linux/man-pages/man2/quotactl.2.html>, `linux/quota.h`

use std::os::fd::{AsFd, AsRawFd, RawFd};

use trawl_model::Timestamp;

use crate::error::{Errno, Op, SysError};

/// Whose use is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A user, by the owner of files.
    User,
    /// A group, by the owning group of files.
    Group,
    /// A project, by the project id of files.
    Project,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 3] = [Kind::User, Kind::Group, Kind::Project];

    fn number(self) -> libc::c_int {
        match self {
            Kind::User => 0,
            Kind::Group => 1,
            Kind::Project => 2,
        }
    }
}

/// Use and limits of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Used.
    pub used: u64,
    /// May be exceeded for the grace period; `None` if there is no such limit.
    pub soft: Option<u64>,
    /// Cannot be exceeded; `None` if there is no such limit.
    pub hard: Option<u64>,
    /// When the grace period ends, or ended. It may be left over from a soft limit that was exceeded.
    pub grace_ends: Option<Timestamp>,
}

/// The quota of one id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Id of the user, group or project.
    pub id: u32,
    /// Space in bytes. Limits are whole KiB.
    pub space: Amount,
    /// Number of inodes.
    pub inodes: Amount,
}

/// `struct if_nextdqblk`; `struct if_dqblk` is the same without the id.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Block {
    space_hard: u64,
    space_soft: u64,
    space_used: u64,
    inodes_hard: u64,
    inodes_soft: u64,
    inodes_used: u64,
    space_time: u64,
    inodes_time: u64,
    valid: u32,
    id: u32,
}

/// `struct if_dqinfo`.
#[repr(C)]
#[derive(Default)]
struct Info {
    space_grace: u64,
    inodes_grace: u64,
    flags: u32,
    valid: u32,
}

const Q_GETINFO: libc::c_int = 0x80_0005;
const Q_GETQUOTA: libc::c_int = 0x80_0007;
const Q_GETNEXTQUOTA: libc::c_int = 0x80_0009;
/// `QIF_DQBLKSIZE`: limits of space are in these units.
const LIMIT_UNIT_BYTES: u64 = 1024;

/// Returns whether the kernel has `quotactl_fd` (Linux 5.14), and a filter of system calls lets it
/// through.
#[must_use]
pub fn is_supported() -> bool {
    let mut info = Info::default();
    // No descriptor has this number.
    match call(-1, Q_GETINFO, Kind::User, 0, &mut info) {
        Ok(()) => true,
        Err(error) => error.errno == Errno::BADF,
    }
}

/// Returns whether the file system keeps account of this kind. The descriptor may have been opened
/// with `O_PATH`. Nobody needs a permission for this question.
///
/// # Errors
/// Fails if the system call is not allowed.
pub fn is_kept(fd: impl AsFd, kind: Kind) -> Result<bool, SysError> {
    let mut info = Info::default();
    match call(fd.as_fd().as_raw_fd(), Q_GETINFO, kind, 0, &mut info) {
        Ok(()) => Ok(true),
        // No account of this kind; a kind or a call that the file system does not know.
        Err(SysError {
            errno: Errno::SRCH | Errno::INVAL | Errno::NOSYS | Errno::NOTSUP,
            ..
        }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the quota of an id; `None` if the file system knows nothing of it.
///
/// # Errors
/// Fails with `EPERM` if the caller may not know it.
pub fn of_id(fd: impl AsFd, kind: Kind, id: u32) -> Result<Option<Quota>, SysError> {
    let found = ask(fd.as_fd().as_raw_fd(), Q_GETQUOTA, kind, id)?;
    // This call does not write the id.
    Ok(found.map(|block| block.quota(id)))
}

/// Returns the quota with the smallest id that is not less than `id`, or `None` if no such id has a
/// quota.
///
/// # Errors
/// Fails with `EPERM` if the caller may not know all of them, and with `ENOSYS` if the file system
/// cannot list them.
pub fn from_id(fd: impl AsFd, kind: Kind, id: u32) -> Result<Option<Quota>, SysError> {
    let found = ask(fd.as_fd().as_raw_fd(), Q_GETNEXTQUOTA, kind, id)?;
    Ok(found.map(|block| block.quota(block.id)))
}

fn ask(fd: RawFd, command: libc::c_int, kind: Kind, id: u32) -> Result<Option<Block>, SysError> {
    let mut block = Block::default();
    match call(fd, command, kind, id, &mut block) {
        Ok(()) => Ok(Some(block)),
        Err(SysError {
            errno: Errno::SRCH | Errno::NOENT,
            ..
        }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the kernel fills for a command: plain numbers, any bytes of which are valid.
trait Answer {}
impl Answer for Block {}
impl Answer for Info {}

fn call<A: Answer>(
    fd: RawFd,
    command: libc::c_int,
    kind: Kind,
    id: u32,
    answer: &mut A,
) -> Result<(), SysError> {
    // SAFETY: the commands are the constants above, which write at most one `Info` or `Block`, as the
    // callers pass it; both are plain numbers in the kernel's layout. A descriptor that is not open
    // is an error.
    let code = unsafe {
        libc::syscall(
            libc::SYS_quotactl_fd,
            fd,
            command << 8 | kind.number(),
            id,
            std::ptr::from_mut(answer),
        )
    };
    match code {
        0 => Ok(()),
        _ => Err(SysError::last(Op::QuotactlFd)),
    }
}

impl Block {
    fn quota(&self, id: u32) -> Quota {
        let bytes = |limit: u64| limit.saturating_mul(LIMIT_UNIT_BYTES);
        Quota {
            id,
            space: Amount {
                used: self.space_used,
                soft: limit(self.space_soft).map(bytes),
                hard: limit(self.space_hard).map(bytes),
                grace_ends: time(self.space_time),
            },
            inodes: Amount {
                used: self.inodes_used,
                soft: limit(self.inodes_soft),
                hard: limit(self.inodes_hard),
                grace_ends: time(self.inodes_time),
            },
        }
    }
}

/// No limit is 0.
fn limit(value: u64) -> Option<u64> {
    (value != 0).then_some(value)
}

/// No time is 0.
fn time(secs: u64) -> Option<Timestamp> {
    let secs = i64::try_from(secs).ok().filter(|secs| *secs != 0)?;
    Some(Timestamp { secs, nanos: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_the_kernel_expects() {
        assert_eq!((size_of::<Block>(), size_of::<Info>()), (72, 24));
        assert_eq!(std::mem::offset_of!(Block, id), 68);
    }

    #[test]
    fn limits_of_space_are_in_kib_and_zero_is_none() {
        let block = Block {
            space_hard: 3,
            space_used: 5000,
            space_time: 77,
            inodes_soft: 9,
            ..Block::default()
        };
        let expected = Quota {
            id: 4,
            space: Amount {
                used: 5000,
                soft: None,
                hard: Some(3072),
                grace_ends: Some(Timestamp { secs: 77, nanos: 0 }),
            },
            inodes: Amount {
                soft: Some(9),
                ..Amount::default()
            },
        };
        assert_eq!(block.quota(4), expected);
    }

    #[test]
    fn proc_keeps_no_quotas() {
        let proc = std::fs::File::open("/proc").unwrap();
        if is_supported() {
            let kept = Kind::ALL.map(|kind| is_kept(&proc, kind));
            assert_eq!(kept, [Ok(false); 3]);
        }
    }
}
