//! A tree on another machine as a read-only file system on this one: bulk answers of the search
//! call supply what unmodified programs ask for.
//!
//! - [`tree`]: names, attributes, links and contents, as of a moment ago, in bounded memory.
//! - `nodes`: inode numbers.
//! - `files`: open files, and the version of each that the kernel caches.
//! - `notices`: tells the kernel to forget what the server reports as changed.
//! - `file_system`: the tree in the form that the kernel asks for (FUSE).
//! - [`tables`]: the tree in the form that programs get from the bulk service.
//! - [`serving`]: mounts the tree, and serves a mount until it is gone.
//!
//! Invariants: if the server cannot be asked, the result is an error, never an empty directory or a
//! missing name; nothing older than the agreed age is told; memory is bounded; everything from the
//! server is untrusted.
//!
//! This crate knows nothing of commands, namespaces or output.

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
