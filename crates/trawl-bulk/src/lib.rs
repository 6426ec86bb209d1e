//! The bulk service: answers *everything below this directory* with one table that any number of
//! programs map. It is what `libtrawl-preload.so` asks.
//!
//! [`Service::start`] begins to serve the programs that are run with [`Running::environment`]; a
//! [`Source`] says what there is: [`LocalWalk`] what the file system has, asked in few calls, and in
//! fewer where a [`Known`] has the names in directories. Tables are sealed memory (`trawl-table`), cached for all
//! programs of the run and thrown away once one of them has changed anything.
//!
//! Invariants: it answers only processes with the same user, groups, root and namespaces of mounts
//! and users as its own, or as it was told, so that a table holds nothing that its reader could not see; a table never says more than its
//! bounds; what is not in it is not known, never absent.

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

pub use config::{Config, Haste, Viewers};
pub use error::BulkError;
pub use known::{Known, Name, Names, Sign, Wanted};
pub use serve::{Running, Service};
pub use source::{Begun, Demand, Source};
pub use trawl_table::wire::Extent;
pub use trawl_table::{
    ATTRIBUTE_NAMES, Builder, EntryParts, FileKind, Level, NewEntry, Search, Stat, Time,
};
pub use walk::LocalWalk;
