//! Lists of patterns of names.
//!
//! Every name of a tree is matched against every pattern of the rules, about a hundred. Nearly all
//! patterns are whole names or `*.ending`, which one look-up in a table decides for all of them.

use std::collections::HashSet;

use trawl_text::glob::{Case, Glob};
use trawl_text::locale::Locale;

/// Longest name that tables are asked about, in bytes: names of files are not longer.
const NAME_BYTES_MAX: usize = 255;

/// Patterns of names.
#[derive(Debug)]
pub(crate) struct Names {
    case: Case,
    /// Patterns without special characters; in lower case if case does not count.
    whole: HashSet<Box<[u8]>>,
    /// What follows the dot of patterns such as `*.c`, likewise.
    endings: HashSet<Box<[u8]>>,
    /// All other patterns.
    others: Vec<Glob>,
    /// All patterns, for names that the tables are not made for.
    all: Vec<Glob>,
}

/// Returns whether only these bytes, or their other case, match.
fn is_plain(pattern: &[u8]) -> bool {
    pattern.is_ascii() && !pattern.iter().any(|byte| b"*?[\\".contains(byte))
}

impl Names {
    pub(crate) fn new(patterns: &[String], case: Case) -> Names {
        let glob = |text: &String| Glob::new(text.as_bytes(), case, Locale::Utf8);
        let mut names = Names {
            case,
            whole: HashSet::new(),
            endings: HashSet::new(),
            others: Vec::new(),
            all: patterns.iter().map(glob).collect(),
        };
        for pattern in patterns {
            let bytes = match case {
                Case::Sensitive => pattern.clone().into_bytes(),
                Case::Folded => pattern.to_ascii_lowercase().into_bytes(),
            };
            match bytes.strip_prefix(b"*.") {
                Some(ending) if is_plain(ending) && !ending.contains(&b'.') => {
                    names.endings.insert(ending.into());
                }
                _ if is_plain(&bytes) => {
                    names.whole.insert(bytes.into());
                }
                _ => names.others.push(glob(pattern)),
            }
        }
        names
    }

    pub(crate) fn matches(&self, name: &[u8]) -> bool {
        let mut lower = [0; NAME_BYTES_MAX];
        let plain = match self.case {
            Case::Sensitive => name,
            Case::Folded => match lower.get_mut(..name.len()) {
                // Letters beyond ASCII can be other cases of letters of ASCII.
                Some(lower) if name.is_ascii() => {
                    lower.copy_from_slice(name);
                    lower.make_ascii_lowercase();
                    lower
                }
                _ => return self.all.iter().any(|glob| glob.matches(name)),
            },
        };
        let dot = plain.iter().rposition(|byte| *byte == b'.');
        let ending = dot.map(|dot| &plain[dot + 1..]);
        ending.is_some_and(|ending| self.endings.contains(ending))
            || self.whole.contains(plain)
            || self.others.iter().any(|glob| glob.matches(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PATTERNS: &[&str] = &[
        "a", "A.b", "*.k", "*.b.k", "*.", ".", "a?", "[ak]*", "*", "*K", "é", "*.é", "\\a",
    ];

    proptest! {
        /// Tables say what the patterns say, one by one.
        #[test]
        fn tables_agree_with_patterns(
            chosen in proptest::collection::vec(proptest::sample::select(PATTERNS), 0..4),
            name in "[aAkKb.é\u{212A}]{0,4}",
            folded in any::<bool>(),
        ) {
            let case = match folded {
                true => Case::Folded,
                false => Case::Sensitive,
            };
            let patterns: Vec<String> = chosen.iter().map(|one| (*one).to_owned()).collect();
            let glob = |text: &String| Glob::new(text.as_bytes(), case, Locale::Utf8);
            let expected = patterns.iter().any(|one| glob(one).matches(name.as_bytes()));
            prop_assert_eq!(Names::new(&patterns, case).matches(name.as_bytes()), expected);
        }
    }
}
