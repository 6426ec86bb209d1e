//! The words of a text, and Tantivy's view of them.
//!
//! A word is a run of letters and digits, in lower case. Chinese and Japanese write no spaces
//! between words: each of their characters is a word. Words are compared by their first
//! [`WORD_MAX`] bytes.

use std::ops::Range;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Longest word in bytes. The rest does not count.
const WORD_MAX: usize = 64;

/// Finds the words of a text, one after the other.
pub(crate) struct Words<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Words<'t> {
    pub(crate) fn new(text: &'t str) -> Words<'t> {
        Words { text, at: 0 }
    }

    /// Puts the next word into `word`, and returns its place in the text.
    pub(crate) fn next_into(&mut self, word: &mut String) -> Option<Range<usize>> {
        word.clear();
        self.skip()?;
        let start = self.at;
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            if byte.is_ascii() {
                let rest = &bytes[self.at..];
                let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric());
                let end = self.at + end.unwrap_or(rest.len());
                if end == self.at {
                    break;
                }
                self.push_ascii(end, word);
                continue;
            }
            let Some(next) = self.character().filter(|one| one.is_alphanumeric()) else {
                break;
            };
            if is_a_word(next) {
                if self.at == start {
                    word.push(next);
                    self.at += next.len_utf8();
                }
                break;
            }
            self.at += next.len_utf8();
            for lower in next.to_lowercase() {
                if word.len() + lower.len_utf8() <= WORD_MAX {
                    word.push(lower);
                }
            }
        }
        Some(start..self.at)
    }

    /// Goes to the next letter or digit.
    fn skip(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        loop {
            let byte = bytes.get(self.at)?;
            if byte.is_ascii_alphanumeric() {
                return Some(());
            }
            if byte.is_ascii() {
                self.at += 1;
                continue;
            }
            let next = self.character()?;
            if next.is_alphanumeric() {
                return Some(());
            }
            self.at += next.len_utf8();
        }
    }

    fn character(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    /// Takes ASCII letters and digits up to `end`.
    fn push_ascii(&mut self, end: usize, word: &mut String) {
        let before = word.len();
        let taken = (end - self.at).min(WORD_MAX.saturating_sub(before));
        word.push_str(self.text.get(self.at..self.at + taken).unwrap_or_default());
        if let Some(added) = word.get_mut(before..) {
            added.make_ascii_lowercase();
        }
        self.at = end;
    }
}

/// Returns whether the character is a word by itself: an ideograph, or kana.
fn is_a_word(character: char) -> bool {
    matches!(u32::from(character),
        0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff)
}

/// Returns the words of a text.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    let (mut words, mut found, mut word) = (Words::new(text), Vec::new(), String::new());
    while words.next_into(&mut word).is_some() {
        found.push(word.clone());
    }
    found
}

/// The tokenizer of the text field.
#[derive(Clone, Default)]
pub(crate) struct WordTokenizer {
    token: Token,
}

/// The words of one text, for Tantivy.
pub(crate) struct WordStream<'t> {
    words: Words<'t>,
    token: &'t mut Token,
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        WordStream {
            words: Words::new(text),
            token: &mut self.token,
        }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(place) = self.words.next_into(&mut self.token.text) else {
            return false;
        };
        self.token.position = self.token.position.wrapping_add(1);
        (self.token.offset_from, self.token.offset_to) = (place.start, place.end);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        for (text, expected) in [
            ("Solid-State disk_2", &["solid", "state", "disk", "2"][..]),
            ("\u{c4}RGER gro\u{df}", &["\u{e4}rger", "gro\u{df}"]),
            ("x\u{4e2d}\u{6587}y", &["x", "\u{4e2d}", "\u{6587}", "y"]),
            ("...", &[]),
            ("", &[]),
            ("\u{201c}NVMe\u{201d}", &["nvme"]),
        ] {
            assert_eq!(words_of(text), expected, "{text}");
        }
    }

    #[test]
    fn long_words_are_cut_between_characters() {
        let long = "a".repeat(1000);
        assert_eq!(words_of(&long), ["a".repeat(64)]);
        let long = "\u{e4}".repeat(1000);
        assert_eq!(words_of(&long), ["\u{e4}".repeat(32)]);
        let odd = format!("a{}", "\u{e4}".repeat(1000));
        assert_eq!(words_of(&odd), [format!("a{}", "\u{e4}".repeat(31))]);
    }
}
