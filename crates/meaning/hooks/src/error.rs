//! Errors of loading hooks. What goes wrong with one file is a [`crate::Problem`].

use std::io;
use std::path::PathBuf;

use trawl_text::words::cause;

/// Reasons why hooks cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// A directory, manifest or program cannot be read.
    #[error("cannot {action} {}: {}", path.display(), cause(source))]
    File {
        /// The operation, as an infinitive.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A manifest is invalid.
    #[error("{}: {why}", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// The error, with its position.
        why: String,
    },
    /// Somebody else could change what is run.
    #[error(
        "{} can be changed by other users, so its hooks are not run: it must belong to you or root, \
         and chmod go-w must have been applied",
        path.display()
    )]
    Unsafe {
        /// The directory, manifest or program.
        path: PathBuf,
    },
}
