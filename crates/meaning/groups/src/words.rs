//! Words of paths, and the filter of a group's words: the paper's *membership markers*, "checking
//! whether […] the targeted files *might* be within this group" (section 3.2).

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_64;

/// Bits of the filter for each word.
const BITS_A_WORD: usize = 10;
/// Bits that are set for a word: the best number for ten bits a word is 7.
const BITS_SET: u64 = 7;

/// Calls `visit` with each word of a text: runs of letters and digits, in lower case as far as they
/// are ASCII. Bytes beyond ASCII are parts of words.
pub(crate) fn each_word(text: &[u8], mut visit: impl FnMut(&[u8])) {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    for word in text.split(|byte| !is_part(byte)) {
        if !word.is_empty() {
            visit(&word.to_ascii_lowercase());
        }
    }
}

/// Hashes of words.
pub(crate) type Hashes = HashSet<u64>;

pub(crate) fn hashes(text: &[u8]) -> Vec<u64> {
    let mut all = Vec::new();
    each_word(text, |word| all.push(xxh3_64(word)));
    all
}

/// A filter of words (Bloom's): it may take a word for one of its own that is not, once in a
/// hundred times, but never the other way round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markers {
    bits: Vec<u64>,
}

impl Markers {
    pub(crate) fn new(words: &Hashes) -> Markers {
        let mut markers = Markers {
            bits: vec![0; (words.len() * BITS_A_WORD).div_ceil(64).max(1)],
        };
        for word in words {
            for bit in markers.places(*word) {
                markers.bits[bit / 64] |= 1 << (bit % 64);
            }
        }
        markers
    }

    fn places(&self, word: u64) -> impl Iterator<Item = usize> + use<> {
        let all = (self.bits.len() * 64) as u64;
        // Two halves of the hash stand for independent hashes; an odd step reaches other bits.
        let (first, step) = (word >> 32, (word & 0xffff_ffff) | 1);
        (0..BITS_SET).map(move |time| (first.wrapping_add(step.wrapping_mul(time)) % all) as usize)
    }

    /// Returns whether the filter may have all words of the text. A text without words is in every
    /// filter.
    #[must_use]
    pub fn may_have(&self, text: &[u8]) -> bool {
        let has = |bit: usize| self.bits[bit / 64] & (1 << (bit % 64)) != 0;
        let mut may = true;
        each_word(text, |word| {
            may = may && !self.bits.is_empty() && self.places(xxh3_64(word)).all(has);
        });
        may
    }

    /// Returns the size of the filter in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.bits.len() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        let mut words = Vec::new();
        each_word("/usr/lib/libFoo-2.so.1/Grüße_x".as_bytes(), |word| {
            words.push(String::from_utf8(word.to_vec()).unwrap());
        });
        let expected = ["usr", "lib", "libfoo", "2", "so", "1", "grüße", "x"];
        assert_eq!(words, expected);
    }

    proptest! {
        #[test]
        fn a_filter_excludes_no_word_of_its_own(
            texts in proptest::collection::vec("[a-zA-Z0-9._-]{1,12}", 0..200),
        ) {
            let all: Hashes = texts.iter().flat_map(|text| hashes(text.as_bytes())).collect();
            let markers = Markers::new(&all);
            for text in &texts {
                prop_assert!(markers.may_have(text.as_bytes()), "{text}");
            }
        }
    }

    #[test]
    fn a_filter_excludes_nearly_all_others() {
        let own: Hashes = (0..1000)
            .flat_map(|n| hashes(format!("own{n}").as_bytes()))
            .collect();
        let markers = Markers::new(&own);
        let wrong = (0..10_000).filter(|n| markers.may_have(format!("other{n}").as_bytes()));
        // In theory, ten bits and seven hashes let through 0.8 %.
        assert!(wrong.count() < 150);
        assert!(!Markers::default().may_have(b"word"));
    }
}
