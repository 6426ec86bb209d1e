//! The look of listings: what is shown, and how.

use trawl_model::TimeKind;
use trawl_text::quote::Quoting;

use crate::block_size::SizeFormat;
use crate::time_look::TimeLook;

/// Arrangement of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Long format.
    Long,
    /// One name per line.
    Lines,
    /// Columns, filled from top to bottom.
    Columns,
    /// Columns, filled from left to right.
    Across,
    /// Separated by commas.
    Commas,
}

/// Indicator after a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Indicator {
    /// No indicator.
    None,
    /// `/` for directories.
    Slash,
    /// For every type, without `*` for executables.
    FileType,
    /// For every type, with `*` for executables.
    Classify,
}

/// Owner fields to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerFields {
    /// Owner.
    pub user: bool,
    /// Group.
    pub group: bool,
    /// Owner again, as the author.
    pub author: bool,
    /// True for ids instead of names.
    pub numeric: bool,
}

/// The look of a listing.
#[derive(Clone, Debug)]
pub struct Style {
    /// Arrangement of names.
    pub layout: Layout,
    /// Time that is shown.
    pub time: TimeKind,
    /// Format of times.
    pub look: TimeLook,
    /// Format of file sizes.
    pub file_size: SizeFormat,
    /// Format of allocated space.
    pub block_size: SizeFormat,
    /// Owner fields of the long format.
    pub owners: OwnerFields,
    /// True if inode numbers are shown.
    pub inode: bool,
    /// True if allocated blocks are shown.
    pub blocks: bool,
    /// Indicator after names.
    pub indicator: Indicator,
    /// Quoting of names.
    pub quoting: Quoting,
    /// Width of a line in terminal columns; 0 for no limit.
    pub width: usize,
    /// Columns between tab stops; 0 for none.
    pub tab_width: usize,
    /// Byte that ends a line.
    pub ending: u8,
    /// True if control characters are printed as `?`.
    pub hide_control: bool,
}
