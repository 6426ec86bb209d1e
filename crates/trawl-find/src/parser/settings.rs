//! What options set while the words are read.

use trawl_model::Timestamp;

use crate::environment::Warnings;
use crate::regex::Dialect;

/// Which part of the tree is visited, and in what order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traversal {
    /// Rows nearer to the start point than this are not tested.
    pub min_depth: usize,
    /// Rows further from the start point than this are not visited.
    pub max_depth: usize,
    /// True if the contents of a directory come before it (`-depth`).
    pub contents_first: bool,
    /// True if other file systems are left out (`-xdev`).
    pub one_file_system: bool,
}

impl Default for Traversal {
    fn default() -> Self {
        Traversal {
            min_depth: 0,
            max_depth: usize::MAX,
            contents_first: false,
            one_file_system: false,
        }
    }
}

/// Everything that options can set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The whole search.
    pub traversal: Traversal,
    /// For `-regex` and `-iregex` from here on.
    pub dialect: Dialect,
    /// Whether doubtful words are remarked upon from here on.
    pub warnings: Warnings,
    /// Midnight, once `-daystart` was seen.
    pub day_start: Option<Timestamp>,
}
