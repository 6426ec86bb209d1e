//! Comma-separated values as in RFC 4180, with newlines as line ends: a field is quoted where it
//! holds a comma, a quote or a line break. `docs/json.md` describes the columns.
//!
//! Everything is UTF-8. Bytes that are not valid UTF-8 are escaped as in JSON, and a second field
//! next to the path holds them in hexadecimal. With `--spreadsheet` no text begins like a formula.

use std::borrow::Cow;

use trawl_model::Timestamp;
use trawl_text::json::{hex, rfc3339};

/// How texts are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cells {
    /// Unchanged.
    #[default]
    AsTheyAre,
    /// So that no spreadsheet takes them for formulas.
    Protected,
}

/// A line under construction.
#[derive(Clone, Debug, Default)]
pub struct Line {
    cells: Cells,
    bytes: Vec<u8>,
    fields: usize,
}

impl Line {
    /// A line without fields.
    pub fn new(cells: Cells) -> Line {
        Line {
            cells,
            ..Line::default()
        }
    }

    /// Adds a field with text.
    #[must_use]
    pub fn field(self, value: impl AsRef<[u8]>) -> Line {
        let text = trawl_model::escape::escape(value.as_ref());
        match self.cells {
            Cells::Protected => self.push(protected(&text).as_bytes()),
            Cells::AsTheyAre => self.push(text.as_bytes()),
        }
    }

    /// Adds two fields: a byte string as text, and its bytes in hexadecimal if they are not valid
    /// UTF-8.
    #[must_use]
    pub fn path(self, value: impl AsRef<[u8]>) -> Line {
        let value = value.as_ref();
        let line = self.field(value);
        match std::str::from_utf8(value) {
            Ok(_) => line.field(""),
            Err(_) => line.field(hex(value)),
        }
    }

    /// Adds a field with a time; the field is empty if there is no time.
    #[must_use]
    pub fn time(self, time: Option<Timestamp>) -> Line {
        self.field(time.map(rfc3339).unwrap_or_default())
    }

    fn push(mut self, value: &[u8]) -> Line {
        if self.fields > 0 {
            self.bytes.push(b',');
        }
        self.fields += 1;
        if !value
            .iter()
            .any(|b| matches!(b, b',' | b'"' | b'\n' | b'\r'))
        {
            self.bytes.extend_from_slice(value);
            return self;
        }
        self.bytes.push(b'"');
        for byte in value {
            if *byte == b'"' {
                self.bytes.push(b'"');
            }
            self.bytes.push(*byte);
        }
        self.bytes.push(b'"');
        self
    }

    /// Adds a field with a number or anything else that prints.
    #[must_use]
    pub fn value(self, value: impl std::fmt::Display) -> Line {
        self.push(value.to_string().as_bytes())
    }

    /// Returns the line with its line end.
    pub fn close(mut self) -> Vec<u8> {
        self.bytes.push(b'\n');
        self.bytes
    }
}

/// Returns the text, with an apostrophe before it if a spreadsheet would take it for a formula.
///
/// Source: <https://owasp.org/www-community/attacks/CSV_Injection>
pub fn protected(text: &str) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_a_formula_gets_an_apostrophe() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"] {
            assert_eq!(protected(text), format!("'{text}"));
        }
        for text in ["", "/=1", "a-b", "'=1"] {
            assert_eq!(protected(text), text);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_in_hex_beside_it() {
        let line = Line::new(Cells::AsTheyAre).path(b"a\xff").path("b").close();
        assert_eq!(line, b"a\\xff,61ff,b,\n");
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let line = Line::new(Cells::AsTheyAre)
            .field("plain")
            .field("a,b")
            .field("say \"x\"")
            .field(b"two\nlines")
            .field("")
            .value(7)
            .close();
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",,7\n"
        );
    }
}
