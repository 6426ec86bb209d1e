//! The matcher of the patterns: ripgrep's, with a better literal to look for in some patterns.
//!
//! For a pattern such as `[a-z]+_[a-z]+_t`, the regular expression engine looks for the first literal
//! inside, `_`, which is everywhere, and begins again at each. As a line must contain all literals
//! of a concatenation, lines without the longest of them, `_t`, are passed over here, and the engine
//! is asked about the others only. ripgrep did so until version 13.
//!
//! Invariant: every line that matches is a candidate.

use grep_matcher::{ByteSet, LineMatchKind, LineTerminator, Match, Matcher, NoError};
use grep_regex::{RegexCaptures, RegexMatcher};
use memchr::memmem::Finder;
use regex_syntax::hir::{Hir, HirKind};

use crate::options::{Case, Ending, Patterns, Syntax};

/// A matcher of lines.
#[derive(Clone, Debug)]
pub(crate) struct LineMatcher {
    regex: RegexMatcher,
    /// What every matching line contains, if looking for that is faster.
    inner: Option<Finder<'static>>,
}

impl LineMatcher {
    /// Makes one of ripgrep's matcher of these patterns.
    pub(crate) fn new(regex: RegexMatcher, patterns: &Patterns, ending: Ending) -> LineMatcher {
        let literal = inner_literal(patterns).filter(|literal| {
            // A literal with a line ending in it is in no line.
            ending == Ending::Newline && !literal.contains(&b'\n')
        });
        let inner = literal.map(|literal| Finder::new(&literal).into_owned());
        LineMatcher { regex, inner }
    }
}

/// Returns a literal that is better to look for than what the engine would look for.
fn inner_literal(patterns: &Patterns) -> Option<Vec<u8>> {
    let [pattern] = &patterns.texts[..] else {
        return None;
    };
    if patterns.syntax != Syntax::Regex || patterns.case != Case::Sensitive {
        return None;
    }
    let mut parser = regex_syntax::ParserBuilder::new();
    let hir = parser.utf8(false).multi_line(true).build().parse(pattern);
    let hir = hir.ok()?;
    let mut parts = Vec::new();
    flatten(&hir, &mut parts);
    // The engine begins with a literal at the beginning; among alternatives, it may have better ones.
    if !parts.first()?.is_plain_class() || !parts.iter().all(Part::is_plain) {
        return None;
    }
    let literals: Vec<&[u8]> = parts.iter().filter_map(Part::literal).collect();
    let first = literals.first()?;
    let longest = literals.iter().rev().max_by_key(|literal| literal.len())?;
    // One that contains the first is rarer; else it has to be long.
    let contains_first = longest.windows(first.len()).any(|part| part == *first);
    let is_better = longest.len() > first.len() && (contains_first || longest.len() > 3);
    is_better.then(|| longest.to_vec())
}

/// A part of a concatenation.
enum Part<'h> {
    Literal(&'h [u8]),
    /// A class or a repetition of one.
    Class,
    /// An assertion, which has no length.
    Look,
    /// Anything else.
    Other,
}

impl Part<'_> {
    fn literal(&self) -> Option<&[u8]> {
        match self {
            Part::Literal(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn is_plain_class(&self) -> bool {
        matches!(self, Part::Class)
    }

    fn is_plain(&self) -> bool {
        !matches!(self, Part::Other)
    }
}

/// Lists the parts of a concatenation, those in groups included.
fn flatten<'h>(hir: &'h Hir, parts: &mut Vec<Part<'h>>) {
    match hir.kind() {
        HirKind::Concat(inner) => inner.iter().for_each(|hir| flatten(hir, parts)),
        HirKind::Capture(group) => flatten(&group.sub, parts),
        HirKind::Literal(literal) => parts.push(Part::Literal(&literal.0)),
        HirKind::Class(_) => parts.push(Part::Class),
        HirKind::Repetition(of) if matches!(of.sub.kind(), HirKind::Class(_)) => {
            parts.push(Part::Class);
        }
        HirKind::Look(_) => parts.push(Part::Look),
        HirKind::Empty => {}
        HirKind::Repetition(_) | HirKind::Alternation(_) => parts.push(Part::Other),
    }
}

impl Matcher for LineMatcher {
    type Captures = RegexCaptures;
    type Error = NoError;

    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, NoError> {
        self.regex.find_at(haystack, at)
    }

    fn new_captures(&self) -> Result<RegexCaptures, NoError> {
        self.regex.new_captures()
    }

    fn capture_count(&self) -> usize {
        self.regex.capture_count()
    }

    fn capture_index(&self, name: &str) -> Option<usize> {
        self.regex.capture_index(name)
    }

    fn try_find_iter<F, E>(&self, haystack: &[u8], matched: F) -> Result<Result<(), E>, NoError>
    where
        F: FnMut(Match) -> Result<bool, E>,
    {
        self.regex.try_find_iter(haystack, matched)
    }

    fn captures_at(
        &self,
        haystack: &[u8],
        at: usize,
        captures: &mut RegexCaptures,
    ) -> Result<bool, NoError> {
        self.regex.captures_at(haystack, at, captures)
    }

    fn shortest_match_at(&self, haystack: &[u8], at: usize) -> Result<Option<usize>, NoError> {
        self.regex.shortest_match_at(haystack, at)
    }

    fn non_matching_bytes(&self) -> Option<&ByteSet> {
        self.regex.non_matching_bytes()
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.regex.line_terminator()
    }

    fn find_candidate_line(&self, haystack: &[u8]) -> Result<Option<LineMatchKind>, NoError> {
        match &self.inner {
            Some(literal) => Ok(literal.find(haystack).map(LineMatchKind::Candidate)),
            None => self.regex.find_candidate_line(haystack),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal_of(pattern: &str) -> Option<String> {
        let patterns = Patterns {
            texts: vec![pattern.to_owned()],
            ..Patterns::default()
        };
        inner_literal(&patterns).map(|literal| String::from_utf8(literal).unwrap())
    }

    #[test]
    fn the_longest_literal_is_looked_for_where_the_engine_takes_a_worse_one() {
        for (pattern, literal) in [
            ("[a-z]+_[a-z]+_t", "_t"),
            (r"\w+_(\w+)_init_(\d+)", "_init_"),
            (r"\s*[a-z]+ = [a-z]+_handler;", "_handler;"),
        ] {
            assert_eq!(literal_of(pattern).as_deref(), Some(literal), "{pattern}");
        }
        for pattern in [
            "fn [a-z]+_t",
            "[a-z]+_t",
            "[a-z]+_(ab|cd)_there",
            "[a-z]+_(there)?",
            "[a-z]+z[a-z]+ee",
            "(?i)[a-z]+_[a-z]+_there",
            "[a-z]+",
            "",
            "[a-z",
        ] {
            assert_eq!(literal_of(pattern), None, "{pattern}");
        }
    }

    /// Lines are those that the engine alone finds, for random texts of few letters.
    #[test]
    fn lines_are_those_of_the_engine_alone() {
        let mut state = 7u64;
        let mut letter = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            b"ab_t\n"[(state >> 33) as usize % 5]
        };
        for pattern in ["[ab]+_[ab]+_t", "[ab]_[a-z]*_ta$", r"[^a]_(\w)t_b"] {
            let patterns = Patterns {
                texts: vec![pattern.to_owned()],
                ..Patterns::default()
            };
            let options = crate::Options {
                patterns,
                ..crate::Options::default()
            };
            let ours = crate::search::matcher(&options).unwrap();
            assert!(ours.inner.is_some(), "{pattern}");
            let text: Vec<u8> = (0..20_000).map(|_| letter()).collect();
            let found = |matcher: &LineMatcher| {
                let mut lines = Vec::new();
                let sink = grep_searcher::sinks::Lossy(|number, line| {
                    lines.push((number, line.to_owned()));
                    Ok(true)
                });
                let mut searcher = grep_searcher::Searcher::new();
                searcher.search_slice(matcher, &text, sink).unwrap();
                lines
            };
            let alone = LineMatcher {
                inner: None,
                ..ours.clone()
            };
            let lines = found(&alone);
            assert!(lines.len() > 5, "{pattern}: {}", lines.len());
            assert_eq!(found(&ours), lines, "{pattern}");
        }
    }
}
