//! Why nobody can be asked.

use trawl_query::QueryError;
use trawl_sys::SysError;

/// Why an index cannot be found or opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// No default index, for want of a home directory.
    #[error("cannot tell where the index is, because HOME is not set: say it with TRAWL_INDEX")]
    NoHome,
    /// Who asks cannot be told.
    #[error("cannot tell this user's groups: {0}")]
    Groups(SysError),
    /// The index cannot be opened.
    #[error(transparent)]
    Query(#[from] QueryError),
}
