//! Patterns for paths that `du` leaves out: a path is left out if a pattern matches the whole path,
//! or the part of it after any slash.

use trawl_text::glob::{Case, Glob};

/// A list of patterns.
#[derive(Debug, Default)]
pub struct Excluded {
    patterns: Vec<Glob>,
}

impl Excluded {
    /// Returns the patterns with these texts.
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t [u8]>) -> Excluded {
        let glob = |text| Glob::of_environment(text, Case::Sensitive);
        Excluded {
            patterns: texts.into_iter().map(glob).collect(),
        }
    }

    /// Returns true if there are no patterns.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns true if `path`, as it is printed, is left out.
    pub fn has(&self, path: &[u8]) -> bool {
        let parts = path.iter().enumerate().filter(|(at, byte)| {
            **byte == b'/' && path.get(at + 1).is_some_and(|next| *next != b'/')
        });
        let tails = parts.filter_map(|(at, _)| path.get(at + 1..));
        let mut names = std::iter::once(path).chain(tails);
        !self.is_empty() && names.any(|name| self.patterns.iter().any(|glob| glob.matches(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_from_any_slash_on() {
        let excluded = Excluded::new(["*.o", "a/b", "x[0-9]"].map(str::as_bytes));
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
