//! Ends the effect of published generations.

use trawl_format::error::{IndexError, Result};
use trawl_format::layout;
use trawl_format::live::{STATE_FILE, edition};
use trawl_format::store::{Dir, if_there};

/// Removes a damaged `state`, which would hide the snapshot that has just become current.
pub(crate) fn forget_damaged(source: &Dir) -> Result<()> {
    match edition(source) {
        Err(IndexError::Damaged { .. }) => forget(source),
        _ => Ok(()),
    }
}

/// Makes readers use the snapshot alone, before files of its generations are removed.
pub(crate) fn forget(source: &Dir) -> Result<()> {
    let Some(dir) = if_there(source.open_dir(layout::LIVE))? else {
        return Ok(());
    };
    if_there(dir.remove_file(STATE_FILE))?;
    // Remove temporary files of a killed writer.
    let is_left =
        |name: &String| name.starts_with(STATE_FILE) && name.ends_with(layout::TEMPORARY_ENDING);
    for name in dir.list()?.iter().filter(|name| is_left(name)) {
        if_there(dir.remove_file(name))?;
    }
    Ok(())
}
