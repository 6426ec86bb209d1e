//! Sources of records: a parallel walk of a live tree, and recorded traces.
//!
//! Each reads one source and delivers it to a [`trawl_model::Sink`] in an order in which nothing
//! has to be looked up again (defined by the trait). Read errors are issues in the stream; only an
//! invalid root, a cancelled scan or a failing sink ends a scan early. Memory and open descriptors
//! are bounded for any tree.
//!
//! - [`walk()`]: getdents64 and statx relative to directory descriptors; never follows a symbolic
//!   link, never leaves the root.
//! - [`Parts`]: listings and subtrees of a tree that was read before.
//! - [`look()`]: one entry whose directory may be passed but not listed.
//! - [`trace`]: GUFI's text traces.
//!
//! This crate knows nothing about the code behind the sink, prints nothing and reads no clock.

#![forbid(unsafe_code)]

mod error;
mod excludes;
mod options;
mod progress;

pub mod trace;
pub mod walk;

pub use error::ScanError;
pub use excludes::{BadPattern, Excludes};
pub use options::{FRAGMENT_BYTES, Mounts, WalkOptions, Xattrs, trusts_ctime};
pub use progress::{Progress, ScanProgress};

pub use trace::{TraceOptions, read_trace};
pub use walk::{Extent, PartRead, Parts, SomeNames, look, walk};
