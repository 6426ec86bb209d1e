//! The parts that the live walks of `find` and of the search call share.
//!
//! | module | purpose |
//! |---|---|
//! | [`pool`] | visits directories on several threads, and gives the answer in order |
//! | [`node`] | the directories between a root and a visited directory, and how to open them |
//! | [`budget`] | the number of directories that a walk may keep open |
//!
//! Invariants: the answer's order does not depend on the threads; a thread that panics ends the
//! walk with an error, and no thread waits for its result; directories are opened by name in an
//! open ancestor, so that paths may have any length and no link is followed unless the walk asks
//! for it; the number of open directories is bounded.
//!
//! Does not know what a walk looks for, and writes no output.

#![forbid(unsafe_code)]

pub mod budget;
pub mod node;
pub mod pool;

pub use budget::Budget;
pub use node::{Facts, Node};
pub use pool::{Lost, Output, Patience, Pool, Reader, Step, Worker};
