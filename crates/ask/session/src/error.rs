//! Errors that end a question.

use std::io;
use std::path::PathBuf;

use trawl_format::IndexError;
use trawl_open::AskError;
use trawl_query::QueryError;
use trawl_scan::ScanError;
use trawl_sys::SysError;
use trawl_text::words::cause;
use trawl_writer::WriterError;

/// Why a question could not be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The index cannot be found or opened.
    #[error(transparent)]
    Ask(AskError),
    /// The working directory is needed but cannot be determined.
    #[error("cannot determine the working directory: {}; give absolute paths", cause(.0))]
    NoWorkingDirectory(io::Error),
    /// The caller could not prepare for signals before temporary files were made.
    #[error("cannot watch for signals: {0}")]
    Signals(SysError),
    /// A file or directory could not be made.
    #[error("cannot {action} {}: {}", path.display(), cause(source))]
    File {
        /// The operation, as an infinitive.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The index of a live part could not be written or read.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The index could not be queried.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A live part could not be written.
    #[error(transparent)]
    Writer(WriterError),
    /// A live part could not be read.
    #[error(transparent)]
    Scan(ScanError<IndexError>),
    /// The caller's flag ended the question.
    #[error("interrupted")]
    Interrupted,
}

impl From<AskError> for SessionError {
    fn from(error: AskError) -> SessionError {
        match error {
            AskError::Query(error) => SessionError::Query(error),
            error => SessionError::Ask(error),
        }
    }
}

impl From<WriterError> for SessionError {
    fn from(error: WriterError) -> SessionError {
        match error {
            WriterError::Index(error) => SessionError::Index(error),
            WriterError::Query(error) => SessionError::Query(error),
            error => SessionError::Writer(error),
        }
    }
}

/// Returns true if a question that failed this way can be asked again: its index files were deleted
/// while it was being answered.
///
/// Revoking a permission deletes index files at once, including files that users who keep their
/// access are about to read. The index then holds the same content in other files.
pub fn is_superseded(error: &IndexError) -> bool {
    error.is_missing() || matches!(error, IndexError::NoSnapshot { .. })
}
