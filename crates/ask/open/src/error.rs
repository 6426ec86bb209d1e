//! Errors that prevent asking an index.

use trawl_query::QueryError;
use trawl_sys::SysError;

/// Why an index cannot be found or opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// There is no default index, because `HOME` is not set.
    #[error("cannot find the default index, because HOME is not set: set TRAWL_INDEX")]
    NoHome,
    /// The asking user's groups cannot be read.
    #[error("cannot read this user's groups: {0}")]
    Groups(SysError),
    /// The index cannot be opened.
    #[error(transparent)]
    Query(#[from] QueryError),
}
