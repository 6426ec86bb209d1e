//! What can go wrong with a sidecar.

use std::fmt;
use std::path::{Path, PathBuf};

/// Results of this crate.
pub type Result<T> = std::result::Result<T, NamesError>;

/// A part of a sidecar, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What says where everything is, at the file's end.
    Footer,
    /// The table of symbols that names are packed with.
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

/// An error about one sidecar.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamesError {
    /// It could not be read.
    #[error("read {part} of {}: {cause}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was read.
        part: Part,
        /// Why not.
        cause: std::io::Error,
    },
    /// Its bytes make no sense.
    #[error("{} is damaged: {part}: {problem} (trawl index --rebuild-names makes it again)", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        part: Part,
        /// What is wrong.
        problem: &'static str,
    },
    /// It is of a version that this program does not read.
    #[error("{} has version {found}, this program reads {known} (trawl index --rebuild-names makes it again)", .path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version that is read.
        known: u32,
    },
    /// Names that are too many or too long for a sidecar.
    #[error("make a name sidecar: {problem}")]
    Limit {
        /// What is too much.
        problem: &'static str,
    },
    /// Compression failed.
    #[error("make a name sidecar: compress {part}: {cause}")]
    Compress {
        /// What was compressed.
        part: Part,
        /// Why it failed.
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
