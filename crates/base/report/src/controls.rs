//! Control characters in output: no name or value can send commands to a terminal.

use std::borrow::Cow;

/// Treatment of control characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controls {
    /// Kept: the output is a file or a pipe, or a terminal that gets control characters from us.
    Kept,
    /// Replaced by question marks, so that no name or value can send commands to the terminal.
    Hidden,
}

impl Controls {
    /// Returns the treatment for a terminal or another output.
    pub fn of(is_terminal: bool) -> Controls {
        match is_terminal {
            true => Controls::Hidden,
            false => Controls::Kept,
        }
    }

    /// Returns the bytes as the output may get them.
    pub fn show(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | 0);
        match self == Controls::Kept || bytes.iter().all(is_plain) {
            true => Cow::Borrowed(bytes),
            false => Cow::Owned(without_controls(bytes)),
        }
    }
}

/// Returns the bytes with a question mark for each control character except line ends, tabs and
/// NULs, which end records. Control characters are those of ASCII and those of C1 (ISO 6429), the
/// latter both as characters and as bytes.
fn without_controls(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character.is_control() && !matches!(character, '\n' | '\t' | '\0') {
                true => out.push(b'?'),
                false => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        let of_c1 = |byte: &u8| matches!(byte, 0x80..=0x9f);
        out.extend(
            chunk
                .invalid()
                .iter()
                .map(|byte| if of_c1(byte) { b'?' } else { *byte }),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_speaks_to_a_terminal() {
        for (bytes, shown) in [
            (&b"a\x1b[31mb\n\t\0"[..], &b"a?[31mb\n\t\0"[..]),
            ("é\u{9b}31m".as_bytes(), "é?31m".as_bytes()),
            (b"\x9b31m\x7f\xff\r", b"?31m?\xff?"),
        ] {
            assert_eq!(&*Controls::Hidden.show(bytes), shown);
            assert_eq!(&*Controls::Kept.show(bytes), bytes);
        }
    }
}
