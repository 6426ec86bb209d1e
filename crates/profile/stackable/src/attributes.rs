//! Attributes of files below, in the form that the kernel asks for.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType, INodeNo, TimeOrNow};
use rustix::fs::{Statx, StatxTimestamp, Timespec, UTIME_NOW, UTIME_OMIT};

/// Bits of a mode that are permissions.
const PERMISSIONS: u16 = 0o7777;
/// Number of nanoseconds in a second.
const SECOND_NS: u32 = 1_000_000_000;

/// Returns the attributes with this inode number.
pub(crate) fn attributes(stat: &Statx, number: u64) -> FileAttr {
    FileAttr {
        ino: INodeNo(number),
        size: stat.stx_size,
        blocks: stat.stx_blocks,
        atime: time(stat.stx_atime),
        mtime: time(stat.stx_mtime),
        ctime: time(stat.stx_ctime),
        crtime: UNIX_EPOCH,
        kind: kind(stat.stx_mode),
        perm: stat.stx_mode & PERMISSIONS,
        nlink: stat.stx_nlink,
        uid: stat.stx_uid,
        gid: stat.stx_gid,
        rdev: encoded(stat.stx_rdev_major, stat.stx_rdev_minor),
        blksize: stat.stx_blksize,
        flags: 0,
    }
}

/// Returns the type in a mode.
fn kind(mode: u16) -> FileType {
    file_type(rustix::fs::FileType::from_raw_mode(mode.into()))
}

/// Returns the type; that of an entry whose directory does not say it is corrected by the lookup.
pub(crate) fn file_type(kind: rustix::fs::FileType) -> FileType {
    use rustix::fs::FileType as Below;
    match kind {
        Below::Directory => FileType::Directory,
        Below::Symlink => FileType::Symlink,
        Below::Fifo => FileType::NamedPipe,
        Below::Socket => FileType::Socket,
        Below::CharacterDevice => FileType::CharDevice,
        Below::BlockDevice => FileType::BlockDevice,
        _ => FileType::RegularFile,
    }
}

/// Returns a device number as FUSE encodes it: the kernel's `new_encode_dev`.
fn encoded(major: u32, minor: u32) -> u32 {
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

/// Returns the device with a number that FUSE has encoded.
pub(crate) fn device(encoded: u32) -> u64 {
    let major = (encoded & 0x000f_ff00) >> 8;
    let minor = (encoded & 0xff) | ((encoded >> 12) & 0x000f_ff00);
    rustix::fs::makedev(major, minor)
}

fn time(of: StatxTimestamp) -> SystemTime {
    let nanos = Duration::from_nanos(of.tv_nsec.into());
    let seconds = Duration::from_secs(of.tv_sec.unsigned_abs());
    match of.tv_sec {
        0.. => UNIX_EPOCH + seconds + nanos,
        _ => UNIX_EPOCH - seconds + nanos,
    }
}

/// Returns a time to be set, as utimensat(2) takes it.
pub(crate) fn wanted(time: Option<TimeOrNow>) -> Timespec {
    let only = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    match time {
        None => only(UTIME_OMIT),
        Some(TimeOrNow::Now) => only(UTIME_NOW),
        Some(TimeOrNow::SpecificTime(time)) => specific(time),
    }
}

fn specific(time: SystemTime) -> Timespec {
    let seconds = |of: Duration| i64::try_from(of.as_secs()).unwrap_or(i64::MAX);
    let (tv_sec, nanos) = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => (seconds(since), since.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            match before.subsec_nanos() {
                0 => (-seconds(before), 0),
                nanos => (-seconds(before) - 1, SECOND_NS - nanos),
            }
        }
    };
    Timespec {
        tv_sec,
        tv_nsec: nanos.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_survive() {
        for (tv_sec, tv_nsec) in [(0, 0), (5, 7), (-1, 0), (-1, 1), (-9, 999_999_999)] {
            let mut stamp = rustix::fs::statx(
                rustix::fs::CWD,
                "/",
                rustix::fs::AtFlags::empty(),
                rustix::fs::StatxFlags::BASIC_STATS,
            )
            .unwrap()
            .stx_atime;
            (stamp.tv_sec, stamp.tv_nsec) = (tv_sec, tv_nsec);
            let back = specific(time(stamp));
            assert_eq!((back.tv_sec, back.tv_nsec), (tv_sec, tv_nsec.into()));
        }
    }

    #[test]
    fn devices_survive() {
        for (major, minor) in [(1, 3), (8, 0), (259, 300), (4095, 0xf_ffff)] {
            let device = device(encoded(major, minor));
            let parts = (rustix::fs::major(device), rustix::fs::minor(device));
            assert_eq!(parts, (major, minor));
        }
    }
}
