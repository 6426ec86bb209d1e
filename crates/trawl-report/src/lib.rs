//! Reports: a schema and rows, rendered as text, JSON, CSV or NUL-separated lines.
//!
//! | module | purpose |
//! |---|---|
//! | [`csv`] | lines of comma-separated values |
//! | [`table`] | aligned columns for people |
//! | [`width`] | number of terminal columns that text takes |
//! | [`controls`] | control characters in text for terminals |
//! | [`block_size`], [`time_look`] | amounts of space and times as the GNU tools print them |
//!
//! Invariants: nothing here prints, reads the environment by itself or keeps state between calls.

#![forbid(unsafe_code)]

pub mod block_size;
pub mod controls;
pub mod csv;
mod form;
pub mod table;
pub mod time_look;
pub mod width;

pub use form::Form;
