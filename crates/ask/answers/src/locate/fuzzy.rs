//! Score of a path for typed letters, which must occur in their order, with anything between them.
//!
//! Letters that follow each other, begin a word, or lie in the last component score higher; gaps
//! cost. The scores order answers for people and mean nothing by themselves.

use std::cmp::Ordering;

use trawl_model::sort_key::Direction;
use trawl_model::{SortKey, mapped, path};

/// Score of a letter that matches.
const LETTER: i32 = 16;
/// Score of a letter that directly follows the previous one.
const ADJACENT: i32 = 12;
/// Score of a letter that begins a component.
const COMPONENT: i32 = 14;
/// Score of a letter that begins a word.
const WORD: i32 = 10;
/// Factor for the first letter.
const FIRST: i32 = 2;
/// Score if all letters lie in the last component.
const NAME: i32 = 40;
/// Score if the last component is no longer than the typed word.
const WHOLE_NAME: i32 = 40;
/// Cost of a byte in a gap between letters, and the maximum cost of a gap.
const GAP: i32 = 1;
const GAP_MOST: i32 = 20;

/// The typed letters.
pub struct Fuzzy {
    words: Vec<Vec<u8>>,
    /// False if a capital was typed: then letters match only in their own case.
    folds: bool,
}

/// A path and its score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scored {
    /// The score; the greatest is the best.
    pub score: i32,
    /// The path.
    pub path: Vec<u8>,
}

impl Scored {
    /// Returns the position among the paths of several machines, by the path that the asker knows.
    #[must_use]
    pub fn position(&self) -> SortKey {
        let position = SortKey::default().number(Some(self.score.into()), Direction::Down);
        let path = mapped::theirs(&self.path);
        let position = position.number(Some(path.len() as i128), Direction::Up);
        position.path(&path)
    }
}

impl Ord for Scored {
    /// The best score comes first, then the shorter path.
    fn cmp(&self, other: &Scored) -> Ordering {
        other
            .score
            .cmp(&self.score)
            .then(self.path.len().cmp(&other.path.len()))
            .then_with(|| path::cmp(&self.path, &other.path))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Scored) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best paths so far.
#[derive(Debug, Default)]
pub(crate) struct Best {
    list: Vec<Scored>,
}

impl Best {
    /// Adds a path. Keeps at most `limit` paths, or slightly more between cuts.
    pub(crate) fn add(&mut self, scored: Scored, limit: usize) {
        self.list.push(scored);
        if self.list.len() >= limit.saturating_mul(2).max(1024) {
            self.cut(limit);
        }
    }

    fn cut(&mut self, limit: usize) {
        self.list.sort();
        self.list.truncate(limit);
    }

    /// Adds all paths of `other`.
    pub(crate) fn join(&mut self, other: Best, limit: usize) {
        for scored in other.list {
            self.add(scored, limit);
        }
    }

    /// Returns the best paths, in order.
    pub(crate) fn finish(mut self, limit: usize) -> Vec<Scored> {
        self.cut(limit);
        self.list
    }
}

/// Whether letters match in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capitals {
    /// Unless a capital was typed.
    IfTyped,
    /// Always.
    Ignored,
}

impl Fuzzy {
    /// Creates a scorer; every word must match by itself.
    pub fn new(words: &[&[u8]], capitals: Capitals) -> Fuzzy {
        let typed = words.concat().iter().any(u8::is_ascii_uppercase);
        let folds = capitals == Capitals::Ignored || !typed;
        let word = |word: &&[u8]| match folds {
            true => word.to_ascii_lowercase(),
            false => word.to_vec(),
        };
        Fuzzy {
            words: words.iter().map(word).collect(),
            folds,
        }
    }

    /// Returns the letter as it is compared.
    fn letter(&self, byte: u8) -> u8 {
        if self.folds {
            byte.to_ascii_lowercase()
        } else {
            byte
        }
    }

    /// Returns true if each word's letters occur in the text, in their order.
    pub(crate) fn fits(&self, text: &[u8]) -> bool {
        self.words
            .iter()
            .all(|word| self.end_of(word, text, 0).is_some())
    }

    /// Returns the score of the text; `None` if it does not match.
    pub(crate) fn score(&self, text: &[u8]) -> Option<i32> {
        let name = text
            .iter()
            .rposition(|byte| *byte == b'/')
            .map_or(0, |at| at + 1);
        let mut sum = 0i32;
        for word in &self.words {
            let in_name = self.score_from(word, text, name).map(|score| {
                let whole = text.len() - name == word.len();
                score + NAME + if whole { WHOLE_NAME } else { 0 }
            });
            let score = match in_name {
                Some(score) => score,
                None => self.score_from(word, text, 0)?,
            };
            sum = sum.saturating_add(score);
        }
        Some(sum)
    }

    /// Returns the end of the first match from `start` on.
    fn end_of(&self, word: &[u8], text: &[u8], start: usize) -> Option<usize> {
        let mut letters = word.iter();
        let Some(mut wanted) = letters.next() else {
            return Some(start);
        };
        for (at, byte) in text.iter().enumerate().skip(start) {
            if self.letter(*byte) == *wanted {
                match letters.next() {
                    Some(next) => wanted = next,
                    None => return Some(at + 1),
                }
            }
        }
        None
    }

    /// Returns the score of the tightest match among those that end first.
    fn score_from(&self, word: &[u8], text: &[u8], start: usize) -> Option<i32> {
        let end = self.end_of(word, text, start)?;
        let mut places = Vec::with_capacity(word.len());
        let mut at = end;
        for letter in word.iter().rev() {
            while at > start {
                at -= 1;
                if text.get(at).map(|byte| self.letter(*byte)) == Some(*letter) {
                    places.push(at);
                    break;
                }
            }
        }
        places.reverse();
        let mut score = 0;
        let mut before: Option<usize> = None;
        // Bonus of the first letter in a run of adjacent letters.
        let mut run = 0;
        for place in places {
            let bonus = beginning(text, place);
            if before.is_none_or(|before| before + 1 != place) {
                run = bonus;
            }
            score += LETTER;
            score += match before {
                None => bonus * FIRST,
                Some(before) if before + 1 == place => bonus.max(run).max(ADJACENT),
                Some(before) => {
                    let gap = i32::try_from(place - before - 1).unwrap_or(GAP_MOST);
                    bonus - (gap * GAP).min(GAP_MOST)
                }
            };
            before = Some(place);
        }
        Some(score)
    }
}

/// Returns the bonus of a position by itself.
fn beginning(text: &[u8], at: usize) -> i32 {
    let before = at.checked_sub(1).and_then(|before| text.get(before));
    let here = text.get(at).copied().unwrap_or_default();
    match before {
        None | Some(b'/') => COMPONENT,
        Some(b'-' | b'_' | b'.' | b' ' | b',' | b'+') => WORD,
        Some(before) if before.is_ascii_lowercase() && here.is_ascii_uppercase() => WORD,
        Some(before) if !before.is_ascii_digit() && here.is_ascii_digit() => WORD / 2,
        Some(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(typed: &str, paths: &[&str]) -> Vec<String> {
        let words: Vec<&[u8]> = typed.split(' ').map(str::as_bytes).collect();
        let fuzzy = Fuzzy::new(&words, Capitals::IfTyped);
        let mut best = Best::default();
        for path in paths {
            let path = path.as_bytes();
            assert_eq!(fuzzy.fits(path), fuzzy.score(path).is_some());
            if let Some(score) = fuzzy.score(path) {
                best.add(
                    Scored {
                        score,
                        path: path.to_vec(),
                    },
                    99,
                );
            }
        }
        let best = best.finish(99).into_iter();
        best.map(|scored| String::from_utf8(scored.path).unwrap())
            .collect()
    }

    #[test]
    fn the_best_comes_first() {
        for (typed, expected) in [
            (
                "main",
                &["/src/main", "/src/main.rs", "/main/x.rs", "/my/a/i/n"][..],
            ),
            ("fb", &["/foo_bar", "/foo/bar", "/xfoobx"]),
            ("cfg", &["/a/cfg", "/a/Config.toml.g", "/cfg/zzz"]),
            ("READ", &["/README"]),
            ("src test", &["/src/test", "/test/src/x"]),
        ] {
            let mut given: Vec<&str> = expected.to_vec();
            given.push("/readx");
            given.reverse();
            let found = order(typed, &given);
            let known: Vec<&str> = found
                .iter()
                .map(String::as_str)
                .filter(|p| *p != "/readx")
                .collect();
            assert_eq!(known, expected, "{typed}");
        }
    }

    #[test]
    fn only_the_best_are_kept() {
        let fuzzy = Fuzzy::new(&[b"a"], Capitals::Ignored);
        let mut best = Best::default();
        for number in 0..5000 {
            let path = format!("/{}A", "x".repeat(number % 70)).into_bytes();
            let score = fuzzy.score(&path).unwrap();
            best.add(Scored { score, path }, 10);
        }
        assert!(best.list.len() <= 1024);
        let kept = best.finish(10);
        assert_eq!(kept.len(), 10);
        assert!(kept.iter().all(|scored| scored.path == b"/A"));
    }
}
