//! Who says what there is.

use trawl_sys::Errno;
use trawl_table::wire::Extent;
use trawl_table::{Builder, Level};

/// What a table is to hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Demand {
    /// An absolute path without `.`, `..` or double slashes; for [`Extent::Each`] several, with
    /// colons between.
    pub path: Vec<u8>,
    /// A path below it, empty or `/` and names: directories before that one need not be listed.
    pub from: Vec<u8>,
    /// What is asked of each name.
    pub level: Level,
    /// How far down.
    pub extent: Extent,
    /// Directories that would make it more entries than that are not listed.
    pub entries_max: u32,
}

/// What a table may be made of.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// The generation of the run's page when it is begun: what was found out under another one may
    /// lack what the run itself has changed.
    pub generation: u64,
    /// What was found out before that, by the monotonic clock, is too old.
    pub since_ns: i64,
}

/// Says what there is in and below a directory, as the process's own user sees it.
pub trait Source: Send + Sync {
    /// A table about it, for [`Extent::Each`] about `/`. Directories that are not said to be listed are asked about again, or
    /// looked at by the programs themselves.
    ///
    /// # Errors
    /// Why there is none: an errno.
    fn table(&self, demand: &Demand, begun: Begun) -> Result<Builder, Errno>;
}
