//! Shows trees of other machines to programs where nothing can be mounted: the kernel asks this
//! process about their system calls before it executes them (seccomp user notification). This
//! includes statically linked programs.
//!
//! Each tree appears at an empty file system in memory. Before a call that names something in the
//! tree, the names on its way are created there: directories, links, and empty files of the right
//! length; before a file is opened or executed, its contents. Then the kernel executes the call
//! unchanged. So descriptors, working directories, fork and exec need no special treatment. stat(2)
//! and extended attributes are answered from the server's data.
//!
//! - [`calls`]: the calls that are intercepted, and what each needs.
//! - `place`: the path and tree that a call refers to.
//! - `plant`: creates names when they are first needed; `filling`: creates file contents before
//!   files are opened; `contents`: keeps contents in bounded memory; `awaited`: the paths that the
//!   kernel is about to look at.
//! - `attributes`: extended attributes.
//! - [`supervise`]: the event loop.
//!
//! The sandbox serves programs that do not know about it; it is no security boundary against
//! programs that want to get around it.
//!
//! This crate knows nothing of the command line or output.

#![forbid(unsafe_code)]

mod attributes;
mod awaited;
pub mod calls;
mod contents;
mod filling;
mod place;
mod plant;
pub mod supervise;

pub use calls::filter;
pub use supervise::{ShownTree, Supervisor};
