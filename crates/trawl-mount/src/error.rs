//! Why a remote tree cannot be mounted.

use std::io;
use std::path::PathBuf;

use trawl_remote::RemoteError;

/// What went wrong before a tree could be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// The server cannot be asked.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// What is to be mounted cannot be.
    #[error("cannot mount {tree}: {source}")]
    Tree {
        /// The server and the path there.
        tree: String,
        /// What the server says.
        source: io::Error,
    },
    /// It cannot be mounted there.
    #[error("cannot mount on {}: {source}{advice}", point.display())]
    Point {
        /// Where.
        point: PathBuf,
        /// What the kernel says.
        source: io::Error,
        /// What to do, if that is known.
        advice: &'static str,
    },
    /// No thread can be started.
    #[error("cannot serve a mount: {0}")]
    Thread(io::Error),
}
