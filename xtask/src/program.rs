//! Obtains man pages and completions from the built program, through its hidden commands `man` and
//! `completions`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::generate::{Bytes, GenerateError};

/// Returns `completions/bash/trawl`.
pub(crate) fn bash_completions() -> Result<Bytes, GenerateError> {
    trawl(&["completions", "bash"])
}

/// Returns `completions/zsh/_trawl`.
pub(crate) fn zsh_completions() -> Result<Bytes, GenerateError> {
    trawl(&["completions", "zsh"])
}

/// Returns `completions/fish/trawl.fish`.
pub(crate) fn fish_completions() -> Result<Bytes, GenerateError> {
    trawl(&["completions", "fish"])
}

/// Returns `docs/man/*.1`, one page per command, by file name.
pub(crate) fn man_pages() -> Result<BTreeMap<String, Bytes>, GenerateError> {
    let folder = tempfile::tempdir().map_err(|source| GenerateError::File {
        op: "make a temporary directory in",
        path: std::env::temp_dir(),
        source,
    })?;
    trawl(&["man", "--output", &folder.path().to_string_lossy()])?;
    read_all(folder.path())
}

fn read_all(folder: &Path) -> Result<BTreeMap<String, Bytes>, GenerateError> {
    let failed = |source| GenerateError::File {
        op: "read",
        path: folder.to_path_buf(),
        source,
    };
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let bytes = fs::read(entry.path()).map_err(failed)?;
        files.insert(entry.file_name().to_string_lossy().into_owned(), bytes);
    }
    Ok(files)
}

/// Builds the program if needed, runs it, and returns its output.
fn trawl(arguments: &[&str]) -> Result<Bytes, GenerateError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["run", "--quiet", "--locked", "--package", "trawl-cli", "--"])
        .args(arguments)
        .current_dir(crate::generate::repository())
        .output()
        .map_err(|source| GenerateError::File {
            op: "run",
            path: "cargo".into(),
            source,
        })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(GenerateError::Program {
        arguments: arguments.join(" "),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
