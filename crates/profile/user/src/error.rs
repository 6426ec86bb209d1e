//! Errors: why a user-level profile cannot be recorded.

use std::path::PathBuf;

/// Why programs cannot be profiled at the user level.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The dynamic loader cannot be given the library's path.
    #[error(
        "the dynamic loader cannot preload {path:?}: its path must be absolute, without spaces, \
         colons and dollar signs"
    )]
    LibraryPath {
        /// The library.
        path: PathBuf,
    },
    /// The library cannot be opened.
    #[error("cannot open the profiling library {path:?}: {source}")]
    Library {
        /// The library.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The program with which the probe is measured cannot be started.
    #[error("cannot start {program:?} to measure the probe: {source}")]
    Start {
        /// The program.
        program: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The program with which the probe is measured ran without the library.
    #[error("the profiling library {library:?} was not loaded into {program:?}: {message}")]
    NotLoaded {
        /// The library.
        library: PathBuf,
        /// The program.
        program: PathBuf,
        /// The output of the dynamic loader.
        message: String,
    },
    /// Shared memory cannot be made.
    #[error("cannot make memory shared with the profiled programs: {0}")]
    Memory(#[source] trawl_sys::SysError),
    /// The number of regions is out of range.
    #[error("the number of threads must be from 1 to {limit}, not {amount}")]
    Regions {
        /// The number asked for.
        amount: usize,
        /// The greatest number.
        limit: usize,
    },
}
