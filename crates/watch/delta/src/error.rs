//! Errors of applying changes.

use trawl_changes::LiveError;
use trawl_format::IndexError;
use trawl_query::QueryError;
use trawl_scan::ScanError;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, ApplyError>;

/// The reason why dirty entries stay dirty.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// Only a new snapshot can show the changes.
    #[error("a new snapshot is needed: {0}")]
    Unappliable(Unappliable),
    /// The index could not be written.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The index could not be read.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The tree could not be read.
    #[error(transparent)]
    Scan(#[from] ScanError<IndexError>),
    /// The change source could not locate an object.
    #[error(transparent)]
    Live(#[from] LiveError),
}

/// Changes that no generation can show.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unappliable {
    /// Changes were lost, so nothing is trusted.
    #[error("changes were lost")]
    Everything,
    /// Somebody may no longer see content that files of the snapshot show.
    #[error("fewer users may see what is in '{}'", shown(path))]
    Tightened {
        /// The directory, or the file with attributes; absolute.
        path: Vec<u8>,
    },
    /// The directories above the source's root let other users through than before.
    #[error("the users who may reach the source have changed")]
    Moved,
    /// An object changed whose names cannot be determined.
    #[error("a file changed whose names cannot be determined")]
    Unnamed,
    /// The changes since the last complete state cannot be determined.
    #[error("{why}")]
    Untold {
        /// The reason, in words.
        why: String,
    },
    /// The source's root cannot be read.
    #[error("the source's root cannot be read")]
    NoRoot,
}

fn shown(path: &[u8]) -> String {
    trawl_model::escape::escape(trawl_model::path::display(path)).into_owned()
}
