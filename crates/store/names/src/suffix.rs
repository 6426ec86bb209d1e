//! Finds names with a given suffix from their codes.
//!
//! Most codes that end a row hold enough of its name to decide. A table, made
//! once for a search, says what each code tells. If a code is shorter than the
//! suffix, the codes before it are examined too.

use crate::pattern::{Anchor, Case};
use crate::symbols::{self, CODES, Symbols};

/// Class bit of a code: the code ends a row.
const ENDS: u8 = 1;
/// The row has the suffix, or may have it.
const MATCHES: u8 = 2;
const UNDECIDED: u8 = 4;
/// The code contains a non-ASCII byte.
const BEYOND_ASCII: u8 = 8;

/// The suffix that names must have.
pub(crate) struct Suffix {
    bytes: Vec<u8>,
    case: Case,
    anchor: Anchor,
    classes: Vec<u8>,
}

/// A row that has the suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// The row, counted from the first of the block.
    pub(crate) row: usize,
    /// The index of the row's last code.
    pub(crate) last: usize,
}

/// Result of scanning a block's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScannedCodes {
    pub(crate) rows: usize,
    pub(crate) has_beyond_ascii: bool,
}

impl Suffix {
    /// Makes a suffix from a literal that is anchored at the end of names;
    /// `None` for other anchors and for an empty literal.
    pub(crate) fn new(bytes: &[u8], anchor: Anchor, case: Case) -> Option<Suffix> {
        let is_end = matches!(anchor, Anchor::End | Anchor::Whole);
        (is_end && !bytes.is_empty()).then(|| Suffix {
            bytes: bytes.to_vec(),
            case,
            anchor,
            classes: Vec::new(),
        })
    }

    pub(crate) fn is_folded(&self) -> bool {
        self.case == Case::Folded
    }

    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        match self.case {
            Case::Sensitive => a == b,
            Case::Folded => a.eq_ignore_ascii_case(b),
        }
    }

    /// Classifies the symbols; does nothing after the first call.
    pub(crate) fn prepare(&mut self, symbols: &Symbols) {
        if self.classes.is_empty() {
            let class = |(code, (ends, is_beyond)): (usize, (bool, bool))| {
                let beyond = if is_beyond { BEYOND_ASCII } else { 0 };
                match ends {
                    true => ENDS | beyond | self.ending(symbols.text(code as u16)),
                    false => beyond,
                }
            };
            self.classes = symbols.traits().enumerate().map(class).collect();
        }
    }

    /// Returns the class of a code that ends a row, from its text.
    fn ending(&self, text: &[u8]) -> u8 {
        let end = text.strip_suffix(b"\0").unwrap_or(text);
        let shorter = end.len().min(self.bytes.len());
        let ours = &self.bytes[self.bytes.len() - shorter..];
        // Most texts differ in the last byte.
        if let (Some(a), Some(b)) = (end.last(), ours.last())
            && !a.eq_ignore_ascii_case(b)
        {
            return 0;
        }
        let decided = end.len() >= self.bytes.len() && self.anchor == Anchor::End;
        match self.same(&end[end.len() - shorter..], ours) {
            true if decided => MATCHES,
            true => UNDECIDED,
            false => 0,
        }
    }

    /// Puts the rows that have the suffix into `hits`, replacing its contents.
    pub(crate) fn find(
        &self,
        symbols: &Symbols,
        codes: &[u8],
        hits: &mut Vec<Hit>,
    ) -> ScannedCodes {
        hits.clear();
        let (mut rows, mut all) = (0, 0);
        let Some(classes) = self.classes.first_chunk::<CODES>() else {
            return ScannedCodes {
                rows,
                has_beyond_ascii: false,
            };
        };
        let mut look = |class: u8, last: usize, row: usize| {
            let is_hit =
                class & MATCHES != 0 || class & UNDECIDED != 0 && self.is_end(symbols, codes, last);
            if is_hit {
                hits.push(Hit { row, last });
            }
        };
        let (fours, rest) = codes.as_chunks::<6>();
        for (number, four) in fours.iter().enumerate() {
            let [a, b, c, d] = symbols::four_codes(*four);
            let class = |code: usize| classes[code % CODES];
            let four = [class(a), class(b), class(c), class(d)];
            let any = four[0] | four[1] | four[2] | four[3];
            if any & (MATCHES | UNDECIDED) != 0 {
                let mut row = rows;
                for (at, class) in four.iter().enumerate() {
                    look(*class, number * 4 + at, row);
                    row += usize::from(class & ENDS);
                }
            }
            all |= any;
            let ends = four.iter().map(|class| usize::from(class & ENDS));
            rows += ends.sum::<usize>();
        }
        let first = fours.len() * 4;
        for last in first..first + symbols::count(rest) {
            let class = classes[usize::from(symbols::code_at(codes, last)) % CODES];
            look(class, last, rows);
            all |= class;
            rows += usize::from(class & ENDS);
        }
        ScannedCodes {
            rows,
            has_beyond_ascii: all & BEYOND_ASCII != 0,
        }
    }

    /// True if the row that ends with code `last` has the suffix; examines as
    /// many codes as needed.
    fn is_end(&self, symbols: &Symbols, codes: &[u8], last: usize) -> bool {
        let mut rest = &self.bytes[..];
        let mut code = last;
        let text_at = |code| symbols.text(symbols::code_at(codes, code));
        let mut text = text_at(code);
        text = text.strip_suffix(b"\0").unwrap_or(text);
        loop {
            let shorter = text.len().min(rest.len());
            let (before, ours) = rest.split_at(rest.len() - shorter);
            if !self.same(&text[text.len() - shorter..], ours) {
                return false;
            }
            rest = before;
            let begins = code == 0 || text_at(code - 1).ends_with(b"\0");
            if rest.is_empty() && self.anchor == Anchor::End {
                return true;
            }
            if begins {
                return rest.is_empty() && text.len() == shorter;
            }
            if text.len() > shorter {
                return false;
            }
            code -= 1;
            text = text_at(code);
        }
    }
}

/// Puts the name that ends with code `last` into `name`, replacing its
/// contents.
pub(crate) fn name_of(symbols: &Symbols, codes: &[u8], last: usize, name: &mut Vec<u8>) {
    let text_at = |code| symbols.text(symbols::code_at(codes, code));
    let before = (0..last).rev().find(|code| text_at(*code).ends_with(b"\0"));
    name.clear();
    for code in before.map_or(0, |before| before + 1)..=last {
        name.extend_from_slice(text_at(code));
    }
    if name.last() == Some(&0) {
        name.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::Encoder;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ends_are_found_where_a_scan_finds_them(
            names in proptest::collection::vec("[abAé.]{0,9}", 1..60),
            texts in proptest::collection::btree_set("[abA.]{2,5}\0?", 0..40),
            bytes in "[abA.]{1,6}", is_whole: bool, is_folded: bool,
        ) {
            let symbols = Symbols::new(texts.iter().map(String::as_bytes)).unwrap();
            let text: Vec<u8> = names.iter().flat_map(|name| [name.as_bytes(), b"\0"].concat()).collect();
            let mut codes = Vec::new();
            Encoder::new(&symbols).pack(&text, &mut codes);
            let case = if is_folded { Case::Folded } else { Case::Sensitive };
            let anchor = if is_whole { Anchor::Whole } else { Anchor::End };
            let mut suffix = Suffix::new(bytes.as_bytes(), anchor, case).unwrap();
            suffix.prepare(&symbols);
            let mut hits = Vec::new();
            let seen = suffix.find(&symbols, &codes, &mut hits);
            prop_assert_eq!(seen.rows, names.len());
            prop_assert_eq!(seen.has_beyond_ascii, !text.is_ascii());
            let fold = |text: &str| if is_folded { text.to_ascii_lowercase() } else { text.to_owned() };
            let is_match = |name: &str| match is_whole {
                true => fold(name) == fold(&bytes),
                false => fold(name).ends_with(&fold(&bytes)),
            };
            let expected: Vec<usize> = (0..names.len()).filter(|row| is_match(&names[*row])).collect();
            prop_assert_eq!(hits.iter().map(|hit| hit.row).collect::<Vec<_>>(), expected);
            let mut name = Vec::new();
            for hit in hits {
                name_of(&symbols, &codes, hit.last, &mut name);
                prop_assert_eq!(&name[..], names[hit.row].as_bytes());
            }
        }
    }
}
