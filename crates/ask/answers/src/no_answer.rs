//! Why a question about several snapshots has no answer, although nothing failed.

use std::fmt;

use trawl_session::NotIndexed;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoAnswer {
    /// The path leads nowhere.
    NoPath,
    /// No source contains the path.
    NotIndexed(NotIndexed),
    /// The user cannot see the path in any snapshot.
    Unseen,
    /// None of this number of snapshots has the path.
    InNone(usize),
    /// Neither of the two snapshots has the path.
    InNeither,
    /// Nothing is known about the path; a session has reported why.
    Reported,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoAnswer::NoPath => f.write_str("no such path"),
            NoAnswer::NotIndexed(outside) => outside.fmt(f),
            NoAnswer::Unseen => f.write_str("you cannot see it in any snapshot"),
            NoAnswer::InNone(count) => write!(f, "it is not in any of {count} snapshots"),
            NoAnswer::InNeither => f.write_str("it is in neither snapshot"),
            NoAnswer::Reported => f.write_str("nothing is known about it"),
        }
    }
}
