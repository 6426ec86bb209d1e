//! Lists the repository's files for the rules about them, without build output and version control.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the repository's root.
pub(crate) fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package
        .parent()
        .expect("the package lies in the repository")
        .to_path_buf()
}

/// Returns every regular file below `folder`, sorted, without hidden folders and `target`.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)
            .expect("a folder can be listed")
            .flatten()
        {
            let name = entry.file_name();
            let kind = entry.file_type().expect("a type");
            if kind.is_file() {
                found.push(entry.path());
            } else if kind.is_dir()
                && name != "target"
                && !name.as_encoded_bytes().starts_with(b".")
            {
                open.push(entry.path());
            }
        }
    }
    found.sort();
    found
}
