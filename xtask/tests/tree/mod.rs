//! The repository's files, as the rules about them see it: build output and
//! version control left out.

use std::fs;
use std::path::{Path, PathBuf};

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package
        .parent()
        .expect("the package lies in the repository")
        .to_path_buf()
}

/// Every regular file below `folder`, sorted; hidden folders and `target` left out.
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
