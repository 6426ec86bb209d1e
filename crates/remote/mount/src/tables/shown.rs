//! Computes how the kernel presents the mount's answers to a reader of the mount.

use std::io;
use std::os::unix::fs::MetadataExt;

use fuser::{FileAttr, FileType};
use trawl_call::Attributes;
use trawl_sys::device::DeviceNumber;
use trawl_sys::identity::{effective_gid, effective_uid, groups};
use trawl_sys::stat::{Stat as Top, Time as ServerTime};
use trawl_table_service::{Stat, Time};

/// Bits of statx(2)'s mask: the basic fields, and the mount id.
const BASIC_STATS: u32 = 0x7ff;
const MNT_ID: u32 = 0x1000;
/// `STATX_ATTR_MOUNT_ROOT`.
const MOUNT_ROOT: u64 = 0x2000;
/// `CAP_DAC_OVERRIDE` and `CAP_DAC_READ_SEARCH`: either one opens every directory.
const OVERRIDES: u64 = 1 << 1 | 1 << 2;
/// Read and search permission.
const READ_AND_PASS: u32 = 0o5;
const NANOS_MAX: u32 = 999_999_999;

/// User or group ids that are mapped in a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ids {
    /// First id and count of each range.
    ranges: Vec<(u32, u32)>,
    /// The id as which unmapped ids are shown.
    overflow: u32,
}

impl Ids {
    /// Parses a map in the form of `/proc/PID/uid_map`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man7/user_namespaces.7.html>
    fn of_map(map: &str, overflow: u32) -> Ids {
        let range = |line: &str| {
            let mut words = line.split_ascii_whitespace();
            let first = words.next()?.parse().ok()?;
            Some((first, words.nth(1)?.parse().ok()?))
        };
        let ranges = map.lines().filter_map(range).collect();
        Ids { ranges, overflow }
    }

    fn has(&self, id: u32) -> bool {
        let is_in =
            |(first, count): &(u32, u32)| id.checked_sub(*first).is_some_and(|at| at < *count);
        id != u32::MAX && self.ranges.iter().any(is_in)
    }

    fn shown(&self, id: u32) -> u32 {
        match self.has(id) {
            true => id,
            false => self.overflow,
        }
    }
}

/// The process that sees the mounts.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    uid: u32,
    groups: Vec<u32>,
    users_known: Ids,
    groups_known: Ids,
    /// Whether permissions do not apply to files whose owner and group are mapped here.
    has_overrides: bool,
}

fn number(path: &str) -> io::Result<u32> {
    let text = std::fs::read_to_string(path)?;
    let number = text.trim_end().parse();
    number.map_err(|_| io::Error::other(format!("{path} does not contain a number")))
}

/// Parses the effective capabilities in `/proc/PID/status`.
fn capabilities(status: &str) -> u64 {
    let text = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let number = text.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    number.unwrap_or(0)
}

impl Reader {
    /// Returns this process's user as a reader: in its own user namespace, or in one made for the
    /// mounts, in which only this user and group are mapped.
    pub(super) fn in_namespace(users: u64) -> io::Result<Reader> {
        let (uid, gid) = (effective_uid(), effective_gid());
        let users_overflow = number("/proc/sys/kernel/overflowuid")?;
        let groups_overflow = number("/proc/sys/kernel/overflowgid")?;
        let is_own = std::fs::metadata("/proc/self/ns/user")?.ino() == users;
        let [user_map, group_map] = match is_own {
            true => ["uid_map", "gid_map"]
                .map(|name| std::fs::read_to_string(format!("/proc/self/{name}"))),
            false => [uid, gid].map(|id| Ok(format!("{id} {id} 1\n"))),
        };
        let mut all = groups().map_err(|error| io::Error::from_raw_os_error(error.errno.0))?;
        all.push(gid);
        let has_overrides = uid == 0
            && (!is_own
                || capabilities(&std::fs::read_to_string("/proc/self/status")?) & OVERRIDES != 0);
        Ok(Reader {
            uid,
            groups: all,
            users_known: Ids::of_map(&user_map?, users_overflow),
            groups_known: Ids::of_map(&group_map?, groups_overflow),
            has_overrides,
        })
    }

    /// Returns whether the kernel lets the reader list and search a directory
    /// (`default_permissions`). ACLs do not count: the mount shows them, but does not request that
    /// this kernel enforce them (`FUSE_POSIX_ACL`).
    pub(super) fn may_look_into(&self, of: &Attributes) -> bool {
        let (has_user, has_group) = (self.users_known.has(of.uid), self.groups_known.has(of.gid));
        if self.has_overrides && has_user && has_group {
            return true;
        }
        let bits = match of {
            of if has_user && of.uid == self.uid => of.mode >> 6,
            of if has_group && self.groups.contains(&of.gid) => of.mode >> 3,
            of => of.mode,
        };
        bits & READ_AND_PASS == READ_AND_PASS
    }

    /// Returns the result of statx(2) for a file with these attributes; `None` if the kernel has to
    /// answer.
    pub(super) fn stat(&self, attr: &FileAttr, of: &Attributes, top: &Top) -> Option<Stat> {
        let is_special = matches!(attr.kind, FileType::CharDevice | FileType::BlockDevice);
        let is_plain = i64::try_from(attr.size).is_ok() && attr.blksize != 0;
        let times = [time(of.atime)?, time(of.mtime)?, time(of.ctime)?];
        let [atime, mtime, ctime] = times;
        is_plain.then(|| Stat {
            dev: top.dev.as_u64(),
            ino: attr.ino.0,
            nlink: u64::from(attr.nlink),
            rdev: match is_special {
                true => device(attr.rdev),
                false => 0,
            },
            size: attr.size,
            blocks: attr.blocks,
            attributes: top.attributes & !MOUNT_ROOT,
            attributes_mask: top.attributes_mask,
            mnt_id: top.mnt_id,
            atime,
            mtime,
            ctime,
            btime: Time::default(),
            mode: type_bits(attr.kind) | u32::from(attr.perm),
            uid: self.users_known.shown(attr.uid),
            gid: self.groups_known.shown(attr.gid),
            // The kernel stores the logarithm of the block size.
            blksize: 1 << attr.blksize.ilog2(),
            mask: match top.mnt_id {
                0 => BASIC_STATS,
                _ => BASIC_STATS | MNT_ID,
            },
        })
    }

    /// Like [`Reader::stat`], for the top of a mount.
    pub(super) fn stat_top(&self, attr: &FileAttr, of: &Attributes, top: &Top) -> Option<Stat> {
        let attributes = top.attributes;
        self.stat(attr, of, top)
            .map(|stat| Stat { attributes, ..stat })
    }
}

/// Returns the time, unless it is out of range and left to the kernel.
fn time(time: ServerTime) -> Option<Time> {
    let is_plain = time.secs.unsigned_abs() < 1 << 62 && time.nanos <= NANOS_MAX;
    is_plain.then_some(Time {
        secs: time.secs,
        nanos: time.nanos,
    })
}

/// Decodes the kernel's 32-bit device number.
fn device(packed: u32) -> u64 {
    let device = DeviceNumber {
        major: (packed & 0x000f_ff00) >> 8,
        minor: (packed & 0xff) | (packed >> 12 & 0x000f_ff00),
    };
    device.as_u64()
}

fn type_bits(kind: FileType) -> u32 {
    match kind {
        FileType::Directory => 0o040_000,
        FileType::Symlink => 0o120_000,
        FileType::BlockDevice => 0o060_000,
        FileType::CharDevice => 0o020_000,
        FileType::NamedPipe => 0o010_000,
        FileType::Socket => 0o140_000,
        FileType::RegularFile => 0o100_000,
    }
}

/// Returns the `d_type` for a file type.
pub(super) fn kind(kind: FileType) -> u8 {
    (type_bits(kind) >> 12) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(uid: u32, map: &str, has_overrides: bool) -> Reader {
        Reader {
            uid,
            groups: vec![100, 200],
            users_known: Ids::of_map(map, 65534),
            groups_known: Ids::of_map(map, 65534),
            has_overrides,
        }
    }

    fn directory(uid: u32, gid: u32, mode: u32) -> Attributes {
        Attributes {
            uid,
            gid,
            mode: 0o040_000 | mode,
            ..Attributes::default()
        }
    }

    #[test]
    fn the_kernel_lets_in_owners_then_groups_then_others() {
        const ALL: &str = "         0          0 4294967295\n";
        let user = reader(7, ALL, false);
        for (of, is_let_in) in [
            (directory(7, 1, 0o500), true),
            (directory(7, 100, 0o055), false),
            (directory(8, 200, 0o050), true),
            (directory(8, 200, 0o705), false),
            (directory(8, 300, 0o005), true),
            (directory(8, 300, 0o004), false),
            (directory(8, 300, 0o001), false),
        ] {
            assert_eq!(user.may_look_into(&of), is_let_in, "{of:?}");
        }
        assert!(reader(0, ALL, true).may_look_into(&directory(8, 300, 0)));
        assert!(!reader(0, ALL, false).may_look_into(&directory(8, 300, 0)));
        // If only id 0 is mapped, it cannot override permissions of other owners' files.
        let inner = reader(0, "0 0 1\n", true);
        assert!(inner.may_look_into(&directory(0, 0, 0)));
        assert!(!inner.may_look_into(&directory(8, 0, 0o750)));
        // An unmapped group is never the reader's.
        assert!(!reader(7, "7 7 1\n", false).may_look_into(&directory(8, 100, 0o050)));
    }

    #[test]
    fn numbers_without_names_are_shown_as_nobodys() {
        let ids = Ids::of_map("5 1000 2\n", 65534);
        assert_eq!([4, 5, 6, 7].map(|id| ids.shown(id)), [65534, 5, 6, 65534]);
        let all = Ids::of_map("0 0 4294967295\n", 65534);
        assert_eq!([0, u32::MAX].map(|id| all.shown(id)), [0, 65534]);
        assert_eq!(
            capabilities("Name:\tx\nCapEff:\t0000000000000006\n"),
            OVERRIDES
        );
    }

    #[test]
    fn devices_are_unpacked() {
        let null = DeviceNumber { major: 1, minor: 3 };
        assert_eq!(device(null.as_u64() as u32), null.as_u64());
        let large = DeviceNumber {
            major: 0xfff,
            minor: 0xf_ffff,
        };
        assert_eq!(device(large.as_u64() as u32), large.as_u64());
    }
}
