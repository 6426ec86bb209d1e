//! Errors of names at servers. An error of one member is a [`trawl_sets::Problem`].

use trawl_remote::RemoteError;

/// Why a name at a server cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The name cannot be read.
    #[error("cannot read {name}: {why}")]
    Name {
        /// The name as it was given, escaped.
        name: String,
        /// The mistake in it, and the remedy.
        why: &'static str,
    },
    /// The address in the name cannot be read.
    #[error("cannot read {name}: {source}")]
    Address {
        /// The name as it was given, escaped.
        name: String,
        /// The cause.
        source: RemoteError,
    },
}
