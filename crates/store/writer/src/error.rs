//! Defines the errors of writing an index beyond those of its files ([`IndexError`]).

use trawl_format::IndexError;
use trawl_query::QueryError;

/// A result of writing that also reads rows of committed snapshots.
pub type Result<T> = std::result::Result<T, WriterError>;

/// Reason why a snapshot could not be committed or repaired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriterError {
    /// Files could not be found, written or replaced.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Rows of a committed snapshot could not be read.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// An older snapshot could not be made as strict as the new one.
    #[error("cannot apply the present permissions to older snapshots: {0}")]
    Older(Box<WriterError>),
}

impl WriterError {
    /// True if bytes of an index differ from those written.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            WriterError::Index(error) | WriterError::Query(QueryError::Index(error)) => {
                matches!(error, IndexError::Damaged { .. })
            }
            WriterError::Query(error) => matches!(error, QueryError::Damaged { .. }),
            WriterError::Older(error) => error.is_damage(),
        }
    }
}
