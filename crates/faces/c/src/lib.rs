//! `libtrawl`: the search call and dynamic sets for C. `include/trawl.h` is the interface and documents each
//! function; this crate implements it.
//!
//! - `exports`: the functions of the header.
//! - [`layout`]: the structures and constants of the header.
//! - `arguments`: reads and checks the arguments of C callers.
//! - `handle`: a running search, and which calls on it may overlap.
//! - `entry`: a record in the form that C reads.
//! - `failure`: errors as errno numbers and texts.
//! - `sets`: dynamic sets, `include/trawl/sets.h`.
//! - [`attributes`]: attributes pushed to files, `include/trawl/attr.h`.
//! - `fork`: distinguishes a process from its forked children.
//!
//! Invariants: a panic ends at the C boundary, as `EIO`, and its handle answers nothing more;
//! memory returned to a caller belongs to the handle and stays valid until the next call on it; use
//! of one handle by two threads at once is an error, not a race; `unsafe` code only reads and
//! writes the caller's memory.

#![cfg(target_os = "linux")]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the library's structures are those of 64-bit systems");

mod arguments;
pub mod attributes;
mod entry;
mod exports;
mod failure;
mod fork;
mod handle;
pub mod layout;
pub mod sets;

pub use attributes::{trawl_attr_remove, trawl_attr_set};
pub use exports::*;
pub use handle::Handle;
