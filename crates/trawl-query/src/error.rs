//! What can go wrong with a question.

use std::io;
use std::path::{Path, PathBuf};
use trawl_index::IndexError;

/// This crate's results.
pub type Result<T> = std::result::Result<T, QueryError>;

/// Why a question could not be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The index itself could not be opened or read.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A segment's file could not be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system answered.
        cause: io::Error,
    },
    /// A segment's file is not what was written.
    #[error("{} is damaged: {problem}; see trawl index --verify", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A source is older than who keeps it fresh said.
    #[error(
        "{} is older in the index than its daemon says ({}): ask again, or restart trawl watch; \
         trawl index --verify tells of damage",
        trawl_model::escape::escape(trawl_model::path::display(root)),
        path.display()
    )]
    Behind {
        /// Where the source lies in the index.
        path: PathBuf,
        /// Its root.
        root: Vec<u8>,
    },
    /// No memory or thread for the work.
    #[error("cannot start a thread: {cause}; try again with fewer threads")]
    Thread {
        /// What the system answered.
        cause: io::Error,
    },
    /// The caller asked for an end.
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
