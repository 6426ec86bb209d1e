//! Errors of reading a pack. The caller adds the pack's path.

use std::io;

/// Why a pack cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GramsError {
    /// The file cannot be read.
    #[error("cannot read it: {0}")]
    Read(#[source] io::Error),
    /// Its bytes are not those of a pack.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    /// It is a pack of binary files where one of texts is needed, or the other way round.
    #[error("its files have another kind of content")]
    Content,
    /// A newer program wrote it.
    #[error("it has version {0}, which this program does not know")]
    Version(u32),
}
