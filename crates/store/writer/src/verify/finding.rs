//! Defines the result of a verification: counts and problems.

use std::fmt;
use std::path::PathBuf;
use trawl_format::error::{Cause, IndexError};
use trawl_format::layout::{self, DataName};

/// Problem with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// It does not exist.
    Missing,
    /// It is shorter than when it was written.
    Truncated {
        /// The expected length.
        expected_bytes: u64,
        /// The actual length.
        found_bytes: u64,
    },
    /// It is longer than when it was written.
    Longer {
        /// The expected length.
        expected_bytes: u64,
        /// The actual length.
        found_bytes: u64,
    },
    /// Its length is right, but its bytes are not.
    Changed,
    /// Its content is invalid or does not match its name.
    Damaged(String),
    /// It could not be read.
    Unreadable(String),
    /// A name sidecar is unusable; the segment's tables hold the same data.
    Sidecar(Box<Problem>),
    /// A pack of n-grams is unusable; searches read the files that it covers.
    Text(String),
    /// A pack of keywords is unusable; questions read the files that it covers.
    Keywords(String),
    /// The file of a named index is unusable; questions read the rows.
    NamedIndex(String),
    /// Its permissions differ from those of its guard.
    Permissions,
    /// No snapshot needs it; gc removes it.
    Unreferenced,
    /// A source whose addition or removal is in progress or was interrupted.
    Unfinished,
    /// It does not belong to an index.
    Foreign,
}

/// One file with a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// Problem with it.
    pub problem: Problem,
}

/// Result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Number of sources checked.
    pub sources: u64,
    /// Number of snapshots checked.
    pub snapshots: u64,
    /// Number of files whose bytes were checked.
    pub files: u64,
    /// Total size of these files in bytes.
    pub size_bytes: u64,
    /// Problems found, sorted by path.
    pub findings: Vec<Finding>,
}

impl Problem {
    /// Converts an error about one file.
    pub(super) fn of_error(error: IndexError) -> Problem {
        match error {
            error if error.is_missing() => Problem::Missing,
            IndexError::Damaged { problem, .. } => Problem::Damaged(problem),
            IndexError::Io { cause, .. } => Problem::Unreadable(Cause(cause.0).to_string()),
            other => Problem::Damaged(other.to_string()),
        }
    }

    /// Wraps the problem as [`Problem::Sidecar`] if `name` is a name sidecar's.
    pub(super) fn of(self, name: &str) -> Problem {
        match layout::data_name(name) {
            DataName::Names(_) => Problem::Sidecar(Box::new(self)),
            _ => self,
        }
    }

    /// True if the problem can make answers wrong or impossible.
    pub fn is_damage(&self) -> bool {
        !matches!(
            self,
            Problem::Unreferenced
                | Problem::Unfinished
                | Problem::Foreign
                | Problem::Sidecar(_)
                | Problem::Text(_)
                | Problem::Keywords(_)
                | Problem::NamedIndex(_)
        )
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Missing => f.write_str("missing"),
            Problem::Truncated {
                expected_bytes,
                found_bytes,
            } => write!(f, "truncated: {found_bytes} of {expected_bytes} bytes"),
            Problem::Longer {
                expected_bytes,
                found_bytes,
            } => write!(
                f,
                "too long: {found_bytes} bytes instead of {expected_bytes}"
            ),
            Problem::Changed => f.write_str("changed: its bytes do not match their hash"),
            Problem::Damaged(what) => write!(f, "damaged: {what}"),
            Problem::Unreadable(why) => write!(f, "cannot be read: {why}"),
            Problem::Sidecar(problem) => write!(
                f,
                "{problem} (searches work without it; trawl index --rebuild-names makes it again)"
            ),
            Problem::Text(why) => write!(
                f,
                "{why} (trawl grep reads the files that it covers; trawl index PATH makes it again)"
            ),
            Problem::Keywords(why) => write!(
                f,
                "{why} (questions read the files that it covers; trawl index PATH makes it again)"
            ),
            Problem::NamedIndex(why) => write!(
                f,
                "{why} (questions read the rows instead; trawl index PATH makes it again)"
            ),
            Problem::Permissions => f.write_str(
                "its permissions differ from its guard's: index again, or remove everything below it",
            ),
            Problem::Unreferenced => f.write_str("not needed by any snapshot (gc removes it)"),
            Problem::Unfinished => {
                f.write_str("a source only partly added or removed: index it or remove it again")
            }
            Problem::Foreign => f.write_str("foreign: not a file of an index"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl Verified {
    /// True if anything is damaged.
    pub fn has_damage(&self) -> bool {
        self.findings.iter().any(|found| found.problem.is_damage())
    }

    pub(super) fn add(&mut self, path: PathBuf, problem: Problem) {
        self.findings.push(Finding { path, problem });
    }

    /// Adds a finding unless it is already known.
    pub(super) fn add_new(&mut self, path: PathBuf, problem: Option<Problem>) {
        let found = problem.map(|problem| Finding { path, problem });
        if let Some(found) = found.filter(|found| !self.findings.contains(found)) {
            self.findings.push(found);
        }
    }

    /// Adds an error about one file as a finding.
    pub(super) fn add_error(&mut self, error: IndexError, path: PathBuf) {
        match error {
            error if error.is_missing() => self.add(path, Problem::Missing),
            IndexError::Damaged { path, problem } => self.add(path, Problem::Damaged(problem)),
            IndexError::Io { path, cause, .. } => {
                self.add(path, Problem::Unreadable(Cause(cause.0).to_string()));
            }
            other => self.add(path, Problem::Damaged(other.to_string())),
        }
    }
}
