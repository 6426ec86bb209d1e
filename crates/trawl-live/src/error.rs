//! What a source cannot do, with the path it is about and what to do instead.

use std::io;

use trawl_model::escape::escape;
use trawl_sys::{Errno, SysError};

/// A result of this crate.
pub type Result<T> = std::result::Result<T, LiveError>;

/// Why a source cannot be opened, or cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// A system call failed.
    #[error("cannot {doing} {}: {source}", shown(.path))]
    System {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: Vec<u8>,
        /// What failed.
        source: SysError,
    },
    /// A file could not be read.
    #[error("cannot read {}: {}", shown(.path), cause(.source))]
    Read {
        /// The file.
        path: Vec<u8>,
        /// What failed.
        source: io::Error,
    },
    /// The file system cannot be watched in this way.
    #[error("cannot watch {} ({file_system}): {why}; {advice}", shown(.path))]
    Unwatchable {
        /// The root.
        path: Vec<u8>,
        /// The kind of its file system.
        file_system: String,
        /// What is missing.
        why: &'static str,
        /// What to do instead.
        advice: &'static str,
    },
    /// Watching needs a right that this process does not have.
    #[error("cannot watch {}: {source}; run as root, or watch it directory by directory", shown(.path))]
    Privilege {
        /// The root.
        path: Vec<u8>,
        /// What was refused.
        source: SysError,
    },
    /// The user has as many marks as are allowed.
    #[error(
        "cannot watch {}: {marked} directories are watched, and the user may have no more marks; raise /proc/sys/fs/fanotify/max_user_marks, or poll",
        shown(.path)
    )]
    TooManyMarks {
        /// The directory that could not be marked.
        path: Vec<u8>,
        /// How many are.
        marked: usize,
    },
    /// The root is not what it was: unmounted, moved, or something is mounted over it.
    #[error(
        "{} is no longer the directory that was watched; open the source again and scan it",
        shown(.path)
    )]
    RootGone {
        /// The root.
        path: Vec<u8>,
    },
    /// The root is not what it was, and this is why.
    #[error("{what}")]
    Replaced {
        /// The root.
        path: Vec<u8>,
        /// What became of it, with its path.
        what: String,
    },
    /// A line of a recording is not what its format prescribes.
    #[error("line {line} of the changelog {}: {what}; nothing after it was read", shown(.path))]
    Changelog {
        /// The recording.
        path: Vec<u8>,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        what: &'static str,
    },
}

fn shown(path: &[u8]) -> String {
    if path.is_empty() {
        return "/".to_owned();
    }
    escape(path).to_string()
}

/// The system's words in lower case, without the number behind them.
fn cause(error: &io::Error) -> String {
    error
        .raw_os_error()
        .map_or_else(|| error.to_string(), |number| Errno(number).to_string())
}

/// Adds to a failed call what it was about.
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
