//! The memory that profiled programs share with the profiler: its layout, and the table of the C
//! library's functions that are measured.
//!
//! | module | purpose |
//! |---|---|
//! | [`layout`] | where each number lies in the shared memory |
//! | [`calls`] | the table of functions: wrappers, names and ids come from it |
//!
//! Invariants: pure, without dependencies, because the library that is loaded into foreign programs
//! and the profiler must agree on it. It does not touch the memory itself.

#![forbid(unsafe_code)]

pub mod calls;
pub mod layout;

pub use calls::Operation;
pub use layout::{CallSites, Layout, LayoutError};

/// The environment variable with the path of the shared memory.
pub const VARIABLE: &str = "TRAWL_PROFILE";
