//! The paper's text format (§5.8): "the operation name, the number of operation invocations, and the
//! total operation latency, followed by a timeline of buckets (sampled profile)".
//!
//! ```text
//! profile   = operation*
//! operation = "OP_" name " " entered " " total "\n" slice*
//! slice     = (" " count)+ "\n"  |  "-" "\n"
//! ```
//!
//! An example, with two slices between which a third was empty:
//!
//! ```text
//! OP_write_super 3 213428976
//!  0 0 0 0 2
//! -
//!  0 0 0 0 0 1
//! ```
//!
//! - Numbers are decimal; `entered` and the counts have up to 64 bits, `total` up to 128.
//! - A slice is one interval of the timeline, the earliest first; a profile without a timeline has
//!   one slice. "We denote profiles with all zeros using the minus character."
//! - A column of a slice is a bucket. The first column is bucket [`Columns::first_bucket`] and
//!   contains the lower ones too. The recorder of appendix A has 4 there, because it drops the lowest
//!   five bits of a latency; the sample of §5.8 fits 2, as its total shows.
//! - Operations that were never called are left out, as appendix A does.
//!
//! Reading is lenient where it is safe: the prefix `OP_` may be missing, fields may be separated by
//! several spaces or tabs, lines may end with CR LF, empty lines are skipped, slices may have
//! different numbers of columns, and operations different numbers of slices.
//!
//! The format carries neither unit, resolution, interval, title and times, nor least and greatest
//! latency, nor whether a call without a latency is in flight or was dropped: they read as in flight.
//! [`Columns`] supplies the first three. [`json`](crate::json) keeps everything.

mod read;
mod write;

pub use read::read;
pub use write::write;

use crate::{Resolution, Unit};

/// What the format's columns mean, which files in it do not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The unit of latencies.
    pub unit: Unit,
    /// The resolution of the buckets.
    pub resolution: Resolution,
    /// The bucket of the first column, which contains the lower ones too.
    pub first_bucket: u16,
    /// The length of a slice; `None` if it is unknown.
    pub interval_ns: Option<u64>,
}

/// The prefix of operations' names.
const PREFIX: &str = "OP_";

/// A slice without calls.
const EMPTY: &str = "-";

#[cfg(test)]
mod tests;
