//! Byte paths relative to a directory: names separated by slashes, without a slash at either end.
//! The directory itself is the **empty** path.
//!
//! For absolute paths, as the index stores them, see [`crate::path`].

/// Returns `dir/name`; either may be the empty path.
pub fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    match (dir, name) {
        (b"", path) | (path, b"") => path.to_vec(),
        (dir, name) => [dir, b"/", name].concat(),
    }
}

/// Returns true if `path` is `dir` or lies below it.
pub fn is_within(path: &[u8], dir: &[u8]) -> bool {
    match path.strip_prefix(dir) {
        Some(rest) => dir.is_empty() || rest.is_empty() || rest.starts_with(b"/"),
        None => false,
    }
}

/// Returns the parent directory of `path` and its last name; both are empty for the empty path.
pub fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_itself_is_the_empty_path() {
        assert_eq!(join(b"", b"a"), b"a");
        assert_eq!(join(b"a/b", b"c"), b"a/b/c");
        assert_eq!(join(b"a", b""), b"a");
        assert_eq!(split(b"a/b/c"), (&b"a/b"[..], &b"c"[..]));
        assert_eq!(split(b"a"), (&b""[..], &b"a"[..]));
        assert_eq!(split(b""), (&b""[..], &b""[..]));
    }

    #[test]
    fn a_path_is_within_all_directories_that_lead_to_it() {
        for dir in [&b""[..], b"a", b"a/b"] {
            assert!(is_within(b"a/b", dir), "{dir:?}");
        }
        for dir in [&b"a/b/c"[..], b"b", b"a/"] {
            assert!(!is_within(b"a/b", dir), "{dir:?}");
        }
        assert!(!is_within(b"ab", b"a"));
    }
}
