//! Compiled patterns of names and paths.

use trawl_find::regex::{Dialect, Manner, Regex};
use trawl_model::need::{Literal, Need, Within};
use trawl_query::{Beginning, Matcher, Trail};
use trawl_text::glob::{Case, Glob, for_fnmatch};
use trawl_text::locale::Locale;

use crate::error::AnswerError;

/// Language of the patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Substrings; a pattern with a metacharacter is a shell pattern.
    Plain,
    /// Basic regular expressions.
    Basic,
    /// Extended regular expressions.
    Extended,
}

/// Patterns that must all match.
pub struct Patterns {
    list: Vec<Pattern>,
    /// Whether they match names or paths.
    pub(crate) within: Within,
    /// Condition that every match fulfils.
    pub(crate) need: Need,
    /// The only literal to look for, if there is nothing else.
    pub(crate) literal: Option<Literal>,
}

enum Pattern {
    Glob(Glob),
    Regex(Regex),
}

impl Patterns {
    /// Compiles words.
    ///
    /// # Errors
    /// If one of them is invalid.
    pub fn new(
        words: &[&[u8]],
        language: Language,
        case: Case,
        within: Within,
        locale: Locale,
    ) -> Result<Patterns, AnswerError> {
        let compile = |word: &&[u8]| Pattern::new(word, language, case, within, locale);
        let list = words.iter().map(compile).collect::<Result<Vec<_>, _>>()?;
        let needs = list.iter().map(|pattern| pattern.need(within));
        let literal = match list.as_slice() {
            [Pattern::Glob(glob)] => glob.literal_search(within),
            _ => None,
        };
        Ok(Patterns {
            need: needs.fold(Need::Nothing, Need::and),
            within,
            literal,
            list,
        })
    }

    /// Returns an empty list of patterns, which matches everything.
    pub(crate) fn any(within: Within) -> Patterns {
        Patterns {
            list: Vec::new(),
            within,
            need: Need::Nothing,
            literal: None,
        }
    }

    /// Returns true if a name or a path matches.
    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        self.list.iter().all(|pattern| match pattern {
            Pattern::Glob(glob) => glob.matches(text),
            Pattern::Regex(regex) => regex.is_in(text),
        })
    }

    /// Returns the only regular expression to look for, if there is nothing else.
    fn only_regex(&self) -> Option<&Regex> {
        match self.list.as_slice() {
            [Pattern::Regex(regex)] => Some(regex),
            _ => None,
        }
    }
}

impl Matcher for Patterns {
    fn is_match(&self, text: &[u8]) -> bool {
        self.matches(text)
    }

    fn begin(&self, directory: &[u8], trail: &mut Trail) -> Beginning {
        match self.only_regex() {
            Some(regex) => regex.begin(Manner::Part, directory, trail),
            None => Beginning::Unknown,
        }
    }

    fn goes_on(&self, place: u8, name: &[u8]) -> Option<bool> {
        self.only_regex()?.goes_on(Manner::Part, place, name)
    }
}

impl Pattern {
    fn new(
        word: &[u8],
        language: Language,
        case: Case,
        within: Within,
        locale: Locale,
    ) -> Result<Pattern, AnswerError> {
        let dialect = match language {
            Language::Plain => {
                let glob = to_glob(word).ok_or_else(|| wrong(word, "it ends in a backslash"))?;
                let is_posix = std::env::var_os("POSIXLY_CORRECT").is_some();
                let glob = for_fnmatch(&glob, is_posix);
                return Ok(Pattern::Glob(Glob::new(&glob, case, locale)));
            }
            Language::Basic => Dialect::PosixBasic,
            Language::Extended => Dialect::PosixExtended,
        };
        let regex = Regex::part(word, dialect, case, locale, within);
        regex
            .map(Pattern::Regex)
            .map_err(|why| wrong(word, &why.to_string()))
    }

    fn need(&self, within: Within) -> Need {
        match self {
            Pattern::Glob(glob) => glob.need(within),
            Pattern::Regex(regex) => regex.need().clone(),
        }
    }
}

fn wrong(word: &[u8], why: &str) -> AnswerError {
    AnswerError::Pattern {
        pattern: word.to_vec(),
        why: why.to_owned(),
    }
}

/// Turns a word into a shell pattern for a whole name or path: surrounds it with `*`s unless it has
/// a metacharacter. An unclosed `[` is not a metacharacter. Returns `None` if the word ends in a
/// backslash that quotes nothing.
fn to_glob(word: &[u8]) -> Option<Vec<u8>> {
    let (mut glob, mut is_plain, mut rest) = (Vec::new(), true, word);
    while let Some((first, after)) = rest.split_first() {
        let length = match first {
            b'\\' => {
                after.first()?;
                2
            }
            b'*' | b'?' => {
                is_plain = false;
                1
            }
            b'[' => match bracket(after) {
                Some(length) => {
                    is_plain = false;
                    length + 1
                }
                None => {
                    glob.push(b'\\');
                    1
                }
            },
            _ => 1,
        };
        let (taken, left) = rest.split_at(length);
        glob.extend_from_slice(taken);
        rest = left;
    }
    Some(match is_plain {
        true => [b"*", &glob[..], b"*"].concat(),
        false => glob,
    })
}

/// Returns the length of the rest of a bracket expression.
fn bracket(rest: &[u8]) -> Option<usize> {
    let negated = usize::from(rest.first() == Some(&b'!'));
    // A `]` in the first position is a member.
    let skip = negated + usize::from(rest.get(negated) == Some(&b']'));
    let end = rest.get(skip..)?.iter().position(|byte| *byte == b']')?;
    Some(skip + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_without_metacharacters_are_looked_for_anywhere() {
        for (word, glob) in [
            ("abc", Some("*abc*")),
            ("", Some("**")),
            ("a*", Some("a*")),
            ("a\\*b", Some("*a\\*b*")),
            ("a[b", Some("*a\\[b*")),
            ("a[]b", Some("*a\\[]b*")),
            ("a[]b]", Some("a[]b]")),
            ("a[!]]", Some("a[!]]")),
            ("[a]\\?", Some("[a]\\?")),
            ("a\\", None),
        ] {
            let made = to_glob(word.as_bytes());
            let made = made.map(|glob| String::from_utf8(glob).unwrap());
            assert_eq!(made.as_deref(), glob, "{word}");
        }
    }

    #[test]
    fn all_patterns_must_match() {
        let new = |words: &[&[u8]], language| {
            let (case, within) = (Case::Sensitive, Within::Path);
            Patterns::new(words, language, case, within, Locale::Utf8)
        };
        let both = new(&[b"a", b"?b*"], Language::Plain).unwrap();
        assert!(both.matches(b"/ba") && !both.matches(b"/b") && !both.matches(b"/a"));
        assert!(both.literal.is_none());
        let one = new(&[b"a\\*"], Language::Plain).unwrap();
        assert_eq!(one.literal.map(|l| l.bytes), Some(b"a*".to_vec()));
        let regex = new(&[b"^/x$"], Language::Basic).unwrap();
        assert!(regex.matches(b"/x") && !regex.matches(b"/x\n"));
        assert!(new(&[b"(a"], Language::Extended).is_err());
        assert!(new(&[b"a\\"], Language::Plain).is_err());
    }
}
