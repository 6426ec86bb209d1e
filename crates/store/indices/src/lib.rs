//! Named indices: values of attributes, each with the rows of one segment that have it.
//!
//! A [`Definition`] names an index and says which attributes it is over. If these are columns, a
//! [`Builder`] makes one immutable file for each segment, and [`IndexFile`] answers from it which
//! rows can lie within bounds. An index over an attribute of contents, an extended attribute or
//! relations has no files here: what stores these serves it.
//!
//! Invariants:
//!
//! - bytes of a file are untrusted: invalid contents give an error, never a panic, and no length is
//!   used before it is checked;
//! - an answer contains every row of the segment that lies within the bounds. Rows are those of an
//!   immutable segment, so no answer is outdated.
//!
//! Knows no paths, no permissions and no snapshots.
#![forbid(unsafe_code)]
#![allow(
    clippy::single_range_in_vec_init,
    reason = "rows are lists of ranges, often of a single one"
)]

mod block;
mod bounds;
mod builder;
mod definition;
mod error;
mod file;
mod key;
mod over;

pub use bounds::Bounds;
pub use builder::{Builder, Subject};
pub use definition::{Definition, INDICES_MAX, Kind, read_all, write_all};
pub use error::{DefinitionError, IndexFileError};
pub use file::IndexFile;
pub use key::{push_key, value_of};
pub use over::{ATTRIBUTES, CONTENT};
