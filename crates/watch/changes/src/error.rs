//! Errors of change sources, with the path concerned and advice.

use std::io;

use trawl_model::escape::escape;
use trawl_sys::{Errno, SysError};

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, LiveError>;

/// The reason why a source cannot be opened or cannot continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// A system call failed.
    #[error("cannot {doing} {}: {source}", shown(.path))]
    System {
        /// The failed action.
        doing: &'static str,
        /// The path concerned.
        path: Vec<u8>,
        /// The cause.
        source: SysError,
    },
    /// A file could not be read.
    #[error("cannot read {}: {}", shown(.path), cause(.source))]
    Read {
        /// The file.
        path: Vec<u8>,
        /// The cause.
        source: io::Error,
    },
    /// This type of file system cannot be watched in this way.
    #[error("cannot watch {} ({file_system}): {why}; {advice}", shown(.path))]
    Unwatchable {
        /// The root.
        path: Vec<u8>,
        /// Type of its file system.
        file_system: String,
        /// The reason.
        why: &'static str,
        /// Advice on an alternative.
        advice: &'static str,
    },
    /// Watching needs a privilege that this process lacks.
    #[error("cannot watch {}: {source}; run as root, or watch it directory by directory", shown(.path))]
    Privilege {
        /// The root.
        path: Vec<u8>,
        /// The call that was refused.
        source: SysError,
    },
    /// The user has reached the limit on marks.
    #[error(
        "cannot watch {}: {marked} directories are watched, and the user may have no more marks; raise /proc/sys/fs/fanotify/max_user_marks, or poll",
        shown(.path)
    )]
    TooManyMarks {
        /// The directory that could not be marked.
        path: Vec<u8>,
        /// Number of marked directories.
        marked: usize,
    },
    /// The root is another directory now: it was unmounted or moved, or something was mounted over
    /// it.
    #[error(
        "{} is no longer the directory that was watched; open the source again and scan it",
        shown(.path)
    )]
    RootGone {
        /// The root.
        path: Vec<u8>,
    },
    /// The root is another directory now, for a known reason.
    #[error("{what}")]
    Replaced {
        /// The root.
        path: Vec<u8>,
        /// The event that replaced it, in words that include the path.
        what: String,
    },
}

fn shown(path: &[u8]) -> String {
    if path.is_empty() {
        return "/".to_owned();
    }
    escape(path).to_string()
}

/// Returns the system's message in lower case, without the error number at its end.
fn cause(error: &io::Error) -> String {
    error
        .raw_os_error()
        .map_or_else(|| error.to_string(), |number| Errno(number).to_string())
}

/// Adds the action and the path to the error of a failed call.
pub(crate) trait About<T> {
    fn about(self, doing: &'static str, path: &[u8]) -> Result<T>;
}

impl<T> About<T> for std::result::Result<T, SysError> {
    fn about(self, doing: &'static str, path: &[u8]) -> Result<T> {
        self.map_err(|source| LiveError::System {
            doing,
            path: path.to_vec(),
            source,
        })
    }
}
