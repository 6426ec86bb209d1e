//! Makes a document from the bytes of a file, without looking at its format.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use crate::document::{Document, Gap, Gaps, Value};

/// Bytes at the beginning of a file in which a NUL byte means that it is no text.
const HEAD_BYTES: usize = 64 << 10;

/// Returns the document of a file with this content. `is_cut` says that the file goes on.
///
/// Text is decoded by its byte order mark, as UTF-8, or else as windows-1252. Other files have no
/// words.
pub fn plain(content: Vec<u8>, is_cut: bool) -> Document {
    let Some((text, encoding)) = decode(content) else {
        return Document::default();
    };
    let mut attributes = vec![("encoding".into(), Value::Text(encoding.name().into()))];
    let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let open_line = usize::from(!text.is_empty() && !text.ends_with('\n'));
    if !is_cut {
        let lines = Value::Integer((lines + open_line) as i64);
        attributes.push(("lines".into(), lines));
    }
    Document {
        text,
        attributes,
        gaps: match is_cut {
            true => Gaps::both(Gap::Limit),
            false => Gaps::default(),
        },
        ..Document::default()
    }
}

/// Returns the text of these bytes, and its encoding; `None` if they are not text.
fn decode(mut content: Vec<u8>) -> Option<(String, &'static Encoding)> {
    if let Some((encoding, mark)) = Encoding::for_bom(&content) {
        let (text, _) = encoding.decode_without_bom_handling(&content[mark..]);
        return Some((text.into_owned(), encoding));
    }
    let head = &content[..content.len().min(HEAD_BYTES)];
    if memchr::memchr(0, head).is_some() {
        return None;
    }
    // A character at the end may be cut in two.
    if let Err(error) = std::str::from_utf8(&content)
        && error.error_len().is_none()
    {
        content.truncate(error.valid_up_to());
    }
    match String::from_utf8(content) {
        Ok(text) => Some((text, UTF_8)),
        Err(error) => {
            let (text, _) = WINDOWS_1252.decode_without_bom_handling(error.as_bytes());
            Some((text.into_owned(), WINDOWS_1252))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_by_mark_and_content() {
        for (content, text, encoding) in [
            (&b"plain\n"[..], "plain\n", "UTF-8"),
            ("gr\u{fc}n".as_bytes(), "gr\u{fc}n", "UTF-8"),
            (b"gr\xfcn", "gr\u{fc}n", "windows-1252"),
            (b"\xef\xbb\xbfmarked", "marked", "UTF-8"),
            (b"\xff\xfeo\0k\0", "ok", "UTF-16LE"),
            (b"\xfe\xff\0o\0k", "ok", "UTF-16BE"),
            // The first of two bytes of a character.
            (b"cut \xc3", "cut ", "UTF-8"),
        ] {
            let document = plain(content.to_vec(), false);
            assert_eq!(document.text, text);
            let expected = ("encoding".to_owned(), Value::Text(encoding.into()));
            assert_eq!(document.attributes[0], expected, "{content:?}");
        }
        assert_eq!(plain(b"\x7fELF\0\0".to_vec(), false), Document::default());
    }

    #[test]
    fn lines_are_counted_as_people_do() {
        for (content, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            let document = plain(content.into(), false);
            let expected = ("lines".to_owned(), Value::Integer(lines));
            assert_eq!(document.attributes[1], expected, "{content:?}");
        }
    }
}
