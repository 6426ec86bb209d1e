//! The name sidecar of a segment: which rows can have this in their names or
//! paths, answered without the segment's tables.
//!
//! Bytes in, bytes out: a [`NamesWriter`] is fed with a segment's names in
//! the segment's order and gives a file's bytes; [`Names`] reads such bytes,
//! which it does not trust, and finds the rows that a [`Pattern`] matches.
//! What it holds can be made again from the segment, so damage is no loss:
//! who gets an error reads the segment's own name column instead.
//!
//! Rows are numbered as in the segment's entries table, directories are those
//! of its dirs table, own rows included. Paths are bytes: absolute, without a
//! trailing slash, empty for `/`.
//!
//! Not here: which segments there are and who may open them, the meaning of
//! whole expressions, threads ([`Names::split`] cuts the work, the caller
//! runs it).

#![forbid(unsafe_code)]

mod bits;
mod codec;
mod dirs;
mod error;
mod fold;
mod glob;
mod layout;
mod name_block;
mod pack;
mod pattern;
mod read_at;
mod reader;
mod regex;
mod rows;
mod search;
mod select;
mod suffix;
mod symbols;
mod trail;
mod train;
mod trigrams;
mod varint;
mod writer;

#[doc(hidden)]
pub use layout::sealed;

pub use error::{NamesError, Result};
pub use pattern::Beginning;
pub use pattern::{Anchor, Case, Literal, Matcher, Needles, Pattern, Subject};
pub use read_at::ReadAt;
pub use reader::{Found, Names, RowRanges};
pub use rows::{NameText, RowReader, SEPARATOR};
pub use trail::Trail;
pub use writer::{NamesWriter, RowKind};
