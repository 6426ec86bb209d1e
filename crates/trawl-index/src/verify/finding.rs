//! What was checked, and what is wrong with it.

use crate::error::{Cause, IndexError};
use crate::layout::{self, DataName};
use std::fmt;
use std::path::PathBuf;

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// It is not there.
    Missing,
    /// It is shorter than it was.
    Truncated {
        /// The length it should have.
        expected_bytes: u64,
        /// The length it has.
        found_bytes: u64,
    },
    /// It is longer than it was.
    Longer {
        /// The length it should have.
        expected_bytes: u64,
        /// The length it has.
        found_bytes: u64,
    },
    /// Its length is right, its bytes are not.
    Changed,
    /// It is not what its name says.
    Damaged(String),
    /// It could not be read.
    Unreadable(String),
    /// A name sidecar that cannot be used; the segment's tables say the same.
    Sidecar(Box<Problem>),
    /// It lets in others than its guard admits.
    Permissions,
    /// No snapshot needs it: gc removes it.
    Unreferenced,
    /// A source that is being added or removed, or was and is not to the
    /// end.
    Unfinished,
    /// It is not of an index.
    Foreign,
}

/// One file with a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What was checked and found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Sources looked at.
    pub sources: u64,
    /// Snapshots checked.
    pub snapshots: u64,
    /// Files whose bytes were checked.
    pub files: u64,
    /// Their bytes.
    pub size_bytes: u64,
    /// What is wrong, by path.
    pub findings: Vec<Finding>,
}

impl Problem {
    /// What an error about one file says.
    pub(super) fn of_error(error: IndexError) -> Problem {
        match error {
            error if error.is_missing() => Problem::Missing,
            IndexError::Damaged { problem, .. } => Problem::Damaged(problem),
            IndexError::Io { cause, .. } => Problem::Unreadable(Cause(cause.0).to_string()),
            other => Problem::Damaged(other.to_string()),
        }
    }

    /// What it is for a segment's file of this name.
    pub(super) fn of(self, name: &str) -> Problem {
        match layout::data_name(name) {
            DataName::Names(_) => Problem::Sidecar(Box::new(self)),
            _ => self,
        }
    }

    /// True if answers may be wrong or impossible because of it.
    pub fn is_damage(&self) -> bool {
        !matches!(
            self,
            Problem::Unreferenced | Problem::Unfinished | Problem::Foreign | Problem::Sidecar(_)
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
                "{problem} (names are searched without it: trawl index --rebuild-names makes it again)"
            ),
            Problem::Permissions => f.write_str(
                "its permissions are not its guard's: index again, or remove what lies below",
            ),
            Problem::Unreferenced => f.write_str("not needed by any snapshot (gc removes it)"),
            Problem::Unfinished => {
                f.write_str("a source half added or removed: index it or remove it again")
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
    /// True if something is damaged.
    pub fn has_damage(&self) -> bool {
        self.findings.iter().any(|found| found.problem.is_damage())
    }

    pub(super) fn add(&mut self, path: PathBuf, problem: Problem) {
        self.findings.push(Finding { path, problem });
    }

    /// Adds a finding that may be known already.
    pub(super) fn add_new(&mut self, path: PathBuf, problem: Option<Problem>) {
        let found = problem.map(|problem| Finding { path, problem });
        if let Some(found) = found.filter(|found| !self.findings.contains(found)) {
            self.findings.push(found);
        }
    }

    /// Turns an error about one file into a finding.
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
