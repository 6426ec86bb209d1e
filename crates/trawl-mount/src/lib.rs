//! A tree on another machine as a file system of this one, read-only: what unmodified programs
//! ask is answered from bulk answers of the search call.
//!
//! - [`tree`]: names, attributes, links and contents, as of a moment ago, in bounded memory.
//! - `nodes`: inode numbers.
//! - `files`: open files, and which version of them the kernel keeps.
//! - `notices`: what the kernel is told when the server says that something changed.
//! - `file_system`: the tree as the kernel asks for it (FUSE).
//! - [`tables`]: the tree as programs are told of it that ask the bulk service.
//! - [`serving`]: mounting it, and serving a mount until it is gone.
//!
//! Invariants: what the server cannot be asked is an error, never an empty directory or a name
//! that is not there; nothing is told that is older than was agreed on; memory is bounded; what
//! the server says is untrusted.
//!
//! Knows nothing of commands, namespaces or output.

#![forbid(unsafe_code)]

mod error;
mod file_system;
mod files;
mod nodes;
mod notices;
pub mod serving;
pub mod tables;
pub mod tree;

pub use error::MountError;
pub use serving::{Mounted, Serving, mount, serve};
pub use tables::Tables;
pub use trawl_remote::client::ExtendedAttributes;
pub use tree::{Asking, Keeping, Tree};
