//! Interface to sources that know the names in directories without listing them.

use std::ffi::CString;
use std::fmt::Debug;

use trawl_table::{Stat, Time};

use crate::source::{Begun, Demand};

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name; neither `.` nor `..`.
    pub name: CString,
    /// `d_ino`.
    pub ino: u64,
    /// `d_type`.
    pub kind: u8,
    /// For a directory: its state in which its names are known.
    pub sign: Option<Sign>,
}

/// The state of a directory when its names became known. If its present state differs, its names or
/// permissions may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sign {
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Time of the last change of its names, permissions or owner.
    pub ctime: Time,
}

impl Sign {
    /// Returns the sign of a directory with these attributes.
    pub fn of(stat: &Stat) -> Sign {
        Sign {
            dev: stat.dev,
            ino: stat.ino,
            ctime: stat.ctime,
        }
    }
}

/// A directory whose names are wanted.
#[derive(Clone, Copy, Debug)]
pub struct WantedDirectory<'a> {
    /// Its absolute path.
    pub path: &'a [u8],
    /// Its statx(2) result.
    pub stat: &'a Stat,
    /// The state in which its names became known, if it was given.
    pub sign: Option<Sign>,
    /// Whether a program has passed it: then its names must come in the same order as before.
    pub is_on_the_way: bool,
}

/// Knows the names in some directories of one table.
pub trait Names {
    /// Returns all names in a directory, sorted, if they are certain to be those that the kernel
    /// would now list to a user who may list it, with the same inode numbers. Returns `None` if
    /// nothing is known, or not yet.
    fn names(&mut self, wanted: &WantedDirectory<'_>) -> Option<Vec<Name>>;

    /// Returns the time of the oldest information given so far, by the monotonic clock.
    fn as_of_ns(&self) -> Option<i64>;
}

/// Knows the names in directories without listing them.
pub trait KnownNames: Debug + Send + Sync {
    /// Returns the knowledge for a table that is begun; `None` if there is none.
    fn begin(&self, demand: &Demand, begun: Begun) -> Option<Box<dyn Names>>;
}
