//! Errors of a set as a whole. An error of one member is a [`crate::Problem`].

/// Why a set cannot be opened, or ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// The set pathname cannot be parsed.
    #[error("{}: {why}", String::from_utf8_lossy(name))]
    Name {
        /// The set pathname.
        name: Vec<u8>,
        /// The mistake in it, and the remedy.
        why: String,
    },
    /// A thread that fetches could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] std::io::Error),
    /// The set was cancelled.
    #[error("the set was cancelled")]
    Cancelled,
}

/// A wait took longer than the caller's limit. Nothing is lost: the next call goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the wait took longer than its limit")]
pub struct TimedOut;
