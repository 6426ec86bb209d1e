//! Writes the index: segments, snapshots, published changes; removes old snapshots and checks all
//! files.
//!
//! `docs/format.md` specifies every byte; `trawl-format` opens what is written here, and
//! `trawl-query` reads its rows. Invariants:
//!
//! - Segment files never change once their snapshot is committed. A commit is one atomic rename of
//!   a source's `current` file.
//! - Nobody can read more of an old snapshot than of the current one: the only way to commit,
//!   [`Prepared::commit`], first makes older snapshots as strict as the new one.
//! - Every file and directory has its permissions before it gets any content, whatever the umask.
//! - In an index for everyone the kernel alone decides who reads which files: each guard directory
//!   belongs to the superuser and carries its predicate as mode and ACL
//!   ([`trawl_model::index_access`]).
//!
//! Read first: [`SnapshotWriter`] → [`Prepared`] → [`Committed`].

#![forbid(unsafe_code)]

mod attributes;
mod bundle;
mod bundle_check;
mod carry;
mod clean;
mod encode;
mod error;
pub mod gc;
mod guard_dirs;
mod item_file;
mod items;
pub mod live;
mod lock;
mod new_index;
pub mod parquet_schema;
mod read_back;
mod rebuild;
mod restricted;
mod revision;
mod segment;
mod shard;
mod sidecar;
mod text_store;
mod tighten;
pub mod verify;
mod writer;

pub use bundle_check::check_bundles;
pub use carry::{CHECKPOINT, KnownItems};
pub use error::{Result, WriterError};
pub use new_index::{add_source, create_index};
pub use rebuild::{Rebuilt, rebuild_names};
pub use sidecar::NAMES_ROWS_LEAST;
pub use text_store::{PackKind, PackPlace, TextStore};
pub use tighten::Tightened;
pub use writer::{
    Committed, DEFAULT_MEMORY_BYTES, Prepared, SnapshotWriter, WriterOptions, Writing,
};
