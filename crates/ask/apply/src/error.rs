//! Errors of a run as a whole. The listener hears of problems of single members.

use std::io;

/// Why commands cannot be run, or a run ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The words are not a command.
    #[error("{0}")]
    Words(&'static str),
    /// The command cannot be started for any member.
    #[error("cannot run {}: {source}", String::from_utf8_lossy(program))]
    Start {
        /// The program.
        program: Vec<u8>,
        /// The cause.
        source: io::Error,
    },
    /// The output of commands cannot be written.
    #[error("cannot write the output of commands: {0}")]
    Output(#[source] io::Error),
    /// A thread, a signal descriptor or a temporary file is not to be had.
    #[error("cannot run commands: {0}")]
    System(#[source] io::Error),
    /// A signal asked to stop.
    #[error("interrupted")]
    Interrupted,
}
