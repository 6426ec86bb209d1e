//! Directories and their entries, as ls lists them: read, sorted, and with the targets of links.
//!
//! - [`tree`]: reads the listings of one directory or of a subtree, in any order.
//! - [`sort`]: orders a listing.
//! - [`links`]: targets of links, `.` and `..`, which lie outside a listing.
//! - [`Ignored`]: names that are left out.

mod ignored;
pub mod links;
pub mod sort;
pub mod tree;
mod version;

use trawl_find::record;
use trawl_model::column::{Column, ColumnSet};

pub use self::ignored::{Hidden, Ignored};

/// Columns that an [`Item`](trawl_report::listing::Item) is made from.
pub const COLUMNS: ColumnSet = record::COLUMNS.union(ColumnSet::of(&[
    Column::XattrNames,
    Column::Acl,
    Column::AclDefault,
]));
