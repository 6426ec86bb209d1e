//! Why a query cannot be evaluated.

use std::io;

use trawl_answers::AnswerError;
use trawl_sets::Problem;
use trawl_sets::member::Op;

/// Why a query cannot be evaluated. The object stands in the [`Problem`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A quotation in the query does not end.
    #[error("a quotation that begins with {0} does not end")]
    Quote(char),
    /// The query is not UTF-8.
    #[error("the SQL text is not UTF-8")]
    Text,
    /// The find expression is invalid.
    #[error("invalid find expression: {0}")]
    Expression(String),
    /// The find expression does more than test entries.
    #[error("{0} is not possible in a set: a query only selects, it changes and prints nothing")]
    Action(String),
    /// The find expression begins with a word that is no test.
    #[error("{0} is neither a test nor SQL: write a find expression, or select …")]
    NoTest(String),
    /// The index cannot be opened or read.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// Something could not be read on the way.
    #[error("{0}")]
    Incomplete(String),
    /// The SQL statement failed.
    #[error("SQL: {0}")]
    Sql(String),
    /// The database cannot be opened or read.
    #[error("SQLite: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The path of a row is not text.
    #[error("the path of a row is not text: select the path first, or name the column path")]
    NoPath,
    /// The program that runs SQL cannot be started.
    #[error(
        "cannot run trawl-sql: {0}; it must be next to trawl, in ../libexec or in PATH: install \
         it, or build it with make"
    )]
    Program(#[source] io::Error),
    /// A thread could not be started, or a pipe could not be read.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl EngineError {
    /// Returns the problem that is delivered instead of the names.
    pub(crate) fn at(self, prefix: &[u8]) -> Problem {
        let kind = match &self {
            EngineError::System(error) | EngineError::Program(error) => error.kind(),
            EngineError::Sqlite(_) | EngineError::Answer(_) | EngineError::Incomplete(_) => {
                io::ErrorKind::Other
            }
            _ => io::ErrorKind::InvalidInput,
        };
        Problem {
            name: prefix.to_vec(),
            op: Op::Expand,
            source: io::Error::new(kind, self),
        }
    }
}
