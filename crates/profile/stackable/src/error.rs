//! Errors: why the layer cannot be mounted or read.

use std::io;
use std::path::PathBuf;

/// Why a profiled mount cannot be made, served or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StackableError {
    /// The directory below cannot be used.
    #[error("cannot use the directory {}: {source}", path.display())]
    Source {
        /// The directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The kernel does not mount it.
    #[error("cannot mount on {}: {source}{advice}", point.display())]
    Point {
        /// The mount point.
        point: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
        /// A sentence with the remedy; empty if there is no remedy.
        advice: &'static str,
    },
    /// The kernel's requests cannot be answered.
    #[error("cannot serve the mount on {}: {source}", point.display())]
    Serve {
        /// The mount point.
        point: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The mount cannot be removed.
    #[error("cannot unmount {}: {source}", point.display())]
    Unmount {
        /// The mount point.
        point: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The counts contradict themselves.
    #[error(transparent)]
    Profile(#[from] trawl_histogram::Error),
}
