//! Errors of a scan in reading parts of the tree. An issue is data: it is kept
//! in the index, counted and shown, and never ends a scan.

use std::fmt;

/// The operation that failed, named after its system call or parsing step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[repr(u8)]
pub enum Op {
    /// Opening a directory to list it, openat(2).
    OpenDir = 1,
    /// Listing a directory, getdents64(2).
    ReadDir = 2,
    /// Reading attributes, statx(2).
    Stat = 3,
    /// Reading a link's target, readlinkat(2).
    ReadLink = 4,
    /// Listing extended attributes, listxattr(2).
    ListXattr = 5,
    /// Reading an extended attribute, getxattr(2).
    GetXattr = 6,
    /// Parsing a line of a recorded source.
    Parse = 7,
    /// Reading a project id, ioctl_xfs_fsgetxattr(2).
    Project = 8,
}

impl Op {
    /// Every operation, in code order.
    pub const ALL: [Op; 8] = [
        Op::OpenDir,
        Op::ReadDir,
        Op::Stat,
        Op::ReadLink,
        Op::ListXattr,
        Op::GetXattr,
        Op::Parse,
        Op::Project,
    ];

    /// Returns the name used in messages and machine-readable output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Op::OpenDir => "opendir",
            Op::ReadDir => "readdir",
            Op::Stat => "stat",
            Op::ReadLink => "readlink",
            Op::ListXattr => "listxattr",
            Op::GetXattr => "getxattr",
            Op::Parse => "parse",
            Op::Project => "project",
        }
    }

    /// Returns the operation with this stored code, if there is one.
    pub fn from_code(code: u8) -> Option<Op> {
        Op::ALL.into_iter().find(|op| *op as u8 == code)
    }

    /// Returns true if a part of the tree at or below the path was not read
    /// (not merely one attribute of one entry).
    pub const fn hides_entries(self) -> bool {
        matches!(self, Op::OpenDir | Op::ReadDir | Op::Stat | Op::Parse)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error number, errno(3); 0 if there is none (a damaged trace line).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Errno(pub i32);

/// One error in reading the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Issue {
    /// The affected path, absolute.
    pub path: Vec<u8>,
    /// The operation that failed.
    pub op: Op,
    /// The kernel's error number.
    pub errno: Errno,
    /// Details that the error number does not express (a trace's line number).
    pub detail: String,
}
