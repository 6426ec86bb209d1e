//! Why something could not be applied.

use trawl_index::IndexError;
use trawl_live::LiveError;
use trawl_query::QueryError;
use trawl_scan::ScanError;

/// This crate's results.
pub type Result<T> = std::result::Result<T, ApplyError>;

/// Why what is dirty is still dirty.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// It takes a new snapshot.
    #[error("a new snapshot is needed: {0}")]
    Unappliable(Unappliable),
    /// The index could not be written.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Or not be read.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The tree could not be read.
    #[error(transparent)]
    Scan(#[from] ScanError<IndexError>),
    /// The change source does not know where something is.
    #[error(transparent)]
    Live(#[from] LiveError),
}

/// What no generation can tell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unappliable {
    /// Nothing of the file system can be trusted any more.
    #[error("changes were lost")]
    Everything,
    /// Someone may no longer see what files of the snapshot show.
    #[error("fewer users may see what is in '{}'", shown(path))]
    Tightened {
        /// The directory, or the file with attributes, absolute.
        path: Vec<u8>,
    },
    /// The way to the source's root lets others through than before.
    #[error("others may reach the source than before")]
    Moved,
    /// Something changed of which nobody can tell the names.
    #[error("a file changed under a name that cannot be told")]
    Unnamed,
    /// Nobody can tell what changed since all was known.
    #[error("{why}")]
    Untold {
        /// Why, in words.
        why: String,
    },
    /// The source's root cannot be read.
    #[error("the source's root cannot be read")]
    NoRoot,
}

fn shown(path: &[u8]) -> String {
    trawl_model::escape::escape(trawl_model::path::display(path)).into_owned()
}
