//! Comma-separated values as in RFC 4180, with newlines as line ends: a field is quoted where it
//! holds a comma, a quote or a line break. `docs/json.md` describes the columns.
//!
//! Everything is UTF-8. Bytes that are not valid UTF-8 are escaped as in JSON, and a second field
//! next to the path holds them in hexadecimal. With `--spreadsheet` no text begins like a formula.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

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

/// How a missing value differs from an empty text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nulls {
    /// Not at all: both are empty.
    #[default]
    Empty,
    /// An empty text is quoted.
    Distinct,
}

/// Renders rows as lines of CSV. The buffer of a line serves the next one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Csv {
    cells: Cells,
    nulls: Nulls,
    line: Vec<u8>,
    fields: usize,
    /// Whether the list that is open has elements.
    is_in_list: bool,
    list: String,
}

impl Csv {
    /// Returns a renderer that writes texts in this way.
    pub(crate) fn new(cells: Cells, nulls: Nulls) -> Csv {
        Csv {
            cells,
            nulls,
            ..Csv::default()
        }
    }

    fn text(&mut self, text: &str) {
        if self.nulls == Nulls::Distinct && text.is_empty() {
            self.separate();
            return self.line.extend_from_slice(b"\"\"");
        }
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
        for field in fields {
            if field.forms.csv != Columns::None {
                self.text(field.name);
            }
            if field.forms.csv == Columns::WithRaw {
                self.push(format!("{}_raw", field.name).as_bytes());
            }
        }
        self.end(out)
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
            Value::Written(written) => self.push(written.as_bytes()),
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

    fn element(&mut self, value: Value<'_>) {
        if std::mem::replace(&mut self.is_in_list, true) {
            self.list.push('+');
        }
        match value {
            Value::Text(text) => self.list.push_str(text),
            Value::Integer(number) => self.list.push_str(&number.to_string()),
            _ => {}
        }
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

    const FIELDS: &[Field] = &[
        Field::bytes("path", "a path"),
        Field::text("text", "a text"),
        Field::integer("number", "a number"),
        Field::texts("list", "texts"),
        Field::object("inner", &[], "only in JSON"),
        Field::bytes("last", "left out"),
    ];

    fn line(cells: Cells, path: &[u8], text: &str) -> String {
        let line = crate::csv_line(FIELDS, cells, |row| {
            row.put(&FIELDS[0], path)
                .put(&FIELDS[1], text)
                .put(&FIELDS[2], -7i64)
                .texts(&FIELDS[3], ["a", "b"])
                .object(&FIELDS[4], |_| {});
        });
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn lines_have_the_columns_of_the_header() {
        let header = crate::csv_header(FIELDS);
        assert_eq!(header, "path,path_raw,text,number,list,last,last_raw\n");
        let plain = line(Cells::AsTheyAre, b"a\xff", "=1");
        assert_eq!(plain, "a\\xff,61ff,=1,-7,a+b,,\n");
        let protected = line(Cells::Protected, b"+x", "=1");
        assert_eq!(protected, "'+x,,'=1,-7,a+b,,\n");
    }

    #[test]
    fn texts_are_quoted_where_they_must_be() {
        for (text, cell) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("", ""),
        ] {
            let line = line(Cells::AsTheyAre, b"p", text);
            assert_eq!(line, format!("p,,{cell},-7,a+b,,\n"), "{text}");
        }
    }
}
