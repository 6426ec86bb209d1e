//! The name sidecar of a segment: finds rows by name or path without reading
//! the segment's tables.
//!
//! A [`NamesWriter`] takes a segment's names in the segment's order and
//! produces the bytes of a file. [`Names`] reads such bytes, without trusting
//! them, and finds the rows that a [`Pattern`] matches. A sidecar is derived
//! from its segment, so damage loses nothing: on an error, read the segment's
//! own name column instead.
//!
//! Rows are numbered as in the segment's entries table. Directories are those
//! of its dirs table, own rows included. Paths are bytes: absolute, without a
//! trailing slash, and empty for `/`.
//!
//! Out of scope: which segments exist, who may open them, the meaning of whole
//! expressions, and threads ([`Names::split`] divides the work; the caller runs
//! it).

#![forbid(unsafe_code)]

mod bits;
mod codec;
mod dirs;
mod error;
mod fold;
mod layout;
pub mod lists;
mod name_block;
mod pack;
mod pattern;
mod read_at;
mod reader;
mod rows;
mod search;
mod select;
mod suffix;
mod symbols;
mod trail;
mod train;
mod trigrams;
pub mod varint;
mod writer;

#[doc(hidden)]
pub use layout::sealed;

pub use error::{NamesError, Result};
pub use pattern::Beginning;
pub use pattern::{Anchor, Case, Literal, Matcher, Needles, Pattern, Subject};
pub use read_at::ReadAt;
pub use reader::{NameMatch, Names, RowRanges};
pub use rows::{NameText, RowReader};
pub use trail::Trail;
pub use writer::{NamesWriter, RowKind};
