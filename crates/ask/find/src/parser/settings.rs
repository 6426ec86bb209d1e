//! Settings that options make while the words are parsed.

use trawl_model::Timestamp;

use crate::context::Races;
use crate::environment::Warnings;
use crate::expr_order::Level;
use crate::files::OutputFile;
use crate::grouping::Relations;
use crate::order::Order;
use crate::questions::Questions;
use crate::regex::Dialect;
use crate::traversal::Traversal;

/// All settings that options can make.
#[derive(Debug)]
pub struct Settings {
    /// Which entries are visited.
    pub traversal: Traversal,
    /// The dialect of `-regex` and `-iregex` from here on.
    pub dialect: Dialect,
    /// The relations that `-related-to` follows from here on.
    pub relations: Relations,
    /// Whether to warn of doubtful words from here on.
    pub warnings: Warnings,
    /// Whether to say which named indices answered.
    pub tells_indices: bool,
    /// The beginning of today, once `-daystart` was seen.
    pub day_start: Option<Timestamp>,
    /// Start points as they were spelled; `.` if none was given.
    pub starts: Vec<Vec<u8>>,
    /// How to treat entries that vanish during the search.
    pub races: Races,
    /// The files that leaves print to.
    pub files: Vec<OutputFile>,
    /// The file that start points are read from, if `-files0-from` was given.
    pub starts_from: Option<Vec<u8>>,
    /// True once `-depth` was given explicitly, rather than implied by
    /// `-delete`.
    pub depth_was_asked: bool,
    /// How far tests are reordered (`-O`).
    pub level: Level,
    /// The order in which all output is sorted.
    pub order: Option<Order>,
    /// The smallest number that `-limit` was given.
    pub limit: Option<usize>,
    /// The questions about contents.
    pub questions: Questions,
    /// True if files that were seen before are left out.
    pub is_unique: bool,
}
