//! What is known of directories without listing them.

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
    /// Of a directory: when its names are known for certain.
    pub sign: Option<Sign>,
}

/// How a directory was when its names became known. One that looks otherwise now has other names,
/// or other rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sign {
    /// The file system.
    pub dev: u64,
    /// Its number there.
    pub ino: u64,
    /// When it was last changed: names, rights, owners.
    pub ctime: Time,
}

impl Sign {
    /// That of a directory that looks so.
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
pub struct Wanted<'a> {
    /// Its absolute path.
    pub path: &'a [u8],
    /// What statx(2) says of it.
    pub stat: &'a Stat,
    /// How it was when its names became known, if that was said.
    pub sign: Option<Sign>,
    /// Whether a program has got beyond it: its names must come in the order in which they came
    /// before.
    pub is_on_the_way: bool,
}

/// Knows the names in some directories of one table.
pub trait Names {
    /// All names in a directory, sorted, if they are those that the kernel would list now for who may
    /// list it, with these numbers; `None` if nothing is known, or not yet.
    fn names(&mut self, wanted: &Wanted<'_>) -> Option<Vec<Name>>;

    /// When the oldest was so of what was given, by the monotonic clock.
    fn as_of_ns(&self) -> Option<i64>;
}

/// Knows names in directories without listing them.
pub trait Known: Debug + Send + Sync {
    /// What is known for a table that is begun; `None` if that is nothing.
    fn begin(&self, demand: &Demand, begun: Begun) -> Option<Box<dyn Names>>;
}
