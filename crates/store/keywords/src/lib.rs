//! Keywords and named attributes of files: what a document is, the queries, and packs of documents
//! with postings by Tantivy.
//!
//! - [`Document`]: the text, the attributes and the references of a file; a source of [`Documents`],
//!   which the caller passes in, makes it from the open file.
//! - [`Query`] and [`AttributeTest`]: what is asked. Each is evaluated on a document that was just
//!   read and on packs, with the same result.
//! - [`Builder`] and [`Pack`]: the bytes of a pack, written and read.
//! - [`Contents`]: the packs that this process may open, and the answers of a search.
//!
//! Invariants: a document is known by hashes of its identity alone, never by a name; a pack's bytes
//! are untrusted and give errors, never panics; statistics, and so scores, come only from packs that
//! the kernel let this process open.
//!
//! Does not know who may read a pack, or how files are found. `docs/internals/keywords.md` has the
//! reasons and the bytes.

#![forbid(unsafe_code)]

mod attribute;
mod builder;
mod contents;
mod directory;
mod document;
mod error;
mod library;
mod matching;
mod pack;
mod parse;
mod passages;
mod plain;
mod query;
mod read;
mod schema;
mod sidecar;
mod values;
mod words;

pub use attribute::{AttributeTest, is_same_name};
pub use builder::{Builder, DOCS_MAX, merge, merge_as};
pub use contents::{Asked, Contents, Look, PacksCovered, Question, Valued, ValuesLook};
pub use document::{Document, Gap, Gaps, Reference, Value};
pub use error::KeywordsError;
pub use library::{Answer, Library};
pub use matching::Occurrences;
pub use pack::{Listed, Pack};
pub use passages::{Passage, passages};
pub use plain::plain;
pub use query::{Expression, Query};
pub use read::{
    BYTES_MAX, Documents, PlainText, content_hash, document_of, document_unless, hash_of,
};
pub use sidecar::{Origin, origins, references};
pub use values::{AttributeValue, ValueTest};
