//! JSON as this program prints it: one object a line, keys in the order in
//! which they were added, so that output can be compared as text.
//!
//! Byte strings are text as [`trawl_model::escape`] makes it; where that is
//! not the string itself, a second key with `_raw` appended holds the bytes
//! in lower-case hex.

use std::fmt::{Display, Write as _};

use trawl_model::Timestamp;

/// An object under construction.
#[derive(Clone, Debug, Default)]
pub struct Object {
    text: String,
}

impl Object {
    /// An object without members.
    pub fn new() -> Object {
        Object::default()
    }

    fn key(&mut self, key: &str) -> &mut String {
        self.text.push(if self.text.is_empty() { '{' } else { ',' });
        push_string(&mut self.text, key);
        self.text.push(':');
        &mut self.text
    }

    /// Adds a number.
    #[must_use]
    pub fn number(mut self, key: &str, value: impl Display + Number) -> Object {
        let _ = write!(self.key(key), "{value}");
        self
    }

    /// Adds a text.
    #[must_use]
    pub fn text(mut self, key: &str, value: &str) -> Object {
        push_string(self.key(key), value);
        self
    }

    /// Adds a truth value.
    #[must_use]
    pub fn flag(mut self, key: &str, value: bool) -> Object {
        self.key(key).push_str(if value { "true" } else { "false" });
        self
    }

    /// Adds a byte string, with its `_raw` beside it where it needs one.
    #[must_use]
    pub fn bytes(mut self, key: &str, value: &[u8]) -> Object {
        let text = trawl_model::escape::escape(value);
        push_string(self.key(key), &text);
        if text.as_bytes() == value {
            return self;
        }
        self.text(&format!("{key}_raw"), &hex(value))
    }

    /// Adds `null`.
    #[must_use]
    pub fn null(mut self, key: &str) -> Object {
        self.key(key).push_str("null");
        self
    }

    /// Adds a point in time: seconds since 1970 with nine decimals, a number
    /// that text tools keep exactly.
    #[must_use]
    pub fn time(mut self, key: &str, value: Option<Timestamp>) -> Object {
        match value {
            Some(time) => self.key(key).push_str(&decimal(time)),
            None => return self.null(key),
        }
        self
    }

    /// Adds an object.
    #[must_use]
    pub fn object(mut self, key: &str, value: Object) -> Object {
        let value = value.close();
        self.key(key).push_str(&value);
        self
    }

    /// Adds an array of values that are JSON already.
    #[must_use]
    pub fn array(mut self, key: &str, values: impl Iterator<Item = String>) -> Object {
        let values: Vec<String> = values.collect();
        let _ = write!(self.key(key), "[{}]", values.join(","));
        self
    }

    /// The object's text, without a newline.
    pub fn close(mut self) -> String {
        if self.text.is_empty() {
            self.text.push('{');
        }
        self.text.push('}');
        self.text
    }
}

/// Types whose `Display` is a JSON number.
pub trait Number {}
impl Number for u8 {}
impl Number for i32 {}
impl Number for u32 {}
impl Number for u64 {}
impl Number for i64 {}
impl Number for usize {}
impl Number for u128 {}

/// Seconds with nine decimals. Rounded towards minus infinity as stored, so
/// that -0.25 s is kept as -1 s + 750,000,000 ns and printed as -0.25.
pub fn decimal(time: Timestamp) -> String {
    let nanos = time.as_nanos();
    let sign = if nanos < 0 { "-" } else { "" };
    let (secs, rest) = (
        nanos.unsigned_abs() / 1_000_000_000,
        nanos.unsigned_abs() % 1_000_000_000,
    );
    format!("{sign}{secs}.{rest:09}")
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
}

/// RFC 8259, section 7; everything below U+0020 and U+007F is escaped, so
/// that the output is harmless on a terminal too.
fn push_string(out: &mut String, value: &str) {
    out.push('"');
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_read_back_by_another_parser() {
        let line = Object::new()
            .bytes("path", b"/a \"b\"\\\n\x1b[31m\xc3\xa9")
            .bytes("name", b"\xff")
            .number("size", u64::MAX)
            .flag("dir", true)
            .null("none")
            .object("inner", Object::new())
            .number("n", -1i64)
            .close();
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["path"], "/a \"b\"\\\n\u{1b}[31mé");
        assert_eq!(value["name"], "\\xff");
        assert_eq!(value["name_raw"], "ff");
        assert_eq!(value.get("path_raw"), None);
        assert_eq!(value["size"], u64::MAX);
        assert_eq!(value["inner"], serde_json::json!({}));
        assert_eq!(value["n"], -1);
        assert!(!line.contains(|c: char| c.is_control()), "{line}");
    }

    #[test]
    fn times_keep_every_nanosecond_before_1970_too() {
        let at = |secs, nanos| decimal(Timestamp { secs, nanos });
        assert_eq!(at(1, 5), "1.000000005");
        assert_eq!(at(-1, 750_000_000), "-0.250000000");
        assert_eq!(at(i64::MIN, 0), "-9223372036854775808.000000000");
    }
}
