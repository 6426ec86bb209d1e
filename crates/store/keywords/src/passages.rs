//! The lines of a text that show why it matches.

use std::ops::Range;

use crate::query::{Expression, Query};
use crate::words::Words;

/// Longest part of a line that is shown, in characters.
const LINE_MAX: usize = 160;
/// Characters of a longer line that are shown before the first word.
const BEFORE: usize = 40;

/// A line, or a part of it, with words of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Number of the line, from 1.
    pub line: usize,
    /// The line, or a part of it.
    pub text: String,
    /// Where words of the query are in `text`.
    pub words: Vec<Range<usize>>,
}

/// Returns lines with words that the queries ask for, at most `most`: those with the most different
/// words, in the order of the text.
pub fn passages(text: &str, queries: &[&Query], most: usize) -> Vec<Passage> {
    let mut wanted = Vec::new();
    for query in queries {
        asked_for(query.expression(), &mut wanted);
    }
    wanted.sort_unstable();
    wanted.dedup();
    let mut best: Vec<(usize, usize, &str)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let kinds = kinds_in(line, &wanted);
        if kinds == 0 {
            continue;
        }
        best.push((kinds, number, line));
        // Earlier lines come first among equals.
        best.sort_by_key(|(kinds, number, _)| (usize::MAX - kinds, *number));
        best.truncate(most);
    }
    best.sort_by_key(|(_, number, _)| *number);
    best.into_iter()
        .map(|(_, number, line)| passage(number + 1, line, &wanted))
        .collect()
}

/// Collects the words that occur in texts that match.
fn asked_for<'q>(expression: &'q Expression, words: &mut Vec<&'q str>) {
    match expression {
        Expression::And(parts) | Expression::Or(parts) => {
            parts.iter().for_each(|part| asked_for(part, words));
        }
        Expression::Not(_) => {}
        other => other.each_word(&mut |word| words.push(word)),
    }
}

/// Number of different words of `wanted` in a line.
fn kinds_in(line: &str, wanted: &[&str]) -> usize {
    let mut seen = vec![false; wanted.len()];
    let (mut words, mut word) = (Words::new(line), String::new());
    while words.next_into(&mut word).is_some() {
        if let Ok(at) = wanted.binary_search(&&word[..]) {
            seen[at] = true;
        }
    }
    seen.into_iter().filter(|seen| *seen).count()
}

fn passage(number: usize, line: &str, wanted: &[&str]) -> Passage {
    let line = line.trim_end();
    let places = places_in(line, wanted);
    let first = places.first().map_or(0, |place| place.start);
    let before = line.get(..first).unwrap_or_default();
    let begin = match before.chars().count() + line.len() - first > LINE_MAX {
        true => before
            .char_indices()
            .rev()
            .nth(BEFORE - 1)
            .map_or(0, |(at, _)| at),
        false => line.len() - line.trim_start().len(),
    };
    let rest = line.get(begin..).unwrap_or_default();
    let end = rest
        .char_indices()
        .nth(LINE_MAX)
        .map_or(rest.len(), |(at, _)| at);
    let text = rest.get(..end).unwrap_or_default().to_owned();
    let words = places
        .into_iter()
        .filter(|place| place.start >= begin && place.end <= begin + end)
        .map(|place| place.start - begin..place.end - begin)
        .collect();
    Passage {
        line: number,
        text,
        words,
    }
}

fn places_in(line: &str, wanted: &[&str]) -> Vec<Range<usize>> {
    let (mut words, mut word) = (Words::new(line), String::new());
    let mut places = Vec::new();
    while let Some(place) = words.next_into(&mut word) {
        if wanted.binary_search(&&word[..]).is_ok() {
            places.push(place);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_most_words_are_shown() {
        let text = "one flash\n  two SSD and flash\nssd\nNVMe, ssd\nnothing\n";
        let query = Query::parse("ssd (flash OR nvme) NOT nothing").unwrap();
        let found = passages(text, &[&query], 2);
        let shown: Vec<(usize, &str)> = found.iter().map(|one| (one.line, &one.text[..])).collect();
        assert_eq!(shown, [(2, "two SSD and flash"), (4, "NVMe, ssd")]);
        let words: Vec<&str> = found[0]
            .words
            .iter()
            .map(|at| &found[0].text[at.clone()])
            .collect();
        assert_eq!(words, ["SSD", "flash"]);
    }

    #[test]
    fn long_lines_are_cut_around_the_first_word() {
        let text = format!("{}\u{e4}needle {}", "x ".repeat(500), "\u{e4} ".repeat(500));
        let query = Query::parse("\u{e4}needle").unwrap();
        let found = passages(&text, &[&query], 3);
        let [only] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(only.text.chars().count(), 160);
        assert_eq!(&only.text[only.words[0].clone()], "\u{e4}needle");
        assert!(passages("", &[&query], 3).is_empty());
    }
}
