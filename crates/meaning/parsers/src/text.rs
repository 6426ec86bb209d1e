//! Plain text: decodes any encoding that browsers know.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};
use trawl_hooks::Value;
use trawl_hooks::found::Findings;

use crate::input::{Input, unreadable};

/// Bytes from which an encoding is guessed, if there is no byte order mark and it is not UTF-8.
const GUESS_BYTES: usize = 64 << 10;

pub(crate) fn run(input: &Input, findings: &mut Findings) {
    if let Some(text) = read(input, findings) {
        findings.text(&text);
    }
}

/// Reads as much as is wanted as text, decodes it, and notes its encoding and lines.
pub(crate) fn read(input: &Input, findings: &mut Findings) -> Option<String> {
    let (bytes, is_all) = match input.beginning(input.limits.text_bytes as u64) {
        Ok(read) => read,
        Err(error) => {
            unreadable(&error, findings);
            return None;
        }
    };
    let (name, text) = decode(&bytes, is_all);
    findings.attribute_text("encoding", name);
    if is_all {
        let lines = text.bytes().filter(|byte| *byte == b'\n').count();
        let unfinished = !text.is_empty() && !text.ends_with('\n');
        let lines = lines + usize::from(unfinished);
        findings.attribute(
            "lines",
            Value::Integer(i64::try_from(lines).unwrap_or(i64::MAX)),
        );
    } else {
        findings.exceeded("text");
    }
    Some(text.into_owned())
}

/// Decodes bytes, and returns the encoding's name, too. `is_all` is false if they may end within a
/// character.
pub(crate) fn decode(bytes: &[u8], is_all: bool) -> (&'static str, Cow<'_, str>) {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        let (text, _) = encoding.decode_without_bom_handling(&bytes[mark..]);
        return (encoding.name(), text);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => return ("ASCII", Cow::Borrowed(text)),
        Ok(text) => return (UTF_8.name(), Cow::Borrowed(text)),
        Err(error) if !is_all && error.error_len().is_none() => {
            let whole = &bytes[..error.valid_up_to()];
            return (UTF_8.name(), String::from_utf8_lossy(whole));
        }
        Err(_) => {}
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&bytes[..bytes.len().min(GUESS_BYTES)], true);
    let encoding = detector.guess(None, Utf8Detection::Allow);
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    (encoding.name(), text)
}

#[cfg(test)]
mod tests {
    use super::decode;

    /// Python's codecs made the bytes: `"…".encode(NAME)`.
    #[test]
    fn encodings_are_recognised() {
        let russian = b"\xcf\xf0\xe8\xe2\xe5\xf2, \xea\xe0\xea \xf2\xe2\xee\xe8 \xe4\xe5\xeb\xe0?";
        for (bytes, name, text) in [
            (&b"plain"[..], "ASCII", "plain"),
            ("Grüße".as_bytes(), "UTF-8", "Grüße"),
            (b"\xef\xbb\xbfa", "UTF-8", "a"),
            (b"\xff\xfeG\0r\0\xfc\0", "UTF-16LE", "Grü"),
            (b"\xfe\xff\0G\0r\0\xfc", "UTF-16BE", "Grü"),
            (
                b"Sch\xf6ne Gr\xfc\xdfe aus M\xfcnchen",
                "windows-1252",
                "Schöne Grüße aus München",
            ),
            (russian, "windows-1251", "Привет, как твои дела?"),
        ] {
            let (found, decoded) = decode(bytes, true);
            assert_eq!((found, decoded.as_ref()), (name, text));
        }
    }

    #[test]
    fn a_character_cut_off_at_the_limit_does_not_change_the_encoding() {
        let bytes = &"Grüße".as_bytes()[..3];
        assert_eq!(decode(bytes, false), ("UTF-8", "Gr".into()));
        assert_ne!(decode(bytes, true).0, "UTF-8");
    }
}
