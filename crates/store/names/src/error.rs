//! Errors of writing and reading sidecars.

use std::fmt;
use std::path::{Path, PathBuf};

/// Result type of this crate.
pub type Result<T> = std::result::Result<T, NamesError>;

/// A part of a sidecar, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The footer at the file's end, with the index before it.
    Footer,
    /// The table of symbols that compresses names.
    Symbols,
    /// A block of names.
    NameBlock(usize),
    /// A block of directories.
    DirBlock(usize),
    /// A page of the names' trigrams.
    NamePage(usize),
    /// A page of the directories' trigrams.
    DirPage(usize),
}

/// An error about a sidecar.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamesError {
    /// The file could not be read.
    #[error("cannot read {part} of {}: {cause}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The part being read.
        part: Part,
        /// The cause.
        cause: std::io::Error,
    },
    /// The contents are invalid.
    #[error("{} is damaged: {part}: {problem} (rebuild it with trawl index --rebuild-names)", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The part that is damaged.
        part: Part,
        /// The kind of damage.
        problem: &'static str,
    },
    /// The file has a version that this program does not read.
    #[error("{} has version {found}, this program reads {known} (rebuild it with trawl index --rebuild-names)", .path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: u32,
        /// The version that this program reads.
        known: u32,
    },
    /// Names or paths that exceed a limit of the format.
    #[error("cannot make a name sidecar: {problem}")]
    Limit {
        /// The limit that is exceeded.
        problem: &'static str,
    },
    /// Compression failed.
    #[error("cannot make a name sidecar: cannot compress {part}: {cause}")]
    Compress {
        /// The part being compressed.
        part: Part,
        /// The cause.
        cause: std::io::Error,
    },
}

impl NamesError {
    pub(crate) fn damaged(path: &Path, part: Part, problem: &'static str) -> NamesError {
        NamesError::Damaged {
            path: path.to_owned(),
            part,
            problem,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Footer => f.write_str("the footer"),
            Part::Symbols => f.write_str("the table of symbols"),
            Part::NameBlock(at) => write!(f, "name block {at}"),
            Part::DirBlock(at) => write!(f, "directory block {at}"),
            Part::NamePage(at) => write!(f, "page {at} of name trigrams"),
            Part::DirPage(at) => write!(f, "page {at} of directory trigrams"),
        }
    }
}
