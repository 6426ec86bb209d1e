//! Man pages and completions, from the definition of the command line.

use std::collections::BTreeMap;

use trawl_cli::generate::{self, Shell};

use crate::generate::{Bytes, GenerateError};

/// Returns `completions/bash/trawl`.
pub(crate) fn bash_completions() -> Result<Bytes, GenerateError> {
    Ok(generate::completions(Shell::Bash))
}

/// Returns `completions/zsh/_trawl`.
pub(crate) fn zsh_completions() -> Result<Bytes, GenerateError> {
    Ok(generate::completions(Shell::Zsh))
}

/// Returns `completions/fish/trawl.fish`.
pub(crate) fn fish_completions() -> Result<Bytes, GenerateError> {
    Ok(generate::completions(Shell::Fish))
}

/// Returns `docs/man/*.1`, one page per command, by file name.
pub(crate) fn man_pages() -> Result<BTreeMap<String, Bytes>, GenerateError> {
    generate::man_pages().map_err(|source| GenerateError::File {
        op: "render",
        path: "docs/man".into(),
        source,
    })
}
