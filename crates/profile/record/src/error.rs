//! Why nothing can be recorded or read.

use std::ffi::OsString;
use std::io;

use trawl_kernel_profile::KernelError;

use crate::detail::Refused;

/// Why a profile cannot be recorded, or a recording cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// A layer cannot be attached or read.
    #[error("layer {layer}: {source}")]
    Layer {
        /// Name of the layer.
        layer: &'static str,
        /// The cause.
        #[source]
        source: Box<KernelError>,
    },
    /// The layer of programs cannot be recorded.
    #[error("layer user: {0}")]
    User(#[from] trawl_user_profile::Error),
    /// The library that the layer of programs needs is not installed.
    #[error(
        "layer user: libtrawl-profile.so is not installed beside this program: make install-lib"
    )]
    NoLibrary,
    /// The stackable layer cannot be mounted or read.
    #[error("layer stackable: {0}")]
    Stackable(#[from] trawl_stackable::StackableError),
    /// The layer sees nothing but a directory.
    #[error("layer {layer} sees only a directory: record --mount DIR -- COMMAND")]
    NoPlace {
        /// Name of the layer.
        layer: &'static str,
    },
    /// The layer sees nothing but commands.
    #[error("layer {layer} sees only commands that it starts: record -- COMMAND")]
    OnlyCommands {
        /// Name of the layer.
        layer: &'static str,
    },
    /// The layer cannot record this detail.
    #[error("layer {layer} {detail}")]
    Detail {
        /// Name of the layer.
        layer: &'static str,
        /// The detail it cannot record.
        detail: Refused,
    },
    /// The layer is recorded by commands of Trawl themselves.
    #[error("layer {layer} is recorded by trawl itself: trawl --profile FILE COMMAND")]
    OnlyOwn {
        /// Name of the layer.
        layer: &'static str,
    },
    /// The command cannot be started.
    #[error("cannot run {}: {source}", program.display())]
    Start {
        /// The program.
        program: OsString,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The process to be recorded cannot be watched.
    #[error("cannot watch process {process}: {source}")]
    Watch {
        /// Its number.
        process: u32,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A profile contradicts itself or cannot be combined.
    #[error(transparent)]
    Profile(#[from] trawl_histogram::Error),
    /// A recording is malformed.
    #[error("line {line} of the recording: {cause}")]
    Malformed {
        /// Number of the line, from 1.
        line: usize,
        /// The defect.
        cause: String,
    },
}
