//! Errors that prevent mounting a remote tree.

use std::io;
use std::path::PathBuf;

use trawl_remote::RemoteError;

/// Why a tree cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// The server cannot be asked.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The server has no such tree, or does not show it.
    #[error("cannot mount {tree}: {source}")]
    Tree {
        /// The server and the path there.
        tree: String,
        /// The error of the server.
        source: io::Error,
    },
    /// The tree cannot be mounted at this point.
    #[error("cannot mount on {}: {source}{advice}", point.display())]
    Point {
        /// The mount point.
        point: PathBuf,
        /// The error of the kernel.
        source: io::Error,
        /// Advice on what to do, if there is any.
        advice: &'static str,
    },
    /// A thread cannot be started.
    #[error("cannot serve a mount: {0}")]
    Thread(io::Error),
}
