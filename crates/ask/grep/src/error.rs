//! Why a search of contents cannot begin or go on.

/// An error that ends the search. Problems of single members are reported, and the others are
/// searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GrepError {
    /// The pattern is invalid.
    #[error("cannot read the pattern: {0}")]
    Pattern(#[from] grep_regex::Error),
    /// The encoding is unknown.
    #[error("cannot use the encoding: {0}")]
    Encoding(#[from] grep_searcher::ConfigError),
    /// Output could not be written.
    #[error("cannot write: {0}")]
    Write(#[source] std::io::Error),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] std::io::Error),
}
