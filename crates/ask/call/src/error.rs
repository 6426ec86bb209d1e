//! Errors that prevent a search or end it early. A path that cannot be read is not an error here
//! but a record of the answer.

use trawl_model::mapped::spelled;
use trawl_query::QueryError;

use crate::packed::BadRecord;
use crate::pattern::PatternError;

/// Why a search has no answer, or why its answer ends early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The pattern is invalid.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// Unknown flags were given.
    #[error("unknown flags {bits:#x}: this version knows {known:#x}")]
    Flags {
        /// The unknown bits.
        bits: u32,
        /// All known bits.
        known: u32,
    },
    /// The requested limit exceeds the maximum.
    #[error("a depth of {asked} is too much: at most {most}")]
    Depth {
        /// The requested depth, in levels.
        asked: usize,
        /// The maximum depth, in levels.
        most: usize,
    },
    /// A directory is deeper than the search may go, and the caller chose to end the search there.
    #[error(
        "{path} is more than {most} levels down, where the search ends: allow more levels, or have deeper directories reported and left out"
    )]
    TooDeep {
        /// The directory's path as in records, escaped.
        path: String,
        /// Maximum number of levels.
        most: usize,
    },
    /// The list of directories is invalid.
    #[error("cannot read the list of directories: {why}")]
    Roots {
        /// Why the list is invalid.
        why: &'static str,
    },
    /// The cookie cannot be used.
    #[error("cannot resume from this cookie: {why}; start the search again")]
    Cookie {
        /// Why the cookie is invalid.
        why: &'static str,
    },
    /// A record from an executor is invalid.
    #[error("cannot read the answer: {0}")]
    Record(#[from] BadRecord),
    /// No executor can answer about this directory.
    #[error("cannot answer about {path}: {why}")]
    NotServed {
        /// The directory, escaped.
        path: String,
        /// The reason, and what to do about it.
        why: String,
    },
    /// The index could not be read.
    #[error("cannot read the index: {0}")]
    Index(#[from] QueryError),
    /// A thread could not be started, or ended before its work was done.
    #[error("cannot continue the search: {0}")]
    Thread(std::io::Error),
    /// A server could not be asked, or its answer ended early.
    #[error(transparent)]
    Remote(Box<dyn std::error::Error + Send + Sync>),
    /// The search ended early, and its error has already been returned.
    #[error(
        "the search ended before its answer was complete: start it again, or resume from its cookie"
    )]
    Ended,
    /// The caller cancelled the search.
    #[error("the search was cancelled")]
    Cancelled,
}

impl CallError {
    /// Creates a [`CallError::NotServed`] about a directory.
    pub(crate) fn not_served(path: &[u8], why: impl Into<String>) -> CallError {
        CallError::NotServed {
            path: spelled(path).escape_ascii().to_string(),
            why: why.into(),
        }
    }
}
