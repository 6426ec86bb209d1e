//! `trawl find`: hands its words to [`trawl_find`] and its answers to the
//! terminal.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::arguments::Manner;
use crate::exit::Exit;
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn run(
    _index: Option<PathBuf>,
    _words: &[OsString],
    _manner: Manner,
) -> Result<Exit, Failure> {
    Err(Failure::Usage("find is not wired yet".into()))
}
