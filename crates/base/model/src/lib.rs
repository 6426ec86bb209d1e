//! Trawl's shared data types: records, ids, columns, guards, and the traits
//! that connect the scanner, the index and the readers.
//!
//! The crate is pure: it performs no I/O, reads no clock and has no
//! dependencies. It contains only plain data and functions on that data, so that
//! the permission algebra ([`guard`], [`placement`]) can be read and tested on
//! its own. The one exception is [`mapped`], which holds a setting of the
//! process.

#![forbid(unsafe_code)]

pub mod accesses;
pub mod acl;
pub mod change;
pub mod column;
pub mod entry;
pub mod escape;
mod field;
pub mod filter;
pub mod guard;
pub mod id;
pub mod id_map;
pub mod index_access;
pub mod issue;
pub mod mapped;
pub mod need;
pub mod operation;
pub mod path;
pub mod placement;
mod regions;
pub mod relative_path;
pub mod rows;
pub mod sink;
pub mod sort_key;
mod subtrees;
pub mod sync;
pub mod time;
mod time_kind;

pub use acl::Acl;
pub use change::{Change, FileSystemId, ObjectKey, ObjectRef};
pub use column::{Column, ColumnSet};
pub use entry::{DirAccess, DirBatch, Entry, FileType, Meta, Span, StringVisitor, Xattr};
pub use field::{NumberVisitor, Value};
pub use id::{Dev, DirId, Gid, Uid};
pub use id_map::IdMap;
pub use issue::{Errno, Issue, Op};
pub use regions::Regions;
pub use sink::{KnownListings, Sink};
pub use sort_key::SortKey;
pub use subtrees::Subtrees;
pub use time::Timestamp;
pub use time_kind::TimeKind;
