//! Errors of the daemon and of requests to it.

use std::path::PathBuf;

use trawl_sys::{Errno, SysError};

/// A result of this crate.
pub type Result<T> = std::result::Result<T, ServeError>;

/// An error of the daemon or of a request to it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A system call failed.
    #[error("cannot {doing} {}: {}", path.display(), cause(source))]
    Io {
        /// The attempted operation, as an infinitive.
        doing: &'static str,
        /// The path it was attempted on.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The index has no room for a daemon or is damaged.
    #[error(transparent)]
    Index(#[from] trawl_format::IndexError),
    /// The source cannot be watched.
    #[error(transparent)]
    Live(#[from] trawl_changes::LiveError),
    /// The listener on the socket is neither the superuser nor the index's owner.
    #[error("user {uid}, neither the superuser nor the index's owner, listens on {}: not asked; find out who made it", path.display())]
    Stranger {
        /// The socket.
        path: PathBuf,
        /// The listener's user id.
        uid: u32,
    },
    /// The daemon refused the request.
    #[error("the daemon at {} refuses to answer: {why}", path.display())]
    Refused {
        /// The socket.
        path: PathBuf,
        /// The daemon's reason.
        why: String,
    },
    /// The reply does not come from a daemon of this version.
    #[error("{} answers in a protocol version that this trawl does not know: restart the daemon with the same version", path.display())]
    Nonsense {
        /// The socket.
        path: PathBuf,
    },
}

/// Returns the system's message in lower case, without the error number.
fn cause(error: &std::io::Error) -> String {
    error
        .raw_os_error()
        .map_or_else(|| error.to_string(), |number| Errno(number).to_string())
}

/// Adds the operation and the path to a failed call's error.
pub(crate) trait About<T> {
    fn about(self, doing: &'static str, path: impl Into<PathBuf>) -> Result<T>;
}

impl<T> About<T> for std::io::Result<T> {
    fn about(self, doing: &'static str, path: impl Into<PathBuf>) -> Result<T> {
        self.map_err(|source| ServeError::Io {
            doing,
            path: path.into(),
            source,
        })
    }
}

impl<T> About<T> for std::result::Result<T, SysError> {
    fn about(self, doing: &'static str, path: impl Into<PathBuf>) -> Result<T> {
        self.map_err(std::io::Error::from).about(doing, path)
    }
}
