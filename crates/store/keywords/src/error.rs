//! The errors of this crate.

use std::io;

/// Why a question or a pack cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeywordsError {
    /// A query that cannot be understood.
    #[error("invalid query `{query}': at character {position}, {problem}: {remedy}")]
    Query {
        /// The query as it was written.
        query: String,
        /// Position of the mistake, counted in characters from 1.
        position: usize,
        /// What is wrong there.
        problem: String,
        /// What to write instead.
        remedy: &'static str,
    },
    /// A condition on an attribute that cannot be understood.
    #[error("invalid condition `{condition}': at character {position}, {problem}: {remedy}")]
    Condition {
        /// The condition as it was written.
        condition: String,
        /// Position of the mistake, counted in characters from 1.
        position: usize,
        /// What is wrong there.
        problem: &'static str,
        /// What to write instead.
        remedy: &'static str,
    },
    /// Bytes that are no pack, or a damaged one.
    #[error("not a usable pack of keywords: {0}")]
    Damaged(&'static str),
    /// A pack that another version wrote.
    #[error("a pack of keywords of version {0}, which this program does not read")]
    Version(u32),
    /// A pack whose documents other hooks made.
    #[error("a pack of keywords that was made with other hooks")]
    Hooks,
    /// A pack cannot be read.
    #[error("cannot read a pack of keywords: {0}")]
    Read(#[from] io::Error),
    /// The postings of a pack cannot be read or made.
    #[error("cannot {operation} postings: {source}")]
    Postings {
        /// The operation.
        operation: &'static str,
        /// Its cause.
        source: tantivy::TantivyError,
    },
}

/// Result of operations of this crate.
pub(crate) type Result<T> = std::result::Result<T, KeywordsError>;

/// Adds the operation to errors of Tantivy.
pub(crate) fn cannot<E: Into<tantivy::TantivyError>>(
    operation: &'static str,
) -> impl FnOnce(E) -> KeywordsError {
    move |error| KeywordsError::Postings {
        operation,
        source: error.into(),
    }
}
