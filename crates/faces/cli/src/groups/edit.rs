//! `trawl groups edit`: "Others: Adjust manually" (the paper's Table 4).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_groups::{EditsFile, Places};
use trawl_model::path;

use crate::exit::Exit;
use crate::failure::Failure;

/// Options of `trawl groups edit`.
#[derive(Debug, clap::Args)]
pub(super) struct EditArgs {
    /// Move the files to the group NAME of your own
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "undo",
        conflicts_with = "undo"
    )]
    to: Option<OsString>,
    /// Leave the files to the rules again
    #[arg(long)]
    undo: bool,
    /// Edit these files; a directory stands for all files below it
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,
}

/// Moves files, or undoes it.
pub(super) fn run(args: &EditArgs) -> Result<Exit, Failure> {
    let mut paths = Vec::new();
    for file in &args.files {
        paths.push(stored(file, args.undo)?);
    }
    EditsFile::of(&Places::of_process(None))?.change(|edits| {
        paths.into_iter().try_for_each(|path| match &args.to {
            Some(group) => edits.set(path, group.as_bytes()),
            None => edits.unset(&path),
        })
    })?;
    Ok(Exit::Complete)
}

/// Returns the path of a file as the index has it: absolute, without links in the directories above.
/// Files that are gone can still be left to the rules.
fn stored(file: &OsStr, may_be_gone: bool) -> Result<Vec<u8>, Failure> {
    let failed = |source| Failure::File {
        action: "find",
        path: file.into(),
        source,
    };
    let absolute = std::path::absolute(file).map_err(failed)?;
    let real = match absolute.symlink_metadata() {
        Err(_) if may_be_gone => Ok(absolute),
        Err(error) => Err(error),
        Ok(_) => real(&absolute),
    };
    let real = real.map_err(failed)?;
    Ok(path::normalize(real.as_os_str().as_bytes()).unwrap_or_default())
}

/// Resolves the links in the directories above, but not the file itself.
fn real(absolute: &Path) -> std::io::Result<std::path::PathBuf> {
    match (absolute.parent(), absolute.file_name()) {
        (Some(parent), Some(name)) => Ok(parent.canonicalize()?.join(name)),
        _ => absolute.canonicalize(),
    }
}
