//! Members of dynamic sets that lie at Trawl servers, or below mounts of servers' trees.
//!
//! - [`name`]: how a set pathname spells an object of a server.
//! - [`servers`]: [`Servers`], which opens such members and finds the executor for such names.
//! - `member`: fetches one member into memory.
//! - `stream`: hands on a member that is too large for that.
//! - `arrived`: small files that arrive with the answer to a search.
//! - `below`: which server is behind a path on a mount.
//! - [`sources`]: what sets are opened with, by commands and libraries.
//!
//! Invariants: the bytes of a member are those of one version of the file, or the member is a
//! problem; a stream whose rest cannot be fetched ends with an error, never like the end of the
//! file; requests of all members at a server share one connection; the server decides what its
//! user may read.
//!
//! Apart from [`sources`], this crate knows nothing of the index or of the grammar of set pathnames;
//! it knows nothing of output.

#![forbid(unsafe_code)]

mod arrived;
mod below;
mod error;
mod member;
pub mod name;
pub mod servers;
pub mod sources;
mod stream;

pub use error::FetchError;
pub use name::ServerPath;
pub use servers::Servers;
