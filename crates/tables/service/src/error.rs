//! Errors that prevent a service from starting.

use std::io;
use std::path::PathBuf;

/// An error that prevents a service from starting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BulkError {
    /// A root is not a directory, or has a name that cannot be passed on.
    #[error("cannot answer for {}: {why}", path.display())]
    Root {
        /// The root.
        path: PathBuf,
        /// The reason.
        why: &'static str,
    },
    /// A file, a directory or a socket could not be made.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// The attempted operation.
        action: &'static str,
        /// The path it was attempted on.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A system call failed.
    #[error("cannot start the bulk service: {0}")]
    System(#[from] trawl_sys::SysError),
    /// No thread could be started.
    #[error("cannot start a thread for the bulk service: {0}")]
    Thread(io::Error),
}
