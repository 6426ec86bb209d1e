//! Why a daemon, or a question to it, cannot go on.

use std::path::PathBuf;

use trawl_sys::{Errno, SysError};

/// A result of this crate.
pub type Result<T> = std::result::Result<T, ServeError>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A system call failed.
    #[error("cannot {doing} {}: {}", path.display(), cause(source))]
    Io {
        /// What was tried, as an infinitive.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system answered.
        source: std::io::Error,
    },
    /// The index has no room for a daemon, or is not as it should be.
    #[error(transparent)]
    Index(#[from] trawl_index::IndexError),
    /// The source cannot be watched.
    #[error(transparent)]
    Live(#[from] trawl_live::LiveError),
    /// Someone listens who has no say in the index.
    #[error("user {uid} listens on {}, and neither the superuser nor the index's owner: not asked; look who made it", path.display())]
    Stranger {
        /// The socket.
        path: PathBuf,
        /// Who.
        uid: u32,
    },
    /// What answered is no daemon of this version.
    #[error("{} answers in a language that this trawl does not know: restart the daemon with the same version", path.display())]
    Nonsense {
        /// The socket.
        path: PathBuf,
    },
}

/// The system's words in lower case, without the number behind them.
fn cause(error: &std::io::Error) -> String {
    error
        .raw_os_error()
        .map_or_else(|| error.to_string(), |number| Errno(number).to_string())
}

/// Adds to a failed call what it was about.
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
