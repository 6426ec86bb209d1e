//! Settings of every command: the index to use, and the identity of the asker.

use std::path::{Path, PathBuf};

use trawl_model::guard::Credentials;
use trawl_open::place;

use crate::error::SessionError;

pub use trawl_open::place::is_named;

/// Returns the index directory to write: the given one, else `TRAWL_INDEX`, else the default of
/// this user.
///
/// # Errors
/// If the default is needed and the home directory is unknown.
pub fn index_dir(given: Option<PathBuf>) -> Result<PathBuf, SessionError> {
    Ok(place::index_dir(given)?)
}

/// Returns the index directories to ask together: the given one, else those in `TRAWL_INDEX`, else
/// this user's and the administrator's. Always returns at least one.
///
/// # Errors
/// If the default is needed and the home directory is unknown.
pub fn indexes_to_ask(given: Option<PathBuf>) -> Result<Vec<PathBuf>, SessionError> {
    Ok(place::indexes_to_ask(given)?)
}

/// Returns the credentials that this process has for the kernel.
///
/// # Errors
/// If the user's groups cannot be read.
pub fn asker() -> Result<Credentials, SessionError> {
    Ok(place::asker()?)
}

/// Creates the directories above the default index, which may be missing on a new account.
///
/// # Errors
/// If they cannot be created.
pub fn make_parents(index: &Path) -> Result<(), SessionError> {
    use std::os::unix::fs::DirBuilderExt;
    let Some(parent) = index.parent() else {
        return Ok(());
    };
    // All users may read the superuser's index.
    let mode = match trawl_sys::identity::effective_uid() {
        0 => 0o755,
        _ => 0o700,
    };
    let mut builder = std::fs::DirBuilder::new();
    builder
        .recursive(true)
        .mode(mode)
        .create(parent)
        .map_err(|source| SessionError::File {
            action: "make",
            path: parent.to_owned(),
            source,
        })
}
