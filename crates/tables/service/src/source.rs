//! Interface to the sources of tables.

use trawl_sys::Errno;
use trawl_table::wire::Extent;
use trawl_table::{Builder, Level};

/// The requested content of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Demand {
    /// An absolute path without `.`, `..` or double slashes; for [`Extent::Each`] several paths,
    /// separated by colons.
    pub path: Vec<u8>,
    /// A path below it, empty or `/` followed by names: directories before that one need not be
    /// listed.
    pub from: Vec<u8>,
    /// How much is asked about each name.
    pub level: Level,
    /// How deep to go.
    pub extent: Extent,
    /// Directories that would exceed this number of entries are not listed.
    pub entries_max: u32,
}

/// Limits on the information that a table may use.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// The generation of the run's page when the table is begun: information from another
    /// generation may lack changes of the run itself.
    pub generation: u64,
    /// Information from before this time, by the monotonic clock, is too old.
    pub since_ns: i64,
}

/// Provides the content in and below a directory, as the process's own user sees it.
pub trait Source: Send + Sync {
    /// Makes a table about the directory, or about `/` for [`Extent::Each`]. Directories that are
    /// not marked as listed are asked about again, or read by the programs themselves.
    ///
    /// # Errors
    /// An errno, if there is no table.
    fn table(&self, demand: &Demand, begun: Begun) -> Result<Builder, Errno>;
}
