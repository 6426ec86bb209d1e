//! Errors of queries.

use std::io;
use std::path::{Path, PathBuf};
use trawl_format::IndexError;
use trawl_model::mapped::{shown_file, theirs};

/// Result type of this crate.
pub type Result<T> = std::result::Result<T, QueryError>;

/// The reason why a query failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The index itself could not be opened or read.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A file of a segment could not be read.
    #[error("cannot read {}: {cause}", shown_file(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The contents of a segment's file are invalid.
    #[error("{} is damaged: {problem}; see trawl index --verify", shown_file(path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The kind of damage.
        problem: &'static str,
    },
    /// A source is older in the index than the daemon that keeps it fresh has
    /// promised.
    #[error(
        "{}: the index is older than its daemon says ({}): try again, or restart trawl watch; \
         check for damage with trawl index --verify",
        trawl_model::escape::escape(&theirs(root)),
        shown_file(path)
    )]
    Behind {
        /// Directory of the source in the index.
        path: PathBuf,
        /// Root path of the source.
        root: Vec<u8>,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {cause}; try again with fewer threads")]
    Thread {
        /// The system's error.
        cause: io::Error,
    },
    /// The caller cancelled the query.
    #[error("interrupted")]
    Cancelled,
}

impl QueryError {
    pub(crate) fn damaged(path: &Path, problem: &'static str) -> QueryError {
        QueryError::Damaged {
            path: path.to_owned(),
            problem,
        }
    }
}
