//! Answers from an index: entries, directories, sums.
#![forbid(unsafe_code)]

mod error;
mod segment;

pub use error::{QueryError, Result};
pub use segment::{Scratch, SegmentFile};
