//! Folds letters to lower case for case-insensitive lookups.
//!
//! ASCII letters become lower case. Four non-ASCII characters match an ASCII
//! letter, either by Unicode's simple case folding or by the C library's
//! towlower(3) and towupper(3); they become that letter. No other character can
//! match an ASCII needle, and case-insensitive lookups use only the ASCII bytes
//! of needles.

/// Non-ASCII characters that match an ASCII letter when case is ignored.
const SPECIAL: [(&[u8], u8); 4] = [
    ("\u{212a}".as_bytes(), b'k'),
    ("\u{17f}".as_bytes(), b's'),
    ("\u{130}".as_bytes(), b'i'),
    ("\u{131}".as_bytes(), b'i'),
];

/// True if the text contains a non-ASCII character that matches an ASCII
/// letter.
pub(crate) fn has_special(text: &[u8]) -> bool {
    !text.is_ascii() && (0..text.len()).any(|at| special_at(text, at).is_some())
}

fn special_at(text: &[u8], at: usize) -> Option<(u8, usize)> {
    if !matches!(text.get(at)?, 0xe2 | 0xc4 | 0xc5) {
        return None;
    }
    let rest = &text[at..];
    let found = SPECIAL.iter().find(|(bytes, _)| rest.starts_with(bytes));
    found.map(|(bytes, letter)| (*letter, bytes.len()))
}

/// Folds `text` into `out`, replacing its contents.
pub(crate) fn fold_into(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    if !has_special(text) {
        out.extend_from_slice(text);
        return out.make_ascii_lowercase();
    }
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match special_at(text, at) {
            Some((letter, len)) => {
                out.push(letter);
                at += len;
            }
            None => {
                out.push(byte.to_ascii_lowercase());
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_equal_to_ascii_become_it() {
        let mut out = Vec::new();
        fold_into(
            "Ma\u{212a}e \u{17f}\u{130}\u{131} \u{c9}".as_bytes(),
            &mut out,
        );
        assert_eq!(out, "make sii \u{c9}".as_bytes());
        fold_into(b"ABC\xe2\x84", &mut out);
        assert_eq!(out, b"abc\xe2\x84");
    }

    /// Checks against Unicode's own tables that the list is complete.
    #[test]
    fn no_other_character_folds_to_ascii() {
        for c in (0x80..=0x10_ffff).filter_map(char::from_u32) {
            let single = |mut cases: Box<dyn Iterator<Item = char>>| {
                cases.next().is_some_and(|c| c.is_ascii())
            };
            let lower = single(Box::new(c.to_lowercase()));
            let upper = single(Box::new(c.to_uppercase())) && c.to_uppercase().count() == 1;
            if lower || upper {
                let text = c.to_string();
                assert!(special_at(text.as_bytes(), 0).is_some(), "{c:?}");
            }
        }
    }
}
