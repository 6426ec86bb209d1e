//! Which files can contain a text: n-grams of contents, packed into files that answer which of
//! their documents have the n-grams that a pattern requires.
//!
//! - [`Content`] and [`Keys`]: the n-grams of a text, or of a binary file.
//! - [`Parts`]: the n-grams of each part of a content, some lines each.
//! - [`Plan`]: the n-grams that every match of some patterns contains, joined by *and* and *or*.
//! - [`Builder`] and [`Pack`]: the bytes of a pack, written and read.
//!
//! Invariants: a pack never excludes a document that can match; bytes of a pack are untrusted and
//! give errors, never panics; a document is known by hashes of its identity alone, never by a name.
//!
//! Does not know where packs lie, who may read them, or whether a document is still what it was.
//! `docs/internals/text-index.md` has the reasons and the bytes.

#![forbid(unsafe_code)]

mod builder;
mod error;
mod keys;
mod pack;
mod parts;
mod plan;
mod read;

pub use builder::{Builder, DOCS_MAX};
pub use error::GramsError;
pub use keys::{Content, DocId, Identity, Keys, Stamp};
pub use pack::{Pack, sealed};
pub use parts::Parts;
pub use plan::{CaseRule, Plan, SyntaxRule};
