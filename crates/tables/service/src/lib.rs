//! The bulk service: answers *everything below this directory* with one table that any number of
//! programs map. Its client is `libtrawl-preload.so`.
//!
//! [`Service::start`] starts to serve programs that are run with [`Running::environment`]. A
//! [`Source`] provides the content: [`LocalWalk`] reads the file system with few calls, and with
//! even fewer where a [`KnownNames`] has the names in directories. Tables are sealed memory
//! (`trawl-table`), cached for all programs of the run, and discarded once one of them has made a
//! change.
//!
//! Invariants: the service answers only processes with the same user, groups, root directory, and
//! mount and user namespaces as its own (or as it was told), so a table holds nothing that its
//! reader could not see. A table never exceeds its limits. A name that is not in a table is
//! unknown, not absent.

#![forbid(unsafe_code)]

mod cache;
mod config;
mod error;
mod known;
mod peer;
pub mod search_path;
mod serve;
mod source;
mod walk;

pub use config::{Config, Haste, Started, Viewers};
pub use error::BulkError;
pub use known::{KnownNames, Name, Names, Sign, WantedDirectory};
pub use serve::{Running, Service};
pub use source::{Begun, Demand, Source};
pub use trawl_table::wire::Extent;
pub use trawl_table::{
    ATTRIBUTE_NAMES, Builder, EntryParts, FileKind, Level, NewEntry, Search, Stat, Time,
};
pub use walk::LocalWalk;
