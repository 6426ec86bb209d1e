//! From a start point as it was spelled to an entry of the index.
//!
//! What is before the last component is resolved by the live file system,
//! symbolic links and all; the last component never is, unless a slash, `.`
//! or `..` at the end asks for it. Where nothing is mounted (a recorded
//! tree), paths are resolved by text.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use trawl_model::path;
use trawl_query::{Index, Located, QueryError};

/// The path in the index that `spelled` stands for, seen from the directory
/// `cwd`; `None` for the empty string and what holds a NUL.
pub fn stored_path(cwd: &[u8], spelled: &[u8]) -> Option<Vec<u8>> {
    if spelled.is_empty() {
        return None;
    }
    let absolute = match spelled.first() {
        Some(b'/') => spelled.to_vec(),
        _ => path::join(cwd, spelled),
    };
    let by_text = path::normalize(&absolute)?;
    let live = match last_component(&absolute) {
        b"" | b"." | b".." => resolve(&absolute),
        name => {
            let parent = &absolute[..absolute.len() - name.len()];
            resolve(parent).map(|parent| path::join(&parent, name))
        }
    };
    Some(live.unwrap_or(by_text))
}

/// What the index has at a start point.
///
/// # Errors
/// Whatever cannot be read of the index.
pub fn locate(index: &Index, cwd: &[u8], spelled: &[u8]) -> Result<Option<Located>, QueryError> {
    match stored_path(cwd, spelled) {
        Some(stored) => index.locate(&stored).map(Some),
        None => Ok(None),
    }
}

/// True if the spelling asks for a directory.
pub fn asks_for_directory(spelled: &[u8]) -> bool {
    matches!(last_component(spelled), b"" | b"." | b"..")
}

fn last_component(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|b| *b == b'/');
    &path[slash.map_or(0, |at| at + 1)..]
}

/// realpath(3), without a trailing slash.
fn resolve(path: &[u8]) -> Option<Vec<u8>> {
    let real = Path::new(OsStr::from_bytes(path)).canonicalize().ok()?;
    path::normalize(&real.into_os_string().into_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_before_the_last_component_is_resolved() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/sub")).unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        let cwd = root.as_os_str().as_bytes();
        for (spelled, expected) in [
            (".", ""),
            ("link", "/link"),
            ("link/", "/real"),
            ("link/.", "/real"),
            ("link/sub", "/real/sub"),
            ("link/sub/..", "/real"),
            ("link/../real", "/real"),
            ("./real//sub/", "/real/sub"),
            ("gone/x", "/gone/x"),
            ("gone/../y/", "/y"),
        ] {
            let expected = [cwd, expected.as_bytes()].concat();
            assert_eq!(
                stored_path(cwd, spelled.as_bytes()),
                Some(expected),
                "{spelled}"
            );
        }
        assert_eq!(stored_path(cwd, b""), None);
        assert_eq!(stored_path(cwd, b"/"), Some(Vec::new()));
        assert!(
            asks_for_directory(b"a/") && asks_for_directory(b"a/..") && !asks_for_directory(b"a")
        );
    }
}
