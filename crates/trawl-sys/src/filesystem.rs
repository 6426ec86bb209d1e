//! What kind of file system a descriptor lies on.

use std::os::fd::AsFd;

use crate::error::{Named, Op, SysError};

/// What statfs tells of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Magic number of its type, see [`name`].
    pub magic: u64,
    /// Block size in bytes.
    pub block_size_bytes: u64,
    /// All blocks.
    pub blocks: u64,
    /// Blocks free for those without privilege.
    pub blocks_available: u64,
    /// All inodes, 0 where the file system has no such limit.
    pub inodes: u64,
    /// Free inodes.
    pub inodes_free: u64,
}

/// Describes the file system of an open file.
///
/// Source: <https://man7.org/linux/man-pages/man2/statfs.2.html>
pub fn of_fd(fd: impl AsFd) -> Result<FileSystem, SysError> {
    Ok(of_raw(&rustix::fs::fstatfs(fd).named(Op::Statfs)?))
}

#[allow(
    clippy::cast_sign_loss,
    clippy::unnecessary_cast,
    reason = "widths differ by platform"
)]
fn of_raw(raw: &rustix::fs::StatFs) -> FileSystem {
    FileSystem {
        magic: raw.f_type as u64 & 0xffff_ffff,
        block_size_bytes: raw.f_bsize as u64,
        blocks: raw.f_blocks as u64,
        blocks_available: raw.f_bavail as u64,
        inodes: raw.f_files as u64,
        inodes_free: raw.f_ffree as u64,
    }
}

/// All that statfs tells, for those who show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Details {
    /// See [`FileSystem`].
    pub system: FileSystem,
    /// Size in bytes of the units that blocks are counted in.
    pub unit_bytes: u64,
    /// Free blocks, those for the privileged included.
    pub blocks_free: u64,
    /// What tells it from others while it is mounted.
    pub id: u64,
    /// Longest name, bytes.
    pub name_bytes_max: u64,
}

/// Describes the file system that `path` lies on, through links.
///
/// Source: <https://man7.org/linux/man-pages/man2/statfs.2.html>
pub fn of_path(path: &std::path::Path) -> Result<Details, SysError> {
    let raw = rustix::fs::statfs(path).named(Op::Statfs)?;
    // The same number in two words, the other way round.
    let id = rustix::fs::statvfs(path)
        .named(Op::Statfs)?
        .f_fsid
        .rotate_left(32);
    #[allow(
        clippy::cast_sign_loss,
        clippy::unnecessary_cast,
        reason = "widths differ by platform"
    )]
    Ok(Details {
        system: of_raw(&raw),
        unit_bytes: match raw.f_frsize as u64 {
            0 => raw.f_bsize as u64,
            size => size,
        },
        blocks_free: raw.f_bfree as u64,
        id,
        name_bytes_max: raw.f_namelen as u64,
    })
}

/// The id of the file system of an open file, as fanotify's records spell it (`fsid_t`, two words
/// in memory order). Zeroes where the file system has none.
///
/// Source: <https://man7.org/linux/man-pages/man2/statfs.2.html>
pub fn id_of_fd(fd: impl AsFd) -> Result<[u8; 8], SysError> {
    let id = rustix::fs::fstatvfs(fd).named(Op::Statfs)?.f_fsid;
    let words = [id & 0xffff_ffff, id >> 32];
    let mut bytes = [0; 8];
    for (part, word) in bytes.chunks_exact_mut(4).zip(words) {
        part.copy_from_slice(&u32::try_from(word).unwrap_or(0).to_ne_bytes());
    }
    Ok(bytes)
}

/// The name of a file-system type as `/proc/mounts` spells it, where the magic number is known.
///
/// Source: `linux/magic.h`, <https://man7.org/linux/man-pages/man2/statfs.2.html>
#[must_use]
pub fn name(magic: u64) -> Option<&'static str> {
    Some(match magic {
        0xEF53 => "ext4",
        0x5846_5342 => "xfs",
        0x9123_683E => "btrfs",
        0x0102_1994 => "tmpfs",
        0x794C_7630 => "overlay",
        0x6969 => "nfs",
        0xFF53_4D42 | 0xFE53_4D42 => "cifs",
        0x6573_5546 => "fuse",
        0x2FC1_2FC1 => "zfs",
        0xF2F5_2010 => "f2fs",
        0x0BD0_0BD0 => "lustre",
        0x00C3_6400 => "ceph",
        0x4750_4653 => "gpfs",
        0xCA45_1A4E => "bcachefs",
        0x9FA0 => "proc",
        0x6265_6572 => "sysfs",
        0x1373 => "devfs",
        0x1CD1 => "devpts",
        0x6462_6720 => "debugfs",
        0x7472_6163 => "tracefs",
        0x0027_E0EB => "cgroup",
        0x6367_7270 => "cgroup2",
        0x7371_7368 => "squashfs",
        0x4D44 => "vfat",
        0x2011_BAB0 => "exfat",
        0x9660 => "iso9660",
        0x0102_1997 => "9p",
        0xE0F5_E1E2 => "erofs",
        0x8584_58F6 => "ramfs",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_proc() {
        let proc = std::fs::File::open("/proc").unwrap();
        let details = of_path(std::path::Path::new("/proc")).unwrap();
        assert_eq!(details.system.magic, 0x9fa0);
        assert!(details.name_bytes_max > 0 && details.unit_bytes > 0);
        assert_eq!(name(of_fd(&proc).unwrap().magic), Some("proc"));
    }
}
