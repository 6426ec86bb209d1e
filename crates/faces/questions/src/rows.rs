//! Rows of answers, made of what `trawl` writes for programs. Names and contents that are not text
//! are shown as in `docs/json.md`.

use std::process::ExitStatus;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use trawl_model::escape::escape;
use trawl_text::json::hex;

use crate::limits::TEXT_BYTES;
use crate::records::{Ending, Record};

/// A row: the fields of a JSON object.
pub type Row = Map<String, Value>;

/// The form of a command's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON objects, one a line.
    Objects,
    /// The same, from a command that ends with 1 if nothing matched, as locate does. Only its messages
    /// say that something is missing.
    Matches,
    /// Matching lines: the file's name, NUL, the line's number, a colon, the line.
    Hits,
    /// Names of files, each ended by NUL.
    Names,
}

impl Form {
    /// Returns how its records end.
    pub fn ending(self) -> Ending {
        match self {
            Form::Objects | Form::Matches => Ending::Newline,
            Form::Hits => Ending::NulThenNewline,
            Form::Names => Ending::Nul,
        }
    }

    /// Returns whether the command writes JSON objects itself.
    pub fn is_json(self) -> bool {
        matches!(self, Form::Objects | Form::Matches)
    }

    /// Returns whether everything was answered by a command that ended like this and said so many
    /// things on its standard error.
    pub fn is_complete(self, status: ExitStatus, messages: u64) -> bool {
        match (self, status.code()) {
            // Commands that look for matches end with 1 if there are none.
            (Form::Matches, Some(0 | 1)) => messages == 0,
            (Form::Hits | Form::Names, Some(0 | 1)) | (_, Some(0)) => true,
            _ => false,
        }
    }

    /// Returns whether a command that ended like this has failed.
    pub fn is_failure(status: ExitStatus) -> bool {
        status.code().is_none_or(|code| code > 1)
    }

    /// Returns the row of a record; `None` if the record is not of this form, or too long.
    pub fn row(self, record: &Record) -> Option<Row> {
        match self {
            Form::Objects | Form::Matches if record.is_cut() => None,
            Form::Objects | Form::Matches => serde_json::from_slice(&record.bytes).ok(),
            Form::Hits => hit(record),
            Form::Names if record.is_cut() => None,
            Form::Names => Hit::of(&record.bytes).row(),
        }
    }
}

/// A file with a matching line, or the line itself.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Hit {
    /// The file.
    path: String,
    /// The same in hexadecimal, if it is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_raw: Option<String>,
    /// Number of the line, from 1; absent with `names_only`, as all that follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The same in hexadecimal, if it is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    text_raw: Option<String>,
    /// Whether the line is too long and was cut.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[serde(default)]
    is_cut: bool,
}

impl Hit {
    fn of(path: &[u8]) -> Hit {
        let (path, path_raw) = shown(path);
        Hit {
            path,
            path_raw,
            ..Hit::default()
        }
    }

    fn row(self) -> Option<Row> {
        match serde_json::to_value(self) {
            Ok(Value::Object(row)) => Some(row),
            _ => None,
        }
    }
}

/// Returns the row of a matching line. A line that is too long is cut.
fn hit(record: &Record) -> Option<Row> {
    let end = record.bytes.iter().position(|byte| *byte == 0)?;
    let (path, rest) = (&record.bytes[..end], &record.bytes[end + 1..]);
    let colon = rest.iter().position(|byte| *byte == b':')?;
    let number: u64 = std::str::from_utf8(&rest[..colon]).ok()?.parse().ok()?;
    let text = &rest[colon + 1..];
    let short = shortened(text);
    let (line, raw) = shown(short);
    let hit = Hit {
        line: Some(number),
        text: Some(line),
        text_raw: raw,
        is_cut: short.len() < text.len() || record.is_cut(),
        ..Hit::of(path)
    };
    hit.row()
}

/// Returns the beginning of a text, without half a character at its end.
fn shortened(text: &[u8]) -> &[u8] {
    let Some(head) = text.get(..TEXT_BYTES) else {
        return text;
    };
    without_half_a_character(head)
}

/// Returns the bytes without the beginning of a character at their end.
pub fn without_half_a_character(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

/// Returns bytes as text, and also in hexadecimal where the text is escaped.
pub fn shown(bytes: &[u8]) -> (String, Option<String>) {
    let text = escape(bytes);
    let raw = (text.as_bytes() != bytes).then(|| hex(bytes));
    (text.into_owned(), raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(form: Form, bytes: &[u8]) -> Option<Value> {
        let record = Record {
            bytes: bytes.to_vec(),
            length: bytes.len() as u64,
        };
        form.row(&record).map(Value::Object)
    }

    #[test]
    fn hits_keep_odd_names_and_lines() {
        assert_eq!(
            row(Form::Hits, b"/a\nb\x0012:x:\xff\0y"),
            Some(
                json!({"path": "/a\nb", "line": 12, "text": "x:\\xff\0y", "text_raw": "783aff0079"})
            )
        );
        assert_eq!(
            row(Form::Hits, b"/\xfe\x001:"),
            Some(json!({"path": "/\\xfe", "path_raw": "2ffe", "line": 1, "text": ""}))
        );
        for odd in [&b"no end"[..], b"/a\0", b"/a\0x:y", b"/a\x0012"] {
            assert_eq!(row(Form::Hits, odd), None, "{}", odd.escape_ascii());
        }
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let line = format!("/a\0{}:{}", 1, "é".repeat(TEXT_BYTES));
        let row = row(Form::Hits, line.as_bytes()).expect("a hit");
        assert_eq!(row["text"], "é".repeat(TEXT_BYTES / 2));
        assert_eq!(row["is_cut"], true);
        assert_eq!(without_half_a_character(b"a\xc3"), b"a");
        assert_eq!(without_half_a_character(b"a\xff"), b"a\xff");
    }

    #[test]
    fn other_forms_are_read_or_refused() {
        assert_eq!(row(Form::Names, b"/a\nb"), Some(json!({"path": "/a\nb"})));
        assert_eq!(row(Form::Objects, b"{\"a\":1}"), Some(json!({"a": 1})));
        assert_eq!(row(Form::Objects, b"[1]"), None);
        assert_eq!(row(Form::Objects, b"{\"a\":"), None);
    }
}
