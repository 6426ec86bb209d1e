//! Reasons why groups cannot be computed, shown or edited.

use std::io;
use std::path::PathBuf;

use trawl_query::QueryError;
use trawl_session::SessionError;
use trawl_text::words::{cause, quoted};

/// Why groups cannot be computed, shown or edited.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GroupsError {
    /// A file could not be read or written.
    #[error("cannot {action} {}: {}{advice}", path.display(), cause(source))]
    File {
        /// The operation, as an infinitive.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
        /// What to do, after a semicolon; may be empty.
        advice: &'static str,
    },
    /// A file of rules or edits is not what it should be.
    #[error("{}: {why}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The user's edits have no place.
    #[error("cannot find your edits, because neither XDG_CONFIG_HOME nor HOME is set")]
    NoHome,
    /// A name cannot be the name of a group.
    #[error("{} cannot be the name of a group: {why}", quoted(name))]
    Name {
        /// The name.
        name: Vec<u8>,
        /// The reason.
        why: &'static str,
    },
    /// There is no group of this name or id.
    #[error(
        "there is no group {}; trawl groups list shows the groups that you can see",
        quoted(name)
    )]
    Unknown {
        /// The name or id.
        name: Vec<u8>,
    },
    /// Several groups have the name.
    #[error(
        "several groups have the name {}: give one of the ids {ids}",
        quoted(name)
    )]
    Ambiguous {
        /// The name.
        name: Vec<u8>,
        /// Some of the ids, separated by commas.
        ids: String,
    },
    /// A path is that of a directory.
    #[error(
        "{} is a directory, and directories belong to no group: name a file in it",
        quoted(path)
    )]
    IsDirectory {
        /// The path.
        path: Vec<u8>,
    },
    /// The directory of a file cannot be listed.
    #[error(
        "the group of {} is not known, because the index does not show you its directory",
        quoted(path)
    )]
    Unlisted {
        /// The path.
        path: Vec<u8>,
    },
    /// A path is not that of a directory.
    #[error(
        "{} is not a directory; trawl groups explain shows the group of a file",
        quoted(path)
    )]
    NotDirectory {
        /// The path.
        path: Vec<u8>,
    },
    /// No edit is about this path.
    #[error("{} was not moved to a group: there is nothing to undo", quoted(path))]
    NotEdited {
        /// The path.
        path: Vec<u8>,
    },
    /// The question could not be asked.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The index could not be read.
    #[error(transparent)]
    Query(#[from] QueryError),
}

impl GroupsError {
    pub(crate) fn file(action: &'static str, path: &std::path::Path, source: io::Error) -> Self {
        let advice = match source.kind() {
            io::ErrorKind::PermissionDenied => "; check its permissions",
            _ => "",
        };
        GroupsError::File {
            action,
            path: path.to_owned(),
            source,
            advice,
        }
    }
}
