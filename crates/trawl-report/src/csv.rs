//! Comma-separated values as in RFC 4180, with newlines as line ends: a field is quoted where it
//! holds a comma, a quote or a line break. `docs/json.md` describes the columns.
//!
//! Everything is UTF-8. Bytes that are not valid UTF-8 are escaped as in JSON, and a second field
//! next to the path holds them in hexadecimal. With `--spreadsheet` no text begins like a formula.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

use trawl_model::Timestamp;
use trawl_model::escape::escape;
use trawl_text::json::{hex, rfc3339};

use crate::row::{Nest, Renderer};
use crate::schema::{Columns, Field};
use crate::value::Value;

/// How texts are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cells {
    /// Unchanged.
    #[default]
    AsTheyAre,
    /// So that no spreadsheet takes them for formulas.
    Protected,
}

impl Cells {
    /// Returns the way that the option `--spreadsheet` chooses.
    pub fn of(is_protected: bool) -> Cells {
        match is_protected {
            true => Cells::Protected,
            false => Cells::AsTheyAre,
        }
    }
}

/// Renders rows as lines of CSV. The buffer of a line serves the next one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Csv {
    cells: Cells,
    line: Vec<u8>,
    fields: usize,
    /// Elements of the list that is open, if they do not come first.
    is_in_list: bool,
    list: String,
}

impl Csv {
    /// Returns a renderer that writes texts in this way.
    pub(crate) fn new(cells: Cells) -> Csv {
        Csv {
            cells,
            ..Csv::default()
        }
    }

    fn text(&mut self, text: &str) {
        match self.cells {
            Cells::Protected => self.push(protected(text).as_bytes()),
            Cells::AsTheyAre => self.push(text.as_bytes()),
        }
    }

    fn bytes(&mut self, value: &[u8], columns: Columns) {
        self.text(&escape(value));
        if columns == Columns::WithRaw {
            match std::str::from_utf8(value) {
                Ok(_) => self.push(b""),
                Err(_) => self.push(hex(value).as_bytes()),
            }
        }
    }

    fn number(&mut self, number: impl Display) {
        self.separate();
        let _ = write!(self.line, "{number}");
    }

    fn separate(&mut self) {
        if self.fields > 0 {
            self.line.push(b',');
        }
        self.fields += 1;
    }

    fn push(&mut self, value: &[u8]) {
        self.separate();
        let is_plain = |byte: &u8| !matches!(byte, b',' | b'"' | b'\n' | b'\r');
        if value.iter().all(is_plain) {
            return self.line.extend_from_slice(value);
        }
        self.line.push(b'"');
        for byte in value {
            if *byte == b'"' {
                self.line.push(b'"');
            }
            self.line.push(*byte);
        }
        self.line.push(b'"');
    }

    /// Ends the line and returns it with its line end.
    pub(crate) fn close_row(mut self) -> Vec<u8> {
        self.line.push(b'\n');
        self.line
    }
}

impl Renderer for Csv {
    fn begin(&mut self, fields: &[Field], out: &mut dyn Write) -> io::Result<()> {
        let mut names: Vec<String> = Vec::new();
        for field in fields {
            let raw = || format!("{}_raw", field.name);
            match field.forms.csv {
                Columns::None => {}
                Columns::One => names.push(field.name.to_owned()),
                Columns::WithRaw => names.extend([field.name.to_owned(), raw()]),
            }
        }
        writeln!(out, "{}", names.join(","))
    }

    fn wants(&self, field: &Field) -> bool {
        field.forms.csv != Columns::None
    }

    fn value(&mut self, field: &Field, value: Value<'_>) {
        match value {
            Value::Null => self.absent(field),
            Value::Text(text) => self.text(text),
            Value::Letter(letter) => self.text(letter.encode_utf8(&mut [0; 4])),
            Value::Bytes(bytes) => self.bytes(bytes, field.forms.csv),
            Value::Integer(number) => self.number(number),
            Value::Rounded(number) => self.number(format_args!("{number:.0}")),
            Value::Flag(flag) => self.number(flag),
            Value::Time(time) => self.text(&rfc3339(time)),
        }
    }

    fn absent(&mut self, field: &Field) {
        self.push(b"");
        if field.forms.csv == Columns::WithRaw {
            self.push(b"");
        }
    }

    fn open(&mut self, _: Option<&Field>, _: Nest) {
        self.list.clear();
        self.is_in_list = false;
    }

    fn element(&mut self, text: &str) {
        if std::mem::replace(&mut self.is_in_list, true) {
            self.list.push('+');
        }
        self.list.push_str(text);
    }

    fn member(&mut self, _: &str, _: &str) {}

    fn close(&mut self, nest: Nest) {
        if nest == Nest::List {
            let list = std::mem::take(&mut self.list);
            self.text(&list);
            self.list = list;
        }
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.line.push(b'\n');
        let done = out.write_all(&self.line);
        self.line.clear();
        self.fields = 0;
        done
    }
}

/// A line under construction.
#[derive(Clone, Debug, Default)]
pub struct Line {
    csv: Csv,
}

impl Line {
    /// A line without fields.
    pub fn new(cells: Cells) -> Line {
        Line {
            csv: Csv::new(cells),
        }
    }

    /// Adds a field with text.
    #[must_use]
    pub fn field(mut self, value: impl AsRef<[u8]>) -> Line {
        self.csv.bytes(value.as_ref(), Columns::One);
        self
    }

    /// Adds two fields: a byte string as text, and its bytes in hexadecimal if they are not valid
    /// UTF-8.
    #[must_use]
    pub fn path(mut self, value: impl AsRef<[u8]>) -> Line {
        self.csv.bytes(value.as_ref(), Columns::WithRaw);
        self
    }

    /// Adds a field with a time; the field is empty if there is no time.
    #[must_use]
    pub fn time(self, time: Option<Timestamp>) -> Line {
        self.field(time.map(rfc3339).unwrap_or_default())
    }

    /// Adds a field with a number or anything else that prints.
    #[must_use]
    pub fn value(mut self, value: impl Display) -> Line {
        self.csv.push(value.to_string().as_bytes());
        self
    }

    /// Returns the line with its line end.
    pub fn close(self) -> Vec<u8> {
        self.csv.close_row()
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
