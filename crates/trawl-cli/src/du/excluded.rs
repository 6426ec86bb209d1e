//! Patterns for paths that `du` leaves out: a path is left out if a pattern matches the whole path,
//! or the part of it after any slash.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_text::glob::{Case, Glob};

use crate::failure::Failure;

/// A list of patterns.
#[derive(Debug, Default)]
pub(crate) struct Excluded {
    patterns: Vec<Glob>,
}

impl Excluded {
    /// Returns the given patterns and those in the lines of files.
    pub(crate) fn read(given: &[OsString], files: &[PathBuf]) -> Result<Excluded, Failure> {
        let glob = |text: &[u8]| Glob::of_environment(text, Case::Sensitive);
        let mut patterns: Vec<Glob> = given.iter().map(|text| glob(text.as_bytes())).collect();
        for file in files {
            let text = contents(file)?;
            let lines = text.split(|b| *b == b'\n').map(<[u8]>::trim_ascii_end);
            patterns.extend(lines.filter(|line| !line.is_empty()).map(glob));
        }
        Ok(Excluded { patterns })
    }

    /// Returns true if there are no patterns.
    pub(crate) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns true if `path`, as it is printed, is left out.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        let parts = path.iter().enumerate().filter(|(at, byte)| {
            **byte == b'/' && path.get(at + 1).is_some_and(|next| *next != b'/')
        });
        let tails = parts.filter_map(|(at, _)| path.get(at + 1..));
        let mut names = std::iter::once(path).chain(tails);
        !self.is_empty() && names.any(|name| self.patterns.iter().any(|glob| glob.matches(name)))
    }
}

/// Returns the content of a file, or of standard input if it is `-`.
pub(crate) fn contents(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = match file == Path::new("-") {
        true => std::io::stdin().lock().read_to_end(&mut bytes).map(drop),
        false => std::fs::read(file).map(|read| bytes = read),
    };
    read.map(|()| bytes).map_err(|source| Failure::File {
        action: "read",
        path: file.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_from_any_slash_on() {
        let given = ["*.o", "a/b", "x[0-9]"].map(OsString::from);
        let excluded = Excluded::read(&given, &[]).unwrap();
        for (path, is_left_out) in [
            ("./src/main.o", true),
            ("a/b", true),
            ("./a/b", true),
            ("./a/b/c", false),
            ("x1", true),
            ("./x1/y", false),
            (".", false),
        ] {
            assert_eq!(excluded.has(path.as_bytes()), is_left_out, "{path}");
        }
        assert!(!Excluded::default().has(b"a"));
    }
}
