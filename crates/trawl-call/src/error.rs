//! Why a search could not be begun or ended early. What cannot be read on the way is not here: it
//! is a record of the answer.

use trawl_query::QueryError;

use crate::packed::BadRecord;
use crate::pattern::PatternError;

/// A search that has no answer, or whose answer ends early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The pattern is none.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// Flags that there are not.
    #[error("unknown flags {bits:#x}: this version knows {known:#x}")]
    Flags {
        /// Those that are not known.
        bits: u32,
        /// Those that are.
        known: u32,
    },
    /// A limit that was asked for is beyond what is allowed.
    #[error("a depth of {asked} is too much: at most {most}")]
    Depth {
        /// What was asked for.
        asked: usize,
        /// The most there is.
        most: usize,
    },
    /// A directory is deeper than the search may go, and that is to end it.
    #[error(
        "{path} is more than {most} levels down, where the search ends: allow more levels, or have what is too deep told and left out"
    )]
    TooDeep {
        /// The directory as records have it, escaped.
        path: String,
        /// How many levels there may be.
        most: usize,
    },
    /// A list of directories that cannot be read.
    #[error("cannot read the list of directories: {why}")]
    Roots {
        /// What is wrong with it.
        why: &'static str,
    },
    /// A cookie that cannot be used.
    #[error("cannot go on from this cookie: {why}; begin the search again")]
    Cookie {
        /// What is wrong with it.
        why: &'static str,
    },
    /// A record that an executor gave makes no sense.
    #[error("cannot read the answer: {0}")]
    Record(#[from] BadRecord),
    /// Nobody who was asked can answer this.
    #[error("cannot answer about {path}: {why}")]
    NotServed {
        /// The directory, escaped.
        path: String,
        /// Why not, and what to do.
        why: String,
    },
    /// The index could not be read.
    #[error("cannot read the index: {0}")]
    Index(#[from] QueryError),
    /// A thread could not be started, or ended before its work was done.
    #[error("cannot go on with the search: {0}")]
    Thread(std::io::Error),
    /// A server could not be asked, or its answer ended early.
    #[error(transparent)]
    Remote(Box<dyn std::error::Error + Send + Sync>),
    /// It ended early before.
    #[error(
        "the search ended before its answer was whole: begin it again, or go on from its cookie"
    )]
    Ended,
    /// The caller ended it.
    #[error("the search was cancelled")]
    Cancelled,
}

impl CallError {
    /// Says that nobody answers about a directory.
    pub(crate) fn not_served(path: &[u8], why: impl Into<String>) -> CallError {
        CallError::NotServed {
            path: path.escape_ascii().to_string(),
            why: why.into(),
        }
    }
}
