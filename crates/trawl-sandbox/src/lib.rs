//! Trees of other machines for programs where nothing can be mounted: their system calls are asked
//! about before the kernel does them (seccomp user notification), statically linked programs' too.
//!
//! Where a tree is to be seen lies an empty file system in memory. Before a call that names
//! something in it the names on its way are put there: directories, links, files of the right
//! length with nothing in them; before a file is opened or executed, what is in it. Then the
//! kernel does the call as it was meant. So descriptors, working directories, fork and exec need
//! no looking after. What stat(2) says, and extended attributes, are answered from what the server
//! said.
//!
//! - [`calls`]: which calls are asked about, and what each needs.
//! - `place`: which path in which tree a call means.
//! - `plant`: names, put there when they are first needed; `filling`: what is in files, put there
//!   before they are opened; `contents`: the same in bounded memory; `awaited`: which paths the
//!   kernel is about to look at.
//! - `attributes`: extended attributes.
//! - [`supervise`]: the loop.
//!
//! This is for programs that do not know of it, and no boundary for those that would get round it.
//!
//! Knows nothing of the command line or output.

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
pub use supervise::{Shown, Supervisor};
