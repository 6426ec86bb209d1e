//! The file system of a descriptor or path: its type, sizes and id.

use std::os::fd::AsFd;

use crate::error::{Named, Op, SysError};

/// Properties of a file system, as returned by statfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Magic number of its type; see [`name`].
    pub magic: u64,
    /// Block size in bytes.
    pub block_size_bytes: u64,
    /// Total number of blocks.
    pub blocks: u64,
    /// Blocks available to unprivileged users.
    pub blocks_available: u64,
    /// Total number of inodes; 0 if the file system has no limit.
    pub inodes: u64,
    /// Free inodes.
    pub inodes_free: u64,
}

/// Returns the properties of an open file's file system.
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

/// All properties that statfs returns, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Details {
    /// The properties in [`FileSystem`].
    pub system: FileSystem,
    /// Size in bytes of the units in which blocks are counted.
    pub unit_bytes: u64,
    /// Free blocks, including those reserved for privileged users.
    pub blocks_free: u64,
    /// Id that distinguishes it from other file systems while it is mounted.
    pub id: u64,
    /// Maximum length of a name, in bytes.
    pub name_bytes_max: u64,
}

/// Returns all properties of the file system that contains `path`; links are followed.
///
/// Source: <https://man7.org/linux/man-pages/man2/statfs.2.html>
pub fn of_path(path: &std::path::Path) -> Result<Details, SysError> {
    let raw = rustix::fs::statfs(path).named(Op::Statfs)?;
    // The id's two words come in the opposite order.
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

/// Returns the id of an open file's file system in the form that fanotify's records use (`fsid_t`,
/// two words in memory order); zeroes if the file system has none.
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

/// Magic numbers of file system types, as statfs(2) returns them.
///
/// Source: `linux/magic.h`, <https://man7.org/linux/man-pages/man2/statfs.2.html>
#[allow(missing_docs, reason = "each is named after its file system")]
pub mod magic {
    /// ext2, ext3 and ext4.
    pub const EXT: u64 = 0xEF53;
    pub const XFS: u64 = 0x5846_5342;
    pub const BTRFS: u64 = 0x9123_683E;
    pub const TMPFS: u64 = 0x0102_1994;
    pub const OVERLAY: u64 = 0x794C_7630;
    pub const NFS: u64 = 0x6969;
    /// The older protocol of SMB.
    pub const CIFS: u64 = 0xFF53_4D42;
    /// SMB 2 and 3.
    pub const SMB2: u64 = 0xFE53_4D42;
    pub const FUSE: u64 = 0x6573_5546;
    pub const ZFS: u64 = 0x2FC1_2FC1;
    pub const F2FS: u64 = 0xF2F5_2010;
    pub const LUSTRE: u64 = 0x0BD0_0BD0;
    pub const CEPH: u64 = 0x00C3_6400;
    pub const GPFS: u64 = 0x4750_4653;
    pub const BCACHEFS: u64 = 0xCA45_1A4E;
    pub const PROC: u64 = 0x9FA0;
    pub const SYSFS: u64 = 0x6265_6572;
    pub const DEVFS: u64 = 0x1373;
    pub const DEVPTS: u64 = 0x1CD1;
    pub const DEBUGFS: u64 = 0x6462_6720;
    pub const TRACEFS: u64 = 0x7472_6163;
    pub const SECURITYFS: u64 = 0x7363_6673;
    pub const BPF: u64 = 0xCAFE_4A11;
    pub const AUTOFS: u64 = 0x0187;
    pub const CGROUP: u64 = 0x0027_E0EB;
    pub const CGROUP2: u64 = 0x6367_7270;
    pub const SQUASHFS: u64 = 0x7371_7368;
    pub const VFAT: u64 = 0x4D44;
    pub const EXFAT: u64 = 0x2011_BAB0;
    pub const NTFS: u64 = 0x5346_544E;
    pub const NTFS3: u64 = 0x7366_746E;
    pub const HFS: u64 = 0x4244;
    pub const HFSPLUS: u64 = 0x482B;
    pub const ISO9660: u64 = 0x9660;
    pub const NINE_P: u64 = 0x0102_1997;
    pub const EROFS: u64 = 0xE0F5_E1E2;
    pub const RAMFS: u64 = 0x8584_58F6;
}

/// Returns the name of a file system type as in `/proc/mounts`; `None` if the magic number is
/// unknown.
#[must_use]
pub fn name(number: u64) -> Option<&'static str> {
    Some(match number {
        magic::EXT => "ext4",
        magic::XFS => "xfs",
        magic::BTRFS => "btrfs",
        magic::TMPFS => "tmpfs",
        magic::OVERLAY => "overlay",
        magic::NFS => "nfs",
        magic::CIFS | magic::SMB2 => "cifs",
        magic::FUSE => "fuse",
        magic::ZFS => "zfs",
        magic::F2FS => "f2fs",
        magic::LUSTRE => "lustre",
        magic::CEPH => "ceph",
        magic::GPFS => "gpfs",
        magic::BCACHEFS => "bcachefs",
        magic::PROC => "proc",
        magic::SYSFS => "sysfs",
        magic::DEVFS => "devfs",
        magic::DEVPTS => "devpts",
        magic::DEBUGFS => "debugfs",
        magic::TRACEFS => "tracefs",
        magic::SECURITYFS => "securityfs",
        magic::BPF => "bpf",
        magic::AUTOFS => "autofs",
        magic::CGROUP => "cgroup",
        magic::CGROUP2 => "cgroup2",
        magic::SQUASHFS => "squashfs",
        magic::VFAT => "vfat",
        magic::EXFAT => "exfat",
        magic::NTFS => "ntfs",
        magic::NTFS3 => "ntfs3",
        magic::HFS => "hfs",
        magic::HFSPLUS => "hfsplus",
        magic::ISO9660 => "iso9660",
        magic::NINE_P => "9p",
        magic::EROFS => "erofs",
        magic::RAMFS => "ramfs",
        _ => return None,
    })
}

/// Returns true for file system types (as spelled in `/proc/mounts`) that other machines or
/// programs can change, and on which an access may have to wait: network file systems, FUSE, the
/// automounter.
#[must_use]
pub fn is_shared(kind: &[u8]) -> bool {
    // Prefixes also cover `nfs4`, `smb3` and `fuse.NAME`.
    const BEGINNINGS: [&[u8]; 11] = [
        b"nfs", b"cifs", b"smb", b"fuse", b"lustre", b"ceph", b"gpfs", b"9p", b"afs", b"autofs",
        b"beegfs",
    ];
    BEGINNINGS
        .iter()
        .any(|beginning| kind.starts_with(beginning))
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
