//! Dynamic sets for C: `include/trawl/sets.h` is the interface.
//!
//! - `exports`: the functions of the header.
//! - [`layout`]: its structures and constants.
//! - `arguments`: reads and checks the arguments of C callers, and opens sets.
//! - `handle`: an open set, and the records that its functions return.

mod arguments;
mod exports;
mod handle;
pub mod layout;

pub use exports::*;
pub use handle::SetHandle;
