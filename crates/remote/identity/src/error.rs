//! Errors of the library of identities.

use std::io;
use std::path::PathBuf;

/// A failure to read or change credentials.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// A file or directory cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried, such as `read`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The user of the process may not enter the directory.
    #[error(
        "only the owner of {} manages sessions and tokens: run this as the superuser or the user \
         of the server, for example with sudo; or name a directory of your own",
        path.display()
    )]
    NotAllowed {
        /// The directory.
        path: PathBuf,
    },
    /// There is no such directory.
    #[error(
        "{} does not exist: there are no sessions and tokens; trawl token create makes it",
        path.display()
    )]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// Another user owns the file or directory.
    #[error(
        "{} belongs to user {owner}, and so could hold anything: run this as that user, or run \
         chown {expected} {}",
        path.display(), path.display()
    )]
    Owner {
        /// The file or directory.
        path: PathBuf,
        /// User id of its owner.
        owner: u32,
        /// User id of the owner that is trusted.
        expected: u32,
    },
    /// Other users may read or write the file or directory.
    #[error(
        "other users may open {} (mode {mode:o}): run chmod {expected:o} {}",
        path.display(), path.display()
    )]
    Mode {
        /// The file or directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// The permission bits that it needs.
        expected: u32,
    },
    /// The path leads to something else.
    #[error("{} is no {expected}: move it away", path.display())]
    Type {
        /// The path.
        path: PathBuf,
        /// What it should be: `file` or `directory`.
        expected: &'static str,
    },
    /// A line of the file is invalid.
    #[error(
        "{}, line {line}: {why}; remove the line, or the file, which ends all sessions and tokens",
        path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Why it is invalid.
        why: String,
    },
    /// A newer program has written the file.
    #[error(
        "{} has version {version}, which this program does not know: update Trawl",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
    /// The file is, or would become, too long.
    #[error(
        "{} would be longer than {} MiB: revoke some tokens",
        path.display(), max_bytes >> 20
    )]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Its maximum length in bytes.
        max_bytes: u64,
    },
    /// A user has the maximum number of tokens.
    #[error(
        "{user} has {max} tokens already: revoke one (trawl token list, trawl token revoke ID)"
    )]
    TooManyTokens {
        /// The user.
        user: String,
        /// Maximum number of tokens of a user.
        max: usize,
    },
    /// A part of a new credential is invalid.
    #[error("the {part} is invalid: {why}")]
    Invalid {
        /// The part, such as `note`.
        part: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// The system has no random numbers.
    #[error("the system has no random numbers")]
    Random,
}
