//! Rows as JSON objects, one per line.

use std::io::{self, Write};

use trawl_model::escape::escape;
use trawl_text::json::{hex, push_integer, push_rfc3339, push_string};

use crate::row::{Nest, Renderer};
use crate::schema::Field;
use crate::value::Value;

/// Renders rows as JSON lines. The buffer of a row serves the next one.
#[derive(Debug, Default)]
pub(crate) struct Json {
    text: String,
}

impl Json {
    /// Separates what follows from what is before it.
    fn separate(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(['{', '[']) {
            self.text.push(',');
        }
    }

    fn key(&mut self, key: &str) -> &mut String {
        if self.text.is_empty() {
            self.text.push('{');
        }
        self.separate();
        push_string(&mut self.text, key);
        self.text.push(':');
        &mut self.text
    }

    fn bytes(&mut self, key: &str, value: &[u8]) {
        let text = escape(value);
        push_string(self.key(key), &text);
        if text.as_bytes() != value {
            let digits = hex(value);
            push_string(self.key(&format!("{key}_raw")), &digits);
        }
    }

    /// Ends the row and returns its text, without a line end.
    pub(crate) fn close_row(&mut self) -> &mut String {
        if self.text.is_empty() {
            self.text.push('{');
        }
        self.text.push('}');
        &mut self.text
    }
}

/// Appends a value; bytes as text.
fn push_value(text: &mut String, value: Value<'_>) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Text(value) => push_string(text, value),
        Value::Letter(letter) => push_string(text, letter.encode_utf8(&mut [0; 4])),
        Value::Bytes(bytes) => push_string(text, &escape(bytes)),
        Value::Written(written) => text.push_str(written),
        Value::Integer(number) => push_integer(text, number),
        Value::Rounded(number) => push_integer(text, number.round() as i128),
        Value::Flag(true) => text.push_str("true"),
        Value::Flag(false) => text.push_str("false"),
        Value::Time(time) => {
            text.push('"');
            push_rfc3339(text, time);
            text.push('"');
        }
    }
}

impl Renderer for Json {
    fn begin(&mut self, _: &[Field], _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn wants(&self, field: &Field) -> bool {
        field.forms.json
    }

    fn value(&mut self, field: &Field, value: Value<'_>) {
        let key = field.name;
        match value {
            Value::Bytes(bytes) => self.bytes(key, bytes),
            value => push_value(self.key(key), value),
        }
    }

    fn absent(&mut self, _: &Field) {}

    fn open(&mut self, field: Option<&Field>, nest: Nest) {
        match field {
            Some(field) => {
                self.key(field.name);
            }
            None => self.separate(),
        }
        self.text.push(match nest {
            Nest::Object => '{',
            Nest::List => '[',
        });
    }

    fn element(&mut self, value: Value<'_>) {
        self.separate();
        push_value(&mut self.text, value);
    }

    fn member(&mut self, key: &str, text: &str) {
        push_string(self.key(key), text);
    }

    fn close(&mut self, nest: Nest) {
        self.text.push(match nest {
            Nest::Object => '}',
            Nest::List => ']',
        });
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.close_row().push('\n');
        let done = out.write_all(self.text.as_bytes());
        self.text.clear();
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_object;

    #[test]
    fn objects_are_read_back_by_another_parser() {
        const FIELDS: &[Field] = &[
            Field::bytes("path", "a path"),
            Field::bytes("name", "a name"),
            Field::integer("size", "a size"),
            Field::flag("dir", "a flag"),
            Field::text("none", "nothing"),
            Field::object("inner", &[], "an object"),
            Field::integer("n", "a number"),
        ];
        let line = json_object(FIELDS, |row| {
            row.put(&FIELDS[0], &b"/a \"b\"\\\n\x1b[31m\xc3\xa9"[..])
                .put(&FIELDS[1], &b"\xff"[..])
                .put(&FIELDS[2], u64::MAX)
                .put(&FIELDS[3], true)
                .put(&FIELDS[4], Value::Null)
                .object(&FIELDS[5], |_| {})
                .put(&FIELDS[6], -1i64);
        });
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["path"], "/a \"b\"\\\n\u{1b}[31mé");
        assert_eq!(value["name"], "\\xff");
        assert_eq!(value["name_raw"], "ff");
        assert_eq!(value.get("path_raw"), None);
        assert_eq!(value["size"], u64::MAX.to_string());
        assert_eq!(value["inner"], serde_json::json!({}));
        assert_eq!(value["n"], -1);
        assert!(!line.contains(|c: char| c.is_control()), "{line}");
    }
}
