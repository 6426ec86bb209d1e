//! The errors of this crate.

use std::path::PathBuf;

use trawl_sys::{Errno, SysError};

/// Why a file cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DirectError {
    /// The table has no file with this id.
    #[error("no file of the table has inode number {ino} and this version")]
    Unknown {
        /// The id's inode number.
        ino: u64,
    },
    /// The file is not there any more: it was removed, or, by path, moved or replaced.
    #[error("{}: it was removed, moved or replaced: ask again", path.display())]
    Gone {
        /// A path that the file had.
        path: PathBuf,
    },
    /// The kernel refused.
    #[error("cannot open {}: {source}", path.display())]
    Refused {
        /// A path of the file.
        path: PathBuf,
        /// The kernel's error.
        source: SysError,
    },
    /// The object is not a regular file.
    #[error("{} is not a regular file", path.display())]
    NotRegular {
        /// Its path.
        path: PathBuf,
    },
    /// A path has a NUL byte, or does not begin with `/`.
    #[error("{} is not an absolute path", path.display())]
    Path {
        /// The path.
        path: PathBuf,
    },
}

impl DirectError {
    /// Returns the error as an errno number.
    #[must_use]
    pub fn errno(&self) -> Errno {
        match self {
            DirectError::Unknown { .. } => Errno::NOENT,
            DirectError::Gone { .. } => Errno::STALE,
            DirectError::Refused { source, .. } => source.errno,
            DirectError::NotRegular { .. } | DirectError::Path { .. } => Errno::INVAL,
        }
    }
}
