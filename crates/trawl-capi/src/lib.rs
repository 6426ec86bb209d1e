//! `libtrawl`: the search call for C. `include/trawl.h` is the interface and says what each
//! function does; here is what keeps its promises.
//!
//! - `exports`: the functions of the header.
//! - [`layout`]: its structures and numbers.
//! - `arguments`: what C gives, read and checked.
//! - `handle`: a search under way, and who may call what when.
//! - `entry`: a record as C reads it.
//! - `failure`: errors as numbers and texts.
//! - `fork`: which processes are copies of which.
//!
//! Invariants: a panic ends at the border, as `EIO`, and its handle answers nothing more; what is
//! given to a caller belongs to the handle and stays until the next call on it; one handle used by
//! two threads at once is an error, not a race; `unsafe` is what reads and writes the caller's
//! memory, and nothing else.

#![cfg(target_os = "linux")]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the library's structures are those of 64-bit systems");

mod arguments;
mod entry;
mod exports;
mod failure;
mod fork;
mod handle;
pub mod layout;

pub use exports::*;
pub use handle::Handle;
