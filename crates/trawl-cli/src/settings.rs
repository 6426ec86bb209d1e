//! Settings of every command: the index to use, and the identity of the asker.

use std::path::{Path, PathBuf};

use trawl_ask::{AskError, place};
use trawl_model::guard::Credentials;

use crate::failure::Failure;

pub(crate) use trawl_ask::place::is_named;

/// Returns the index directory to write: `-i`, else `TRAWL_INDEX`, else the default of this user.
pub(crate) fn index_dir(given: Option<PathBuf>) -> Result<PathBuf, Failure> {
    Ok(place::index_dir(given)?)
}

/// Returns the index directories to ask together: `-i`, else those in `TRAWL_INDEX`, else this
/// user's and the administrator's. Always returns at least one.
pub(crate) fn indexes_to_ask(given: Option<PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    Ok(place::indexes_to_ask(given)?)
}

/// Returns the credentials that this process has for the kernel.
pub(crate) fn asker() -> Result<Credentials, Failure> {
    Ok(place::asker()?)
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Failure {
        match error {
            AskError::NoHome => Failure::NoHome,
            AskError::Query(error) => Failure::Query(error),
            error => Failure::Usage(error.to_string()),
        }
    }
}

/// Creates the directories above the default index, which may be missing on a new account.
pub(crate) fn make_parents(index: &Path) -> Result<(), Failure> {
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
        .map_err(|source| Failure::File {
            action: "make",
            path: parent.to_owned(),
            source,
        })
}
