//! What options set while the words are read.

use trawl_model::Timestamp;

use crate::context::Races;
use crate::environment::Warnings;
use crate::files::OutputFile;
use crate::order::Order;
use crate::regex::Dialect;
use crate::traversal::Traversal;

/// Everything that options can set.
#[derive(Debug)]
pub struct Settings {
    /// The whole search.
    pub traversal: Traversal,
    /// For `-regex` and `-iregex` from here on.
    pub dialect: Dialect,
    /// Whether doubtful words are remarked upon from here on.
    pub warnings: Warnings,
    /// Midnight, once `-daystart` was seen.
    pub day_start: Option<Timestamp>,
    /// Start points as they were spelled; `.` if none was given.
    pub starts: Vec<Vec<u8>>,
    /// What is done about entries that vanish.
    pub races: Races,
    /// The files that leaves print to.
    pub files: Vec<OutputFile>,
    /// The file that start points are read from.
    pub starts_from: Option<Vec<u8>>,
    /// True once `-depth` was given in words, not by `-delete`.
    pub depth_was_asked: bool,
    /// What everything that is printed is sorted by.
    pub order: Option<Order>,
    /// The least that `-limit` was given.
    pub limit: Option<usize>,
    /// True if files are left out that were seen before.
    pub is_unique: bool,
}
