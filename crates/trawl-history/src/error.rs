//! What can go wrong with an old snapshot.

use trawl_index::IndexError;
use trawl_query::QueryError;

/// This crate's results.
pub type Result<T> = std::result::Result<T, HistoryError>;

/// Why an old snapshot could not be made stricter.
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
    /// True if bytes of an index are not what was written.
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
