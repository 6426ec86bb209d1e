//! Number of terminal columns that text takes, as in wcwidth(3).
//!
//! East Asian scripts and most emoji are two columns wide; combining marks and control characters
//! take none; each byte that is not valid UTF-8 takes one. Characters count one by one, as in ls:
//! an emoji joined from several is as wide as its parts.

use trawl_text::locale::Locale;
use unicode_width::UnicodeWidthChar;

/// Returns the number of columns that `text` takes in this locale.
pub fn width_in(text: &[u8], locale: Locale) -> usize {
    match locale {
        Locale::Utf8 => width(text),
        Locale::Bytes => text.iter().filter(|b| (b' '..0x7f).contains(*b)).count(),
    }
}

/// Returns the number of columns that `text` takes in UTF-8.
pub fn width(text: &[u8]) -> usize {
    if text.iter().all(|b| (b' '..0x7f).contains(b)) {
        return text.len();
    }
    let chunks = text.utf8_chunks();
    chunks
        .map(|chunk| chunk.valid().chars().map(of_char).sum::<usize>() + chunk.invalid().len())
        .sum()
}

fn of_char(c: char) -> usize {
    match c {
        // Terminals and wcwidth(3) show it, although Unicode lets text leave it out.
        SOFT_HYPHEN => 1,
        c => UnicodeWidthChar::width(c).unwrap_or(0),
    }
}

const SOFT_HYPHEN: char = '\u{ad}';

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
            ("\u{1f600}\u{231a}".as_bytes(), 4),
            ("so\u{ad}ft\u{200b}\u{1b}".as_bytes(), 5),
            (b"\xff\xfe", 2),
            (b"", 0),
        ] {
            assert_eq!(width(text), columns, "{text:?}");
        }
    }
}
