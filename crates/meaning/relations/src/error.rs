//! Reasons why relations cannot be recorded or told.

use std::io;
use std::path::PathBuf;

use trawl_text::words::{cause, quoted};

/// Why relations cannot be recorded or told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RelationError {
    /// The access graph has no place.
    #[error("cannot find what was learnt, because neither XDG_STATE_HOME nor HOME is set")]
    NoHome,
    /// A file could not be looked at, read or written.
    #[error("cannot {action} {}: {}", path.display(), cause(source))]
    File {
        /// The operation, as an infinitive.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Relations are asked for of something that has none.
    #[error("{} is {what}: name a file", quoted(path.as_os_str().as_encoded_bytes()))]
    NotFile {
        /// The path.
        path: PathBuf,
        /// What it is, such as `a directory`.
        what: &'static str,
    },
    /// The file of the access graph is damaged, or no such file.
    #[error("{}: {why}; remove it to begin anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
    },
    /// The file of the access graph is another user's, as when sudo(8) keeps HOME.
    #[error("{}: others may use it, because it belongs to another user", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Others could have read or written the file of the access graph.
    #[error("{}: others may use it; give it to yourself and chmod 600", path.display())]
    Untrusted {
        /// The file.
        path: PathBuf,
    },
    /// A name is no kind of relation.
    #[error("{name:?} is no kind of relation: kinds are lower-case words such as built-from")]
    Kind {
        /// The name.
        name: String,
    },
}

impl RelationError {
    /// Returns whether the access graph is another user's, so that it says nothing about the asking
    /// one.
    #[must_use]
    pub fn is_anothers(&self) -> bool {
        match self {
            RelationError::Foreign { .. } => true,
            RelationError::File { action, source, .. } => {
                *action == "read" && source.kind() == io::ErrorKind::PermissionDenied
            }
            _ => false,
        }
    }

    pub(crate) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
        source: io::Error,
    ) -> RelationError {
        RelationError::File {
            action,
            path: path.into(),
            source,
        }
    }
}
