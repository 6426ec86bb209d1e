//! Reversible UTF-8 encoding of byte strings, for columns that other engines
//! read.
//!
//! A string that is valid UTF-8 is stored unchanged. In any other string, each
//! byte that is not part of a valid sequence becomes `\xHH` (lower-case hex)
//! and each backslash becomes `\\`. Whether a value was escaped is stored
//! separately (`name_raw` is set only then), so the encoding is unambiguous.

use std::borrow::Cow;

/// Returns the text for `bytes`; borrowed if no escaping is needed.
pub fn escape(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '\\' {
                out.push('\\');
            }
            out.push(c);
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Decodes text that [`escape`] had to escape; returns `None` if an escape
    /// sequence in `text` is invalid.
    fn unescape(text: &str) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((&byte, tail)) = rest.split_first() {
            rest = tail;
            if byte != b'\\' {
                out.push(byte);
                continue;
            }
            let (&kind, tail) = rest.split_first()?;
            rest = tail;
            match kind {
                b'\\' => out.push(b'\\'),
                b'x' => {
                    let hex = std::str::from_utf8(rest.get(..2)?).ok()?;
                    out.push(u8::from_str_radix(hex, 16).ok()?);
                    rest = &rest[2..];
                }
                _ => return None,
            }
        }
        Some(out)
    }

    proptest! {
        #[test]
        fn escaping_is_reversible(bytes: Vec<u8>) {
            match escape(&bytes) {
                Cow::Borrowed(text) => prop_assert_eq!(text.as_bytes(), &bytes[..]),
                Cow::Owned(text) => prop_assert_eq!(unescape(&text), Some(bytes)),
            }
        }

        #[test]
        fn unescaping_never_panics(text: String) {
            let _ = unescape(&text);
        }
    }

    #[test]
    fn only_invalid_bytes_are_escaped() {
        assert_eq!(escape(b"a\\b"), "a\\b");
        assert_eq!(escape("é\\".as_bytes()), "é\\");
        assert_eq!(escape(b"\xff\\\xc3\xa9"), "\\xff\\\\é");
    }
}
