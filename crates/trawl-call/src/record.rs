//! What an answer is made of: matches and errors.

use trawl_sys::stat::{Stat, Time};

/// What failed about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Source {
    /// A directory could not be opened.
    Open = 1,
    /// A directory could not be read to its end.
    Read = 2,
    /// A directory could not be closed. The Linux executors never say it.
    Close = 3,
    /// What stat(2) says of a match could not be had, as of a link that leads nowhere.
    Stat = 4,
    /// A directory lies deeper than was asked for, and was not gone into.
    Depth = 5,
    /// A directory that the path already leads through was not gone into again.
    Loop = 6,
}

impl Source {
    const ALL: [Source; 6] = [
        Source::Open,
        Source::Read,
        Source::Close,
        Source::Stat,
        Source::Depth,
        Source::Loop,
    ];

    /// The source with this number.
    pub fn from_number(number: u8) -> Option<Source> {
        Source::ALL
            .into_iter()
            .find(|source| *source as u8 == number)
    }

    /// What could not be done, in a word.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Open => "open",
            Source::Read => "read",
            Source::Close => "close",
            Source::Stat => "stat",
            Source::Depth => "depth",
            Source::Loop => "loop",
        }
    }
}

/// Something that could not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trouble {
    /// What.
    pub source: Source,
    /// Why: an errno, never 0.
    pub errno: i32,
}

/// What stat(2) says. Device numbers are as makedev(3) has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `st_dev`
    pub dev: u64,
    /// `st_ino`
    pub ino: u64,
    /// `st_nlink`
    pub nlink: u64,
    /// `st_rdev`
    pub rdev: u64,
    /// `st_size`, bytes.
    pub size: u64,
    /// `st_blocks`, 512 bytes each.
    pub blocks: u64,
    /// `st_mode`
    pub mode: u32,
    /// `st_uid`
    pub uid: u32,
    /// `st_gid`
    pub gid: u32,
    /// `st_blksize`, bytes.
    pub blksize: u32,
    /// `st_atim`
    pub atime: Time,
    /// `st_mtim`
    pub mtime: Time,
    /// `st_ctim`
    pub ctime: Time,
}

impl From<&Stat> for Attributes {
    fn from(stat: &Stat) -> Attributes {
        Attributes {
            dev: stat.dev.as_u64(),
            ino: stat.ino,
            nlink: u64::from(stat.nlink),
            rdev: stat.rdev.as_u64(),
            size: stat.size,
            blocks: stat.blocks,
            mode: stat.mode,
            uid: stat.uid,
            gid: stat.gid,
            blksize: stat.blksize,
            atime: stat.atime,
            mtime: stat.mtime,
            ctime: stat.ctime,
        }
    }
}

/// What became of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It matches; with what stat(2) says, if that was asked for.
    Match(Option<Attributes>),
    /// Something about it could not be done.
    Error(Trouble),
}

/// A record whose path lies somewhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordRef<'a> {
    /// The root's place in the list of roots.
    pub root: u32,
    /// Below the root, or with it, as was asked for.
    pub path: &'a [u8],
    /// What became of it.
    pub outcome: Outcome,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The root's place in the list of roots.
    pub root: u32,
    /// Below the root, or with it, as was asked for.
    pub path: Vec<u8>,
    /// What became of it.
    pub outcome: Outcome,
}

impl RecordRef<'_> {
    /// A copy that stays.
    pub fn to_owned(&self) -> Record {
        Record {
            root: self.root,
            path: self.path.to_vec(),
            outcome: self.outcome,
        }
    }
}
