//! Defines the errors of making old snapshots stricter.

use trawl_format::IndexError;
use trawl_query::QueryError;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, HistoryError>;

/// Reason why an old snapshot could not be made stricter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// Its files could not be found, written or replaced.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Its rows could not be read.
    #[error(transparent)]
    Query(#[from] QueryError),
}

impl HistoryError {
    /// True if bytes of an index differ from those written.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            HistoryError::Index(IndexError::Damaged { .. })
                | HistoryError::Query(
                    QueryError::Damaged { .. } | QueryError::Index(IndexError::Damaged { .. })
                )
        )
    }
}
