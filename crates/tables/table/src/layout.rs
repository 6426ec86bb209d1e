//! Defines the layout of a table.
//!
//! | part | bytes | content |
//! |---|---|---|
//! | head | 192 | see [`head`] |
//! | directories | 24 each | entry, parent, first entry, number of entries, state (1 listed, 2 listed and names in it can be reached, 3 only some of its names), 0 |
//! | entries | 32 each | see [`entry`]; those of a directory are adjacent, in the order in which the directory lists them |
//! | order | 4 each | entry numbers: those of a directory, sorted by name |
//! | stats | 144 each | see [`stat`] |
//! | heap | | names and link targets |
//!
//! Numbers have 4 bytes unless noted; `u32::MAX` means *none*. Directory 0 is the one that was
//! asked about. Entry 0 is that directory itself and is in no directory.

/// Maximum bytes of a path in a question or a table: the kernel's limit without its NUL.
pub const PATH_BYTES_MAX: usize = 4095;

/// The first bytes of every table.
pub(crate) const MAGIC: [u8; 8] = *b"TRWLBLK1";

pub(crate) const NONE: u32 = u32::MAX;

pub(crate) mod head {
    //! Offsets in the head.
    pub(crate) const LENGTH: usize = 8;
    pub(crate) const GENERATION: usize = 16;
    pub(crate) const BEGUN_NS: usize = 24;
    /// Offset and number of elements of each part, 8 bytes per part: directories, entries, order,
    /// stats, heap.
    pub(crate) const PARTS: usize = 32;
    pub(crate) const LEVEL: usize = 72;
    /// Errors of getxattr(2) for missing attributes: [`super::FileKind::COUNT`] ×
    /// [`super::ATTRIBUTE_NAMES`] errnos of one byte, 0 where unknown.
    pub(crate) const ERRNOS: usize = 80;
    /// Path of the table's directory: offset and length in the heap.
    pub(crate) const PATH: usize = 112;
    pub(crate) const BYTES: usize = 192;
}

pub(crate) mod directory {
    //! Offsets in a directory.
    pub(crate) const ENTRY: usize = 0;
    pub(crate) const PARENT: usize = 4;
    pub(crate) const FIRST: usize = 8;
    pub(crate) const COUNT: usize = 12;
    pub(crate) const STATE: usize = 16;
    pub(crate) const BYTES: usize = 24;

    pub(crate) const LISTED: u32 = 1;
    pub(crate) const SEARCHABLE: u32 = 2;
    pub(crate) const PARTLY: u32 = 3;
}

pub(crate) mod entry {
    //! Offsets in an entry.
    pub(crate) const NAME: usize = 0;
    /// 2 bytes.
    pub(crate) const NAME_LENGTH: usize = 4;
    /// `d_type`, 1 byte.
    pub(crate) const KIND: usize = 6;
    /// 1 byte.
    pub(crate) const FLAGS: usize = 7;
    /// `d_ino`, 8 bytes.
    pub(crate) const INO: usize = 8;
    pub(crate) const DIRECTORY: usize = 16;
    pub(crate) const STAT: usize = 20;
    pub(crate) const LINK: usize = 24;
    /// 2 bytes.
    pub(crate) const LINK_LENGTH: usize = 28;
    /// 2 bytes: the asking user's permissions, as bits of access(2).
    pub(crate) const ACCESS: usize = 30;
    pub(crate) const BYTES: usize = 32;

    pub(crate) const HAS_LINK: u8 = 1;
    pub(crate) const HAS_ACCESS: u8 = 2;
    pub(crate) const HAS_NO_ATTRIBUTES: u8 = 4;
}

pub(crate) mod stat {
    //! Offsets in a stat.
    pub(crate) const WIDE: usize = 0;
    pub(crate) const SECS: usize = 72;
    pub(crate) const NARROW: usize = 104;
    pub(crate) const BYTES: usize = 144;
}

/// How much is asked about each name; each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Level {
    /// Names; lstat(2) results of directories.
    Names = 0,
    /// lstat(2) results of everything, and link targets.
    Stats = 1,
    /// Whether there are extended attributes, and the asking user's permissions.
    Attributes = 2,
}

impl Level {
    /// Returns the level with this number.
    pub fn from_number(number: u8) -> Option<Level> {
        [Level::Names, Level::Stats, Level::Attributes]
            .into_iter()
            .find(|level| *level as u8 == number)
    }
}

/// The attributes that programs ask for on every file, and that are answered where they are
/// missing.
pub const ATTRIBUTE_NAMES: [&str; 4] = [
    "security.selinux",
    "security.capability",
    "system.posix_acl_access",
    "system.posix_acl_default",
];

/// Kinds of files that are distinguished for missing attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FileKind {
    /// A regular file.
    Regular = 0,
    /// A directory.
    Directory = 1,
    /// A symbolic link.
    Link = 2,
}

impl FileKind {
    /// Number of kinds.
    pub const COUNT: usize = 3;

    /// Returns the kind for a mode; `None` for devices, pipes and sockets.
    pub fn of_mode(mode: u32) -> Option<FileKind> {
        match mode & 0o170_000 {
            0o100_000 => Some(FileKind::Regular),
            0o040_000 => Some(FileKind::Directory),
            0o120_000 => Some(FileKind::Link),
            _ => None,
        }
    }
}

/// A time of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// Seconds since 1970.
    pub secs: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
}

/// A result of statx(2) without following links. A struct of its own, because it is a record of the
/// table file and this crate depends on nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields of struct statx")]
pub struct Stat {
    pub dev: u64,
    pub ino: u64,
    pub nlink: u64,
    pub rdev: u64,
    pub size: u64,
    pub blocks: u64,
    pub attributes: u64,
    pub attributes_mask: u64,
    pub mnt_id: u64,
    pub atime: Time,
    pub mtime: Time,
    pub ctime: Time,
    pub btime: Time,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub blksize: u32,
    /// `stx_mask`: which fields are known.
    pub mask: u32,
}

impl Stat {
    #[cfg(feature = "build")]
    pub(crate) fn wide(&self) -> [u64; 9] {
        [
            self.dev,
            self.ino,
            self.nlink,
            self.rdev,
            self.size,
            self.blocks,
            self.attributes,
            self.attributes_mask,
            self.mnt_id,
        ]
    }

    #[cfg(feature = "build")]
    pub(crate) fn times(&self) -> [Time; 4] {
        [self.atime, self.mtime, self.ctime, self.btime]
    }

    #[cfg(feature = "build")]
    pub(crate) fn narrow(&self) -> [u32; 5] {
        [self.mode, self.uid, self.gid, self.blksize, self.mask]
    }

    pub(crate) fn of_numbers(wide: [u64; 9], times: [Time; 4], narrow: [u32; 5]) -> Stat {
        let [
            dev,
            ino,
            nlink,
            rdev,
            size,
            blocks,
            attributes,
            attributes_mask,
            mnt_id,
        ] = wide;
        let [atime, mtime, ctime, btime] = times;
        let [mode, uid, gid, blksize, mask] = narrow;
        Stat {
            dev,
            ino,
            nlink,
            rdev,
            size,
            blocks,
            attributes,
            attributes_mask,
            mnt_id,
            atime,
            mtime,
            ctime,
            btime,
            mode,
            uid,
            gid,
            blksize,
            mask,
        }
    }
}
