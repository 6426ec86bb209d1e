//! Names and values as getfattr(1) of attr 2.5 writes them, so that `setfattr --restore` can read
//! them back.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Encoding of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// In quotation marks.
    Text,
    /// Hexadecimal, after `0x`.
    Hex,
    /// Base64, after `0s`.
    Base64,
}

/// Encodes a path as getfacl(1) does, which doubles backslashes.
pub fn path_of_list(bytes: &[u8]) -> Vec<u8> {
    let pieces = bytes.split(|byte| *byte == b'\\');
    let quoted: Vec<_> = pieces.map(|piece| quoted(piece, b"\n\r")).collect();
    quoted.join(&b"\\\\"[..])
}

/// Encodes a path; characters that would break its line become octal, as in `\012`.
pub fn path(bytes: &[u8]) -> Cow<'_, [u8]> {
    quoted(bytes, b"\n\r\\")
}

/// Encodes an attribute's name, which ends at `=`.
pub fn name(bytes: &[u8]) -> Cow<'_, [u8]> {
    quoted(bytes, b"=\n\r\\")
}

fn quoted<'a>(bytes: &'a [u8], special: &[u8]) -> Cow<'a, [u8]> {
    if !bytes.iter().any(|byte| special.contains(byte)) {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len() + 8);
    for byte in bytes {
        match special.contains(byte) {
            true => out.extend(octal(*byte)),
            false => out.push(*byte),
        }
    }
    Cow::Owned(out)
}

fn octal(byte: u8) -> [u8; 4] {
    let digit = |shift: u32| b'0' + (byte >> shift & 7);
    [b'\\', digit(6), digit(3), digit(0)]
}

/// Encodes a value. Without a chosen encoding it is text if it is mostly printable, else base64.
pub fn value(bytes: &[u8], wish: Option<Encoding>) -> Vec<u8> {
    let fitting = || match is_mostly_printable(bytes) {
        true => Encoding::Text,
        false => Encoding::Base64,
    };
    match wish.unwrap_or_else(fitting) {
        Encoding::Text => text(bytes),
        Encoding::Hex => {
            let mut out = String::from("0x");
            for byte in bytes {
                let _ = write!(out, "{byte:02x}");
            }
            out.into_bytes()
        }
        Encoding::Base64 => base64(bytes),
    }
}

/// Returns true if at most an eighth of the bytes are not printable, apart from a NUL at the end.
fn is_mostly_printable(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    let odd = bytes.iter().filter(|byte| !matches!(byte, b' '..=b'~'));
    bytes.len() >= odd.count() * 8
}

fn text(bytes: &[u8]) -> Vec<u8> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    let mut out = Vec::with_capacity(bytes.len() + 2);
    out.push(b'"');
    for byte in bytes {
        match byte {
            0 | b'\n' | b'\r' => out.extend(octal(*byte)),
            b'\\' | b'"' => out.extend([b'\\', *byte]),
            _ => out.push(*byte),
        }
    }
    out.push(b'"');
    out
}

/// Encodes bytes in base64 (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = b"0s".to_vec();
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4u32 {
            out.push(match place as usize <= group.len() {
                true => LETTERS[(bits >> (18 - 6 * place) & 63) as usize],
                false => b'=',
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of getfattr 2.5.1.
    #[test]
    fn values_are_written_as_getfattr_does() {
        let cases: &[(&[u8], Option<Encoding>, &str)] = &[
            (b"hello", None, "\"hello\""),
            (b"", None, "\"\""),
            (b"", Some(Encoding::Hex), "0x"),
            (b"", Some(Encoding::Base64), "0s"),
            (b"a\nb\\c\"d\x01\xff", None, "0sYQpiXGMiZAH/"),
            (
                b"a\nb\\c\"d\x01",
                Some(Encoding::Text),
                "\"a\\012b\\\\c\\\"d\x01\"",
            ),
            (b"1234567\x01", None, "\"1234567\x01\""),
            (b"123456\x01", None, "0sMTIzNDU2AQ=="),
            (b"ab\0c\0", None, "0sYWIAYwA="),
            (b"abcdefghijk\0", None, "\"abcdefghijk\""),
            (b"hi", Some(Encoding::Hex), "0x6869"),
        ];
        for (bytes, wish, expected) in cases {
            let written = value(bytes, *wish);
            assert_eq!(String::from_utf8_lossy(&written), *expected, "{bytes:?}");
        }
        assert_eq!(&*path(b"w=\n\\x"), b"w=\\012\\134x");
        assert_eq!(path_of_list(b"w=\n\\x\\"), b"w=\\012\\\\x\\\\");
        assert_eq!(&*name(b"user.n=\n\\q"), b"user.n\\075\\012\\134q");
    }
}
