//! Overviews of indexed trees: what `trawl report` writes. What is indexed, where the space is,
//! what is large, old, new, cold or there twice, how the trees grew and what changed.
//!
//! | module | purpose |
//! |---|---|
//! | [`document`] | the overview: sections with sentences, tables and pictures |
//! | [`ask`] | asks the questions of each section |
//! | [`html`], [`text`] | write an overview as one page, or as text |
//! | [`mail`] | a message with both |
//! | [`names`], `numbers` | names, sizes and times as people see them |
//!
//! Invariants: names stay text in every format, and their invisible characters are shown. A page
//! loads nothing and runs nothing. A section says what it lacks. The same answers and the same time
//! give the same bytes.
//!
//! Knows nothing of where an overview goes: this crate prints nothing, writes no file and runs no
//! program.

#![forbid(unsafe_code)]

pub mod ask;
pub mod document;
pub mod mail;
pub mod names;
mod numbers;
mod render;

pub use numbers::moment;
pub use render::html::html;
pub use render::text::text;
