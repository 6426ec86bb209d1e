//! Why there is no service.

use std::io;
use std::path::PathBuf;

/// What keeps a service from starting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BulkError {
    /// A directory that is to be covered is not one, or has a name that cannot be passed on.
    #[error("cannot answer for {}: {why}", path.display())]
    Root {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A file, a directory or a socket could not be made.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it did not work.
        source: io::Error,
    },
    /// The system said no.
    #[error("cannot start the bulk service: {0}")]
    System(#[from] trawl_sys::SysError),
    /// There is no thread to serve on.
    #[error("cannot start a thread for the bulk service: {0}")]
    Thread(io::Error),
}
