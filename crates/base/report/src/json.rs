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
