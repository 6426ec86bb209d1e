//! Opens the index on disk: sources, snapshots, shards and the files of segments.
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
//! `trawl-query` reads the rows of segments, `trawl-writer` writes everything. This crate has what
//! both need: the layout, the schema, the small files, and safe access to directories. Read first:
//! [`layout`] (where each file lies), [`IndexDir`] → [`Source`] → [`Snapshot`] → [`Shard`],
//! [`schema`] (the tables).

#![forbid(unsafe_code)]

pub mod crash;
pub mod digest;
pub mod dir_filter;
pub mod error;
pub mod guard_walk;
pub mod id;
pub mod index;
pub mod layout;
mod listing_kind;
pub mod live;
pub mod manifest;
pub mod pack;
pub mod restricted;
pub mod retention;
mod scan_options;
pub mod schema;
pub mod sealed;
mod shard_manifest;
pub mod snapshot;
pub mod source;
pub mod store;
mod text;
pub mod usage;
pub mod watching;

pub use digest::Digest;
pub use dir_filter::{DirFilter, DirKey};
pub use error::{IndexError, Result};
pub use id::{Edition, Hash, SegmentId, SnapshotId, SourceId};
pub use index::IndexDir;
pub use listing_kind::ListingKind;
pub use manifest::{FileRef, GuardStep, Manifest, NamesRef, SegmentInfo, SegmentSums, Totals};
pub use pack::Glance;
pub use scan_options::{EXCLUDE, read_list, write_list};
pub use schema::Table;
pub use shard_manifest::ShardManifest;
pub use snapshot::{Shard, Snapshot, SnapshotInfo};
pub use source::{Source, SourceInfo};
pub use store::Readers;
pub use watching::{Listener, Watching};
