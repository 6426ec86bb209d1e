//! Reasons why a view cannot be defined, shown or mounted.

use std::io;
use std::path::PathBuf;

use trawl_text::words::{cause, quoted};

/// Why a view cannot be defined, shown or mounted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// A name cannot be the name of a view.
    #[error("{} cannot be the name of a view: {why}", quoted(name))]
    Name {
        /// The name.
        name: Vec<u8>,
        /// The reason.
        why: &'static str,
    },
    /// A question is not a find expression, or does more than test entries.
    #[error("the question cannot be used: {0}")]
    Question(String),
    /// A question in its short form is malformed.
    #[error("the question {} cannot be used: {why}", quoted(text))]
    Short {
        /// The question, without the question mark.
        text: Vec<u8>,
        /// The reason.
        why: String,
    },
    /// There is no view of this name.
    #[error(
        "there is no view {}; trawl view list shows those that exist",
        quoted(name)
    )]
    Unknown {
        /// The name.
        name: Vec<u8>,
    },
    /// The user's own definitions have no place.
    #[error("cannot find your views, because neither XDG_CONFIG_HOME nor HOME is set")]
    NoHome,
    /// A file of definitions is not what it should be.
    #[error("{}: {why}", path.display())]
    Untrusted {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A file could not be read or written, or a directory not mounted on.
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
}

impl ViewError {
    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        ViewError::File {
            action,
            path: path.into(),
            source,
            advice: "",
        }
    }
}
