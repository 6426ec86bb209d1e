//! Reads segments: Parquet files of the few kinds that the index writer
//! produces.
//!
//! This is our own reader for that part of Parquet, for three reasons. An index
//! may hold thousands of small shards, and the general reader's setup for each
//! column of each file costs more than the decoding. The general reader panics
//! or allocates any declared length on malicious bytes. And a lookup should
//! read a page, not a whole chunk. Tests compare this reader with the general
//! one. Writing uses the `parquet` crate.

mod bits;
mod dirs;
mod file;
mod footer;
mod kept;
mod names;
mod page;
mod rows;
mod scratch;
#[cfg(test)]
mod tests;

pub(crate) use dirs::{
    DirChunk, DirRows, read_dir_numbers, read_dir_page, read_dirs, read_root_kind,
};
pub use file::SegmentFile;
pub(crate) use file::row_count;
pub(crate) use kept::{KEPT_PAGE_BYTES, KeptPages};
pub(crate) use names::{is_worth_a_sidecar, read_sidecar};
pub(crate) use rows::{add_rows, check_names, read_names, read_rows, read_text};
pub use scratch::Scratch;
