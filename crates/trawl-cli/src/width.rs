//! Number of terminal columns that text takes, approximately as in wcwidth(3).
//!
//! East Asian scripts and most emoji are two columns wide; combining marks and control characters
//! take none; each byte that is not valid UTF-8 takes one. The tables hold the large blocks, not
//! every exception.

use trawl_text::locale::Locale;

/// Returns the number of columns that `text` takes in this locale.
pub(crate) fn width_in(text: &[u8], locale: Locale) -> usize {
    match locale {
        Locale::Utf8 => width(text),
        Locale::Bytes => text.iter().filter(|b| (b' '..0x7f).contains(*b)).count(),
    }
}

/// Returns the number of columns that `text` takes in UTF-8.
pub(crate) fn width(text: &[u8]) -> usize {
    if text.iter().all(|b| (b' '..0x7f).contains(b)) {
        return text.len();
    }
    let chunks = text.utf8_chunks();
    chunks
        .map(|chunk| chunk.valid().chars().map(of_char).sum::<usize>() + chunk.invalid().len())
        .sum()
}

fn of_char(c: char) -> usize {
    let code = u32::from(c);
    if c.is_control() || lies_in(&NONE, code) {
        0
    } else if lies_in(&WIDE, code) {
        2
    } else {
        1
    }
}

fn lies_in(ranges: &[(u32, u32)], code: u32) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= code);
    after
        .checked_sub(1)
        .and_then(|at| ranges.get(at))
        .is_some_and(|(_, last)| code <= *last)
}

/// Combining marks, joiners and variation selectors, which take no column.
const NONE: [(u32, u32); 10] = [
    (0x0300, 0x036f),
    (0x0483, 0x0489),
    (0x0591, 0x05bd),
    (0x0610, 0x061a),
    (0x064b, 0x065f),
    (0x200b, 0x200f),
    (0x20d0, 0x20ff),
    (0xfe00, 0xfe0f),
    (0xfe20, 0xfe2f),
    (0xe0100, 0xe01ef),
];

/// East Asian wide and fullwidth characters and emoji, which take two columns.
const WIDE: [(u32, u32); 10] = [
    (0x1100, 0x115f),
    (0x2e80, 0x303e),
    (0x3041, 0x33ff),
    (0x3400, 0x4dbf),
    (0x4e00, 0xa4cf),
    (0xac00, 0xd7a3),
    (0xf900, 0xfaff),
    (0xff01, 0xff60),
    (0x1f300, 0x1f64f),
    (0x1f900, 0x3fffd),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_a_terminal() {
        for (text, columns) in [
            (&b"plain"[..], 5),
            ("caf\u{e9}".as_bytes(), 4),
            ("cafe\u{301}".as_bytes(), 4),
            ("\u{6f22}\u{5b57}".as_bytes(), 4),
            (b"\xff\xfe", 2),
            (b"", 0),
        ] {
            assert_eq!(width(text), columns, "{text:?}");
        }
    }

    #[test]
    fn tables_are_sorted() {
        for table in [&NONE[..], &WIDE[..]] {
            assert!(table.windows(2).all(|pair| pair[0].1 < pair[1].0));
            assert!(table.iter().all(|(first, last)| first <= last));
        }
    }
}
