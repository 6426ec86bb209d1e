//! Sources of records: a parallel walk of a live tree, and recorded traces.
//!
//! Either reads one source and hands it to a [`trawl_model::Sink`] in an order in which nothing
//! has to be looked up again (the trait says which). What can't be read is an issue in the
//! stream; only a bad root, a cancelled scan or a failing sink ends it early. Memory and open
//! descriptors are bounded whatever the tree.
//!
//! - [`walk()`]: getdents64 and statx, relative to directory descriptors, never through a
//!   symbolic link, never out of the root.
//! - [`Parts`]: listings and subtrees of a tree that was read before;
//! - [`look()`]: one entry, where its directory may be passed but not listed.
//! - [`trace`]: GUFI's text traces.
//!
//! This crate knows nothing of what is behind the sink, prints nothing and reads no clock.

#![forbid(unsafe_code)]

mod error;
mod excludes;
mod options;
mod progress;

pub mod trace;
pub mod walk;

pub use error::ScanError;
pub use excludes::{BadPattern, Excludes};
pub use options::{Mounts, WalkOptions, Xattrs, trusts_ctime};
pub use progress::{Progress, ScanProgress};

pub use trace::{TraceOptions, read_trace};
pub use walk::{Extent, PartRead, Parts, SomeNames, look, walk};
