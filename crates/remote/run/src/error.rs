//! Reasons why a command was not run, or a tree not mounted or served.

use std::io;
use std::path::PathBuf;

use trawl_mount::MountError;
use trawl_remote::RemoteError;
use trawl_text::words::cause;

/// Why a command was not run, or a tree not mounted or served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The request is invalid or impossible.
    #[error("{0}")]
    Usage(String),
    /// A file, directory or process could not be used.
    #[error("cannot {action} {}: {}", path.display(), cause(source))]
    File {
        /// The operation, as an infinitive.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A server could not be asked, or clients could not be served.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A tree of a server could not be shown.
    #[error(transparent)]
    Mount(#[from] MountError),
}
