//! `trawl du`: space used, as GNU du counts it.

mod options;

pub(crate) use self::options::DuArgs;
use crate::arguments::Manner;
use crate::exit::Exit;
use crate::failure::Failure;
use std::path::PathBuf;

/// Runs the command.
pub(crate) fn run(
    _index: Option<PathBuf>,
    _args: &DuArgs,
    _manner: Manner,
) -> Result<Exit, Failure> {
    Err(Failure::Usage("du is not wired yet".into()))
}
