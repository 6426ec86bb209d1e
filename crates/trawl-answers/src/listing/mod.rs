//! Directories and their entries, as ls lists them: read, sorted, and with the targets of links.
//!
//! - [`item`]: an entry of a listing.
//! - [`tree`]: reads the listings of one directory or of a subtree, in any order.
//! - [`sort`]: orders a listing.
//! - [`links`]: targets of links, `.` and `..`, which lie outside a listing.
//! - [`Ignored`]: names that are left out.

mod ignored;
pub mod item;
pub mod links;
pub mod sort;
pub mod tree;
mod version;

pub use self::ignored::{Hidden, Ignored};
