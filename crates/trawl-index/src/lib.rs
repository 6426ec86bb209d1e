//! Stores the index on disk: sources, snapshots, shards and segments.
//!
//! `docs/format.md` specifies every byte. Invariants:
//!
//! - Segment files never change once their snapshot is committed. A commit is one atomic rename of
//!   a source's `current` file.
//! - Bytes read from an index are untrusted: decoding returns an error that names the file, and
//!   never panics.
//! - Everything below the index directory is reached relative to directory descriptors, without
//!   following symbolic links. Every file and directory has its permissions before it gets any
//!   content, whatever the umask.
//! - In an index for everyone the kernel alone decides who reads which files: each guard directory
//!   belongs to the superuser and carries its predicate as mode and ACL
//!   ([`trawl_model::index_access`]).
//!
//! This crate writes segments and knows their schema; `trawl-query` reads the rows back. Read
//! first: [`layout`] (where each file lies), [`IndexDir`] → [`Source`] → [`Snapshot`] → [`Shard`]
//! (the read side), [`schema`] (the tables).

#![forbid(unsafe_code)]

mod attributes;
mod bundle;
mod bundle_check;
mod carry;
mod clean;
pub mod crash;
mod digest;
mod dir_filter;
mod encode;
mod error;
pub mod gc;
mod guard_dirs;
mod guard_walk;
mod id;
mod index;
mod item_file;
mod items;
pub mod layout;
pub mod live;
mod lock;
mod manifest;
mod pack;
pub mod retention;
pub mod revision;
mod scan_options;
pub mod schema;
mod sealed;
mod segment;
mod shard;
mod shard_manifest;
mod sidecar;
mod snapshot;
mod source;
mod store;
mod text;
pub mod usage;
pub mod verify;
mod watching;
mod writer;

pub use bundle_check::check_bundles;
pub use carry::{CHECKPOINT, KnownItems, ReadBack, ReadRows};
pub use digest::Digest;
pub use dir_filter::{DirFilter, DirKey};
pub use error::{IndexError, Result};
pub use id::{Edition, Hash, SegmentId, SnapshotId, SourceId};
pub use index::IndexDir;
pub use manifest::{FileRef, GuardStep, Manifest, NamesRef, SegmentInfo, SegmentSums, Totals};
pub use pack::Glance;
pub use scan_options::{EXCLUDE, read_list, write_list};
pub use schema::Table;
pub use segment::ListingKind;
pub use shard_manifest::ShardManifest;
pub use sidecar::{NAMES_ROWS_LEAST, NamesChanges};
pub use snapshot::{Shard, Snapshot, SnapshotInfo};
pub use source::{Source, SourceInfo};
pub use store::Readers;
pub use watching::{Listener, Watching};
pub use writer::{
    Committed, DEFAULT_MEMORY_BYTES, Prepared, SnapshotWriter, WriterOptions, Writing,
};
