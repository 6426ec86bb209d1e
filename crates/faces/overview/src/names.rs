//! Names as people see them: invisible characters, and those that change how text is laid out,
//! become visible escapes, so that a name cannot pass for another one. The page of `trawl web` shows
//! names in the same way (`web/src/lib/text.ts`).

use unicode_general_category::{GeneralCategory, get_general_category};

/// A piece of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Visible text.
    Plain(String),
    /// An escape, and what it stands for.
    Escape(String, &'static str),
}

/// Meaning of an escaped byte.
const BYTE: &str = "byte that is not text";

/// Splits a name into visible text and escapes. In a name that is not UTF-8, other bytes are escapes
/// such as `\xff`.
pub fn pieces(name: &[u8]) -> Vec<Piece> {
    let mut pieces = Pieces::default();
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            match is_hidden(character) {
                true => pieces.escape(escape_of(character), meaning(character)),
                false => pieces.plain.push(character),
            }
        }
        for byte in chunk.invalid() {
            pieces.escape(format!("\\x{byte:02x}"), BYTE);
        }
    }
    pieces.flush();
    with_outer_spaces(pieces.found)
}

/// Returns a name as one line in which everything is visible.
pub fn visible(name: &[u8]) -> String {
    let text = |piece: Piece| match piece {
        Piece::Plain(text) | Piece::Escape(text, _) => text,
    };
    pieces(name).into_iter().map(text).collect()
}

/// Returns whether every character of a name is visible.
pub fn is_plain(name: &[u8]) -> bool {
    let is_plain = |piece: &Piece| matches!(piece, Piece::Plain(_));
    pieces(name).iter().all(is_plain)
}

#[derive(Default)]
struct Pieces {
    found: Vec<Piece>,
    plain: String,
}

impl Pieces {
    fn escape(&mut self, escape: String, meaning: &'static str) {
        self.flush();
        self.found.push(Piece::Escape(escape, meaning));
    }

    fn flush(&mut self) {
        if !self.plain.is_empty() {
            let plain = std::mem::take(&mut self.plain);
            self.found.push(Piece::Plain(plain));
        }
    }
}

/// Makes spaces at both ends of a name visible.
fn with_outer_spaces(mut found: Vec<Piece>) -> Vec<Piece> {
    let space = || Piece::Escape("␠".into(), "space");
    let mut after = 0;
    if let Some(Piece::Plain(last)) = found.last_mut() {
        let kept = last.trim_end_matches(' ').len();
        after = last.len() - kept;
        last.truncate(kept);
    }
    let mut before = 0;
    if let Some(Piece::Plain(first)) = found.first_mut() {
        let kept = first.trim_start_matches(' ');
        before = first.len() - kept.len();
        *first = kept.to_owned();
    }
    let spaces = |count| std::iter::repeat_with(space).take(count);
    let middle = found.into_iter();
    let middle = middle.filter(|piece| !matches!(piece, Piece::Plain(text) if text.is_empty()));
    spaces(before).chain(middle).chain(spaces(after)).collect()
}

/// Returns true for characters that leave no mark or change the layout of others: control, format,
/// surrogate, private and unassigned characters, separators except the space, fillers, and variation
/// selectors.
fn is_hidden(character: char) -> bool {
    use GeneralCategory as Of;
    let is_filler = matches!(
        character,
        '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{ffa0}'
            | '\u{e0100}'..='\u{e01ef}'
    );
    let category = || get_general_category(character);
    match character {
        ' '..='~' => false,
        _ => {
            is_filler
                || matches!(
                    category(),
                    Of::Control
                        | Of::Format
                        | Of::Surrogate
                        | Of::PrivateUse
                        | Of::Unassigned
                        | Of::LineSeparator
                        | Of::ParagraphSeparator
                        | Of::SpaceSeparator
                )
        }
    }
}

fn escape_of(character: char) -> String {
    match (character, u32::from(character)) {
        ('\t', _) => "\\t".into(),
        ('\n', _) => "\\n".into(),
        ('\r', _) => "\\r".into(),
        (_, code @ ..0x100) => format!("\\x{code:02x}"),
        (_, code @ ..0x10000) => format!("\\u{code:04x}"),
        (_, code) => format!("\\u{{{code:x}}}"),
    }
}

/// Returns the name of a character that is often used to deceive.
fn meaning(character: char) -> &'static str {
    match character {
        '\t' => "tab",
        '\n' => "line break",
        '\r' => "carriage return",
        '\u{1b}' => "escape character",
        '\u{a0}' => "no-break space",
        '\u{ad}' => "soft hyphen",
        '\u{61c}' => "Arabic letter mark",
        '\u{200b}' => "zero-width space",
        '\u{200c}' => "zero-width non-joiner",
        '\u{200d}' => "zero-width joiner",
        '\u{200e}' => "left-to-right mark",
        '\u{200f}' => "right-to-left mark",
        '\u{2028}' => "line separator",
        '\u{2029}' => "paragraph separator",
        '\u{202a}' => "left-to-right embedding",
        '\u{202b}' => "right-to-left embedding",
        '\u{202c}' => "end of direction change",
        '\u{202d}' => "left-to-right override",
        '\u{202e}' => "right-to-left override",
        '\u{2060}' => "word joiner",
        '\u{2066}' => "left-to-right isolate",
        '\u{2067}' => "right-to-left isolate",
        '\u{2068}' => "first-strong isolate",
        '\u{2069}' => "end of isolate",
        '\u{feff}' => "byte order mark",
        _ if character.is_control() => "control character",
        _ => "invisible character",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_as_the_page_shows_them() {
        for (name, shown) in [
            (&b"plain name.txt"[..], "plain name.txt"),
            ("Größe 漢字 שלום 😀".as_bytes(), "Größe 漢字 שלום 😀"),
            (b"a\tb\nc\rd\x1b\x7f", "a\\tb\\nc\\rd\\x1b\\x7f"),
            ("\u{85}\u{a0}\u{ad}".as_bytes(), "\\x85\\xa0\\xad"),
            ("exe\u{202e}fdp".as_bytes(), "exe\\u202efdp"),
            (
                "\u{200b}\u{feff}\u{2028}\u{3000}".as_bytes(),
                "\\u200b\\ufeff\\u2028\\u3000",
            ),
            (
                "\u{e000}\u{e0041}\u{fe0f}\u{3164}".as_bytes(),
                "\\ue000\\u{e0041}\\ufe0f\\u3164",
            ),
            (b"\xff\xc3(", "\\xff\\xc3("),
            (b" a ", "␠a␠"),
            (b"  ", "␠␠"),
            (b"", ""),
        ] {
            assert_eq!(visible(name), shown);
        }
        assert!(is_plain(b"a b") && !is_plain(b"a\nb"));
        let escape = Piece::Escape("\\u202e".into(), "right-to-left override");
        assert_eq!(pieces("\u{202e}".as_bytes()), [escape]);
    }
}
