//! Reading segments: Parquet files of the few kinds that the index writer
//! makes.
//!
//! Our own reader of that part of Parquet, for three reasons: an index may
//! hold thousands of small shards, and the general reader sets up and tears
//! down more for each column of each file than the decoding costs; it
//! panics, or allocates whatever a length says, on bytes made to harm; and a
//! lookup should read a page, not a chunk. Tests hold it against the general
//! reader. Writing stays with the `parquet` crate.

mod bits;
mod dirs;
mod file;
mod footer;
mod names;
mod page;
mod rows;
#[cfg(test)]
mod tests;
mod thrift;

pub(crate) use dirs::{DirChunk, DirRows, read_dir_numbers, read_dirs, read_root_kind};
pub(crate) use file::row_count;
pub use file::{Scratch, SegmentFile};
pub(crate) use names::{is_worth_a_sidecar, read_sidecar};
pub(crate) use rows::{add_rows, check_names, read_names, read_rows, read_text};
