//! Errors that keep a source from being watched or brought up to date.

use std::io;
use std::path::PathBuf;

use trawl_barrier::ServeError;
use trawl_delta::ApplyError;
use trawl_format::IndexError;
use trawl_indexer::IndexerError;
use trawl_query::QueryError;
use trawl_scan::ScanError;
use trawl_text::words::{cause, shown};

/// A result of this crate.
pub type Result<T> = std::result::Result<T, DaemonError>;

/// Why a source cannot be watched or brought up to date.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DaemonError {
    /// The tree cannot be reached.
    #[error("cannot {action} {}: {}", path.display(), cause(source))]
    File {
        /// The operation, as an infinitive.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path to watch is no directory.
    #[error("{} is not a directory: name the directory that contains it", shown(.path))]
    NotADirectory {
        /// The path as it was given.
        path: Vec<u8>,
    },
    /// The tree was indexed from a trace, which does not change.
    #[error("it was indexed from a trace: remove it first, or use another index")]
    Recorded,
    /// A socket unit is only for trees that are indexed.
    #[error("{} is not indexed: run trawl index {} first", shown(.root), shown(.root))]
    NotIndexed {
        /// The tree.
        root: Vec<u8>,
    },
    /// A socket's path does not fit into an address, or cannot be spelled in a unit.
    #[error("a unit cannot name the socket {}: use an index with a shorter path", shown(.socket))]
    Socket {
        /// Path of the socket.
        socket: Vec<u8>,
    },
    /// The index could not be read or written.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The index could not be queried.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The source could not be watched, or its socket not be opened.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// Changes could not be applied.
    #[error(transparent)]
    Apply(ApplyError),
    /// The source could not be scanned.
    #[error(transparent)]
    Indexer(IndexerError),
    /// The caller's flag ended the work.
    #[error("interrupted")]
    Interrupted,
}

impl From<IndexerError> for DaemonError {
    fn from(error: IndexerError) -> DaemonError {
        match error {
            IndexerError::Index(error) => DaemonError::Index(error),
            IndexerError::Query(error) => DaemonError::Query(error),
            IndexerError::Interrupted => DaemonError::Interrupted,
            error => DaemonError::Indexer(error),
        }
    }
}

impl From<ApplyError> for DaemonError {
    fn from(error: ApplyError) -> DaemonError {
        match error {
            ApplyError::Index(error) => DaemonError::Index(error),
            ApplyError::Query(error) => DaemonError::Query(error),
            ApplyError::Live(error) => DaemonError::Serve(error.into()),
            ApplyError::Scan(ScanError::Cancelled) => DaemonError::Interrupted,
            ApplyError::Scan(ScanError::Sink(error)) => DaemonError::Index(error),
            other => DaemonError::Apply(other),
        }
    }
}
