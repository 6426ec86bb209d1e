//! Answers from an index: entries, directories, sums.
//!
//! Invariants:
//!
//! - bytes read from an index are untrusted: what makes no sense is an error
//!   that names the file, never a panic, and no length is believed before it
//!   is checked;
//! - memory is bounded by what is in flight (some morsels of rows a thread,
//!   some rows of each segment's directories), not by the scope;
//! - answers come in one order whatever the shards and segments: directories
//!   depth first by name bytes, rows of a directory by name bytes.
//!
//! Read first: [`Index::locate`] gives a [`Start`]; [`Index::walk`] goes
//! over the rows below it. `segment` reads files, `locate` finds few rows,
//! `merge` orders directories across segments, `plan` cuts them into
//! morsels, `decode` reads a morsel's rows.
//!
//! What may not be opened is not there: the kernel decides. Who asks is known
//! only to tell why something is not there, and what is therefore missing
//! from an answer.
//!
//! Knows nothing of the find language or of output.
#![forbid(unsafe_code)]
#![allow(
    clippy::single_range_in_vec_init,
    reason = "rows are read by lists of ranges, often of one"
)]

mod decode;
mod directories;
mod error;
mod index;
mod issues;
mod links;
mod locate;
mod merge;
mod permission;
mod plan;
mod segment;
mod selection;
mod stats;
pub mod stored;
mod totals;
mod usage;
mod view;
mod walk;
mod xattrs;

pub use directories::{DirRequest, Directory, Own, Sums};
pub use error::{QueryError, Result};
pub use index::{Index, Start, View};
pub use issues::DeniedRequest;
pub use links::{Repeats, SeenLinks};
pub use locate::Located;
pub use segment::{Scratch, SegmentFile};
pub use selection::RowSelection;
pub use stats::{
    AGE_BOUNDS_SECS, AGE_BUCKETS, Count, SIZE_BUCKETS, Stats, StatsRequest, age_bucket, extension,
    size_bucket,
};
pub use totals::Totals;
pub use trawl_index::SnapshotInfo;
pub use usage::{Detail, Usage, UsageOf, UsageRequest};
pub use walk::{Batch, DirInfo, Listing, Order, Request};
pub use xattrs::{ACL_ACCESS, ACL_DEFAULT, Attribute, AttributeRequest, Attributed, Links};
