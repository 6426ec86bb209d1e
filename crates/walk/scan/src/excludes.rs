//! Patterns for names and paths that a walk excludes.

use std::ffi::{CStr, CString};

use trawl_sys::pattern::{Flags, matches};

/// Error: a pattern that cannot match anything, because it is empty, contains a NUL byte, or is a
/// relative path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the exclude pattern is empty, holds a NUL byte, or is a relative path; give a name, or a path that begins with / or */, with * ? [] as wildcards"
)]
pub struct BadPattern;

/// A set of shell patterns. A pattern without a slash is compared with an entry's name, one with a
/// slash with its whole path (as in `find -name` and `find -path`: `*` matches slashes and leading
/// dots). Matching entries are not recorded; matching directories are not entered.
#[derive(Clone, Debug, Default)]
pub struct Excludes {
    names: Vec<Pattern>,
    paths: Vec<Pattern>,
}

#[derive(Clone, Debug)]
enum Pattern {
    /// A pattern without wildcards: the text itself.
    Literal(CString),
    Glob(CString),
}

impl Pattern {
    fn new(pattern: CString) -> Self {
        if pattern.to_bytes().iter().any(|b| b"*?[\\".contains(b)) {
            Pattern::Glob(pattern)
        } else {
            Pattern::Literal(pattern)
        }
    }

    fn matches(&self, text: &CStr) -> bool {
        match self {
            Pattern::Literal(literal) => literal.as_c_str() == text,
            Pattern::Glob(glob) => matches(glob, text, Flags::NONE),
        }
    }
}

impl Excludes {
    /// Adds a pattern. Trailing slashes are dropped, so `cache/` is a name.
    ///
    /// # Errors
    /// Fails with [`BadPattern`] if the pattern is empty, contains a NUL byte, or is a path that
    /// begins with neither a slash nor a wildcard: paths are absolute, so it would match nothing.
    pub fn add(&mut self, pattern: &[u8]) -> Result<(), BadPattern> {
        let end = pattern
            .iter()
            .rposition(|b| *b != b'/')
            .map_or(0, |last| last + 1);
        let pattern = pattern
            .get(..end)
            .filter(|p| !p.is_empty())
            .ok_or(BadPattern)?;
        let list = if pattern.contains(&b'/') {
            if !pattern.first().is_some_and(|b| b"/\\*?[".contains(b)) {
                return Err(BadPattern);
            }
            &mut self.paths
        } else {
            &mut self.names
        };
        list.push(Pattern::new(CString::new(pattern).map_err(|_| BadPattern)?));
        Ok(())
    }

    /// Returns true if there are no patterns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.paths.is_empty()
    }

    /// Returns true if the entry `name` of the directory `dir` (absolute, empty for `/`) is
    /// excluded. `scratch` is a buffer that is overwritten.
    #[must_use]
    pub fn excludes(&self, dir: &[u8], name: &CStr, scratch: &mut Vec<u8>) -> bool {
        if self.names.iter().any(|p| p.matches(name)) {
            return true;
        }
        if self.paths.is_empty() {
            return false;
        }
        scratch.clear();
        scratch.extend_from_slice(dir);
        scratch.push(b'/');
        scratch.extend_from_slice(name.to_bytes_with_nul());
        CStr::from_bytes_with_nul(scratch)
            .is_ok_and(|path| self.paths.iter().any(|p| p.matches(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excluded(pattern: &[u8], dir: &[u8], name: &CStr) -> bool {
        let mut excludes = Excludes::default();
        excludes.add(pattern).unwrap();
        excludes.excludes(dir, name, &mut Vec::new())
    }

    #[test]
    fn names_and_paths() {
        assert!(excluded(b"*.o", b"/src", c"a.o"));
        assert!(excluded(b"cache/", b"/home/u", c"cache"));
        assert!(!excluded(b"cache", b"/home/u", c"cache2"));
        assert!(excluded(b"/home/*/cache", b"/home/a/b", c"cache"));
        assert!(excluded(b"/tmp", b"", c"tmp"));
        assert!(!excluded(b"/tmp", b"/var", c"tmp"));
        assert!(excluded(b"*/x/1", b"/src/x", c"1"));
        assert!(excluded(b"\xff?", b"/x", c"\xffz"));
    }

    #[test]
    fn unusable_patterns_are_refused() {
        for pattern in [&b""[..], b"/", b"a\0b", b"x/1", b"./x/"] {
            assert_eq!(Excludes::default().add(pattern), Err(BadPattern));
        }
    }
}
