//! statx: all attributes of one inode that the kernel reports, in one call.

use std::ffi::CStr;
use std::ops::Deref;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, StatxFlags, StatxTimestamp};
use trawl_model::{Gid, Meta, Uid};

use crate::device::DeviceNumber;
use crate::error::{Named, Op, SysError};

pub use trawl_model::Timestamp as Time;

fn time(raw: StatxTimestamp) -> Time {
    Time {
        secs: raw.tv_sec,
        nanos: raw.tv_nsec,
    }
}

/// The statx result of one inode: its attributes, without the project id, and where it is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The attributes that an index keeps.
    pub meta: Meta,
    /// `STATX_ATTR_*` bits that are set, including those that the file system does not support.
    pub raw_attributes: u64,
    /// `STATX_ATTR_*` bits that the file system supports.
    pub attributes_mask: u64,
    /// Mount id; 0 if the kernel does not report it (before Linux 5.8).
    pub mnt_id: u64,
}

impl Deref for Stat {
    type Target = Meta;

    #[inline]
    fn deref(&self) -> &Meta {
        &self.meta
    }
}

impl Stat {
    /// Returns the type bits (`S_IFMT`) of the mode.
    #[inline]
    #[must_use]
    pub fn type_bits(&self) -> u32 {
        self.mode & libc::S_IFMT
    }

    /// Returns true for a directory.
    #[inline]
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.type_bits() == libc::S_IFDIR
    }

    /// Returns true for a symbolic link.
    #[inline]
    #[must_use]
    pub fn is_symlink(&self) -> bool {
        self.type_bits() == libc::S_IFLNK
    }

    /// Returns true for a regular file.
    #[inline]
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.type_bits() == libc::S_IFREG
    }

    /// Returns whether a file system is mounted here; `None` if the kernel does not report it
    /// (before Linux 5.8).
    #[inline]
    #[must_use]
    pub fn is_mount_root(&self) -> Option<bool> {
        let bit = rustix::fs::StatxAttributes::MOUNT_ROOT.bits();
        (self.attributes_mask & bit != 0).then_some(self.raw_attributes & bit != 0)
    }
}

/// Attributes of an inode that was not reached by a name, as some file systems report them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    /// The inode number.
    pub ino: u64,
    /// File type and permission bits, as in `st_mode`.
    pub mode: u32,
    /// Number of hard links.
    pub nlink: u32,
    /// Time of the last change of the content.
    pub mtime: Time,
    /// Time of the last change of the inode.
    pub ctime: Time,
}

pub(crate) const WANTED: StatxFlags = StatxFlags::BASIC_STATS
    .union(StatxFlags::BTIME)
    .union(StatxFlags::MNT_ID);

#[inline]
pub(crate) fn convert(raw: &rustix::fs::Statx) -> Stat {
    let mask = StatxFlags::from_bits_retain(raw.stx_mask);
    let (raw_attributes, attributes_mask) =
        (raw.stx_attributes.bits(), raw.stx_attributes_mask.bits());
    let meta = Meta {
        ino: raw.stx_ino,
        dev: DeviceNumber {
            major: raw.stx_dev_major,
            minor: raw.stx_dev_minor,
        },
        rdev: DeviceNumber {
            major: raw.stx_rdev_major,
            minor: raw.stx_rdev_minor,
        },
        mode: u32::from(raw.stx_mode),
        nlink: raw.stx_nlink,
        uid: Uid(raw.stx_uid),
        gid: Gid(raw.stx_gid),
        size: raw.stx_size,
        blocks: raw.stx_blocks,
        blksize: raw.stx_blksize,
        atime: time(raw.stx_atime),
        mtime: time(raw.stx_mtime),
        ctime: time(raw.stx_ctime),
        btime: mask
            .contains(StatxFlags::BTIME)
            .then(|| time(raw.stx_btime)),
        attributes: raw_attributes & attributes_mask,
        project: None,
    };
    Stat {
        meta,
        raw_attributes,
        attributes_mask,
        mnt_id: if mask.contains(StatxFlags::MNT_ID) {
            raw.stx_mnt_id
        } else {
            0
        },
    }
}

/// Returns the statx of `name` in `directory`, without following a symbolic link at the end and
/// without triggering an automount.
///
/// Source: <https://man7.org/linux/man-pages/man2/statx.2.html>
#[inline]
pub fn stat_at(directory: impl AsFd, name: &CStr) -> Result<Stat, SysError> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    rustix::fs::statx(directory, name, flags, WANTED)
        .named(Op::Statx)
        .map(|raw| convert(&raw))
}

/// Returns the statx of `name` in `directory`; symbolic links are followed, automounts are not
/// triggered.
///
/// Source: <https://man7.org/linux/man-pages/man2/statx.2.html>
#[inline]
pub fn stat_at_followed(directory: impl AsFd, name: &CStr) -> Result<Stat, SysError> {
    rustix::fs::statx(directory, name, AtFlags::NO_AUTOMOUNT, WANTED)
        .named(Op::Statx)
        .map(|raw| convert(&raw))
}

/// Returns the statx of an open descriptor, which may have been opened with
/// [`crate::directory::Purpose::Pass`].
///
/// Source: <https://man7.org/linux/man-pages/man2/statx.2.html>
#[inline]
pub fn stat_fd(fd: impl AsFd) -> Result<Stat, SysError> {
    rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, WANTED)
        .named(Op::Statx)
        .map(|raw| convert(&raw))
}

/// Returns the mode and the size in bytes of an open file: less than [`stat_fd`], and faster.
///
/// Source: <https://man7.org/linux/man-pages/man2/fstat.2.html>
#[inline]
pub fn mode_and_size(fd: impl AsFd) -> Result<(u32, u64), SysError> {
    let stat = rustix::fs::fstat(fd).named(Op::Fstat)?;
    Ok((stat.st_mode, u64::try_from(stat.st_size).unwrap_or(0)))
}

/// Returns the unique id of the mount at `path`, which no later mount gets (Linux 6.8); `None` if
/// the kernel does not report it. A symbolic link at the end is not followed.
///
/// Source: `STATX_MNT_ID_UNIQUE`, <https://man7.org/linux/man-pages/man2/statx.2.html>
pub fn unique_mount(path: &CStr) -> Option<u64> {
    const UNIQUE: StatxFlags = StatxFlags::from_bits_retain(0x4000);
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let raw = rustix::fs::statx(rustix::fs::CWD, path, flags, UNIQUE).ok()?;
    StatxFlags::from_bits_retain(raw.stx_mask)
        .contains(UNIQUE)
        .then_some(raw.stx_mnt_id)
}

/// Returns the device and inode number of the file that a link in `/proc` leads to, as they are known
/// here: a server, or a program behind a file system (FUSE), is not asked and need not answer. The inode
/// number is 0 where this process may not see it.
///
/// Source: `AT_STATX_DONT_SYNC`, <https://man7.org/linux/man-pages/man2/statx.2.html>; who asks for no
/// attribute is told the device by any file system (`fuse_getattr` in the kernel's `fs/fuse/dir.c`).
///
/// # Errors
/// Fails if the link leads to nothing any more.
pub fn shown_of_link(link: &std::path::Path) -> std::io::Result<(u64, u64)> {
    use rustix::fs::{CWD, makedev, statx};
    let ask = |wanted| statx(CWD, link, AtFlags::STATX_DONT_SYNC, wanted);
    let (found, is_seen) = match ask(StatxFlags::INO) {
        Err(rustix::io::Errno::ACCESS) => (ask(StatxFlags::empty())?, false),
        found => (found?, true),
    };
    let device = makedev(found.stx_dev_major, found.stx_dev_minor);
    Ok((device, if is_seen { found.stx_ino } else { 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_proc_show_what_stat_shows() {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::MetadataExt;
        let file = tempfile::tempfile().unwrap();
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        let stat = file.metadata().unwrap();
        let shown = shown_of_link(std::path::Path::new(&link)).unwrap();
        assert_eq!(shown, (stat.dev(), stat.ino()));
        let none = shown_of_link(std::path::Path::new("/proc/self/fd/-1"));
        assert_eq!(none.unwrap_err().kind(), std::io::ErrorKind::NotFound);
    }
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn agrees_with_the_standard_library() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; 10_000]).unwrap();
        let want = std::fs::metadata(file.path()).unwrap();
        let got = stat_fd(file.as_file()).unwrap();
        assert_eq!(
            (got.ino, got.dev.as_u64(), got.mode),
            (want.ino(), want.dev(), want.mode())
        );
        assert_eq!((got.size, got.blocks), (want.size(), want.blocks()));
        assert_eq!(
            (got.uid.0, got.gid.0, u64::from(got.nlink)),
            (want.uid(), want.gid(), want.nlink())
        );
        assert_eq!(
            (got.mtime.secs, i64::from(got.mtime.nanos)),
            (want.mtime(), want.mtime_nsec())
        );
        assert!(got.is_file() && !got.is_directory() && !got.is_symlink());
    }
}
