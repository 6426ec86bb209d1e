//! Expansion: from a set pathname to the names of its members.
//!
//! - [`engine`]: what evaluates queries, implemented outside this crate.

pub mod engine;

pub use engine::Engine;
