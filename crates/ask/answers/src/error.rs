//! Errors that end an answer.

use std::ops::ControlFlow;

use trawl_find::driver::DriverError;
use trawl_query::QueryError;
use trawl_session::SessionError;
use trawl_text::words::quoted;

/// Why a question was not answered to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The session cannot answer.
    #[error(transparent)]
    Session(SessionError),
    /// A program of find cannot read the index, or cannot write its output.
    #[error(transparent)]
    Search(#[from] DriverError),
    /// A find expression is invalid.
    #[error("{0}")]
    Expression(String),
    /// A pattern is invalid.
    #[error("the pattern {} cannot be used: {why}", quoted(pattern))]
    Pattern {
        /// The pattern.
        pattern: Vec<u8>,
        /// The reason.
        why: String,
    },
    /// There is no named index of this name.
    #[error(
        "{} has no named index `{name}`: trawl index list shows those that exist",
        quoted(root)
    )]
    NoNamedIndex {
        /// The name.
        name: String,
        /// Root of the source.
        root: Vec<u8>,
    },
    /// A graph has no entries in an order.
    #[error(
        "the index `{name}` is a graph: give it a file below {}, as in trawl index show {name} FILE",
        quoted(root)
    )]
    Graph {
        /// The name of the index.
        name: String,
        /// Root of the source.
        root: Vec<u8>,
    },
    /// Extended attributes are asked for, and the scan read none.
    #[error(
        "the extended attributes below {} are not known: index it again without --no-xattr",
        quoted(root)
    )]
    NoXattrs {
        /// Root of the source.
        root: Vec<u8>,
    },
    /// Files were to be read, but the question is about the past.
    #[error("the files of the past cannot be read")]
    FilesOfPast,
    /// Files were to be read, but the index holds only a recording of them.
    #[error("the index holds only a recording of the files: they cannot be read")]
    FilesOfRecording,
}

/// Why an answer ended before its end.
#[derive(Debug)]
pub(crate) enum Ended {
    /// There was an error.
    Failed(AnswerError),
    /// The visitor ended it.
    Stopped,
}

impl Ended {
    /// Passes on the visitor's decision.
    pub(crate) fn check(flow: ControlFlow<()>) -> Result<(), Ended> {
        match flow {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Ended::Stopped),
        }
    }

    /// Returns the error. It is no error that the visitor ended the answer.
    pub(crate) fn error(done: Result<(), Ended>) -> Result<(), AnswerError> {
        match done {
            Err(Ended::Failed(error)) => Err(error),
            Ok(()) | Err(Ended::Stopped) => Ok(()),
        }
    }
}

impl<E: Into<AnswerError>> From<E> for Ended {
    fn from(error: E) -> Ended {
        Ended::Failed(error.into())
    }
}

impl From<SessionError> for AnswerError {
    fn from(error: SessionError) -> AnswerError {
        AnswerError::Session(error)
    }
}

impl From<QueryError> for AnswerError {
    fn from(error: QueryError) -> AnswerError {
        AnswerError::Session(SessionError::Query(error))
    }
}
