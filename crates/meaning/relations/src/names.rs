//! Names that are searched for in bytes, all at once.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, BuildError};

/// Names to search for.
#[derive(Debug)]
pub(crate) struct Names(AhoCorasick);

impl Names {
    /// Numbers the names in their order, from 0.
    ///
    /// # Errors
    /// If they are too many.
    pub(crate) fn new(names: &[&[u8]]) -> Result<Names, BuildError> {
        AhoCorasick::new(names).map(Names)
    }

    /// Adds the numbers of the names that bytes contain. The empty name is in all bytes.
    pub(crate) fn find(&self, bytes: &[u8], found: &mut BTreeSet<usize>) {
        for one in self.0.find_overlapping_iter(bytes) {
            found.insert(one.pattern().as_usize());
            if found.len() == self.0.patterns_len() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_bytes() {
        let find = |bytes: &str, names: &[&str]| {
            let names: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
            let mut found = BTreeSet::new();
            Names::new(&names)
                .unwrap()
                .find(bytes.as_bytes(), &mut found);
            Vec::from_iter(found)
        };
        for (bytes, name, is) in [
            ("xaab", "aab", true),
            ("aaab", "aab", true),
            ("aa", "aab", false),
            ("", "a", false),
            ("b", "", true),
        ] {
            assert_eq!(!find(bytes, &[name]).is_empty(), is, "{bytes} {name}");
        }
        assert_eq!(find("a.hpp b.c", &["a.h", "a.hpp", "b.h", ".c"]), [0, 1, 3]);
        assert_eq!(find("xab", &["ab", "xa", "b"]), [0, 1, 2]);
        assert_eq!(find("ab", &[]), [0; 0]);
    }
}
