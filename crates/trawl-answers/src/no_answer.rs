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
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoAnswer::NoPath => f.write_str("no such path"),
            NoAnswer::NotIndexed(outside) => outside.fmt(f),
            NoAnswer::Unseen => f.write_str("you cannot see it in any snapshot"),
        }
    }
}
