//! Formats with one line per row: comma- and tab-separated values, JSON; and values that end with a
//! NUL.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, FieldRef, Int64Type, SchemaRef, UInt64Type};
use arrow::error::ArrowError;
use arrow::json::writer::{LineDelimited, NullableEncoder};
use arrow::json::{Encoder, EncoderFactory, EncoderOptions, LineDelimitedWriter, WriterBuilder};
use trawl_cli::sql::protected;
use trawl_text::json::push_integer;

use super::cells::{TIME, UTC_TIME, for_each_row, is_control, without_controls};
use super::file::{Sink, arrow_error};
use super::{Cells, Reader};
use crate::error::{Result, SqlError};

/// A writer of delimited values.
pub(super) struct Delimited {
    sink: Sink,
    reader: Reader,
    dialect: Dialect,
    /// Which columns are texts, which a spreadsheet may take for formulas.
    texts: Vec<bool>,
}

#[derive(Clone, Copy)]
enum Dialect {
    /// RFC 4180.
    Csv,
    /// RFC 4180 for spreadsheets: no text begins like a formula.
    Spreadsheet,
    /// Tab-separated; tabs, newlines and backslashes are escaped.
    Tsv,
}

impl Delimited {
    pub(super) fn csv(
        schema: &SchemaRef,
        sink: Sink,
        reader: Reader,
        cells: Cells,
    ) -> Result<Delimited> {
        let dialect = match cells {
            Cells::AsTheyAre => Dialect::Csv,
            Cells::Protected => Dialect::Spreadsheet,
        };
        Delimited::new(schema, sink, reader, dialect)
    }

    pub(super) fn tsv(schema: &SchemaRef, sink: Sink, reader: Reader) -> Result<Delimited> {
        Delimited::new(schema, sink, reader, Dialect::Tsv)
    }

    fn new(schema: &SchemaRef, sink: Sink, reader: Reader, dialect: Dialect) -> Result<Delimited> {
        let mut out = Delimited {
            sink,
            reader,
            dialect,
            texts: vec![true; schema.fields().len()],
        };
        let names = schema
            .fields()
            .iter()
            .map(|field| Some(field.name().clone()));
        out.row(&names.collect::<Vec<_>>())?;
        let is_text = |field: &FieldRef| {
            let kind = field.data_type();
            !kind.is_numeric() && !kind.is_temporal()
        };
        out.texts = schema.fields().iter().map(is_text).collect();
        Ok(out)
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        for_each_row(batch, |row| self.row(row).map_err(Failed::Ours)).map_err(Failed::into_ours)
    }

    fn row(&mut self, row: &[Option<String>]) -> Result<()> {
        let mut line = String::new();
        for (at, value) in row.iter().enumerate() {
            if at > 0 {
                line.push(match self.dialect {
                    Dialect::Csv | Dialect::Spreadsheet => ',',
                    Dialect::Tsv => '\t',
                });
            }
            let shown = value.as_deref().map(|value| match self.reader {
                Reader::Terminal => without_controls(value),
                Reader::Program => value.to_owned(),
            });
            let is_text = self.texts.get(at).copied().unwrap_or(true);
            match self.dialect {
                Dialect::Spreadsheet if is_text => {
                    let shown: Option<Cow<'_, str>> = shown.as_deref().map(protected);
                    push_quoted(&mut line, shown.as_deref());
                }
                Dialect::Csv | Dialect::Spreadsheet => push_quoted(&mut line, shown.as_deref()),
                Dialect::Tsv => push_escaped(&mut line, shown.as_deref().unwrap_or_default()),
            }
        }
        line.push('\n');
        self.sink.put(line.as_bytes())
    }

    pub(super) fn finish(self) -> Sink {
        self.sink
    }
}

/// Appends a value, in quotes if needed. An empty text is quoted, a null is not.
fn push_quoted(line: &mut String, value: Option<&str>) {
    let Some(value) = value else {
        return;
    };
    let needs = value.is_empty() || value.contains([',', '"', '\n', '\r']);
    match needs {
        true => {
            line.push('"');
            line.push_str(&value.replace('"', "\"\""));
            line.push('"');
        }
        false => line.push_str(value),
    }
}

fn push_escaped(line: &mut String, value: &str) {
    for letter in value.chars() {
        match letter {
            '\t' => line.push_str("\\t"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\\' => line.push_str("\\\\"),
            letter => line.push(letter),
        }
    }
}

/// An error of the library or our own, on its way to the caller.
enum Failed {
    Ours(SqlError),
    Arrow(arrow::error::ArrowError),
}

impl Failed {
    fn into_ours(self) -> SqlError {
        match self {
            Failed::Ours(error) => error,
            Failed::Arrow(error) => arrow_error(error),
        }
    }
}

impl From<arrow::error::ArrowError> for Failed {
    fn from(error: arrow::error::ArrowError) -> Failed {
        Failed::Arrow(error)
    }
}

/// JSON lines.
pub(super) struct JsonLines {
    sink: Sink,
    reader: Reader,
}

impl JsonLines {
    pub(super) fn new(sink: Sink, reader: Reader) -> JsonLines {
        JsonLines { sink, reader }
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let builder = WriterBuilder::new()
            .with_explicit_nulls(true)
            .with_timestamp_tz_format(UTC_TIME.to_owned())
            .with_timestamp_format(TIME.to_owned())
            .with_encoder_factory(Arc::new(Exact));
        let mut writer: LineDelimitedWriter<Vec<u8>> =
            builder.build::<_, LineDelimited>(Vec::new());
        writer.write(batch).map_err(arrow_error)?;
        writer.finish().map_err(arrow_error)?;
        let bytes = writer.into_inner();
        match self.reader {
            Reader::Program => self.sink.put(&bytes),
            Reader::Terminal => self.sink.put(as_ascii_controls(&bytes).as_bytes()),
        }
    }

    pub(super) fn finish(self) -> Sink {
        self.sink
    }
}

/// Encodes whole numbers so that every JSON reader keeps them exactly
/// ([`trawl_text::json::push_integer`]).
#[derive(Debug)]
struct Exact;

impl EncoderFactory for Exact {
    fn make_default_encoder<'a>(
        &self,
        _: &'a FieldRef,
        array: &'a dyn Array,
        _: &'a EncoderOptions,
    ) -> std::result::Result<Option<NullableEncoder<'a>>, ArrowError> {
        let signed = array.as_primitive_opt::<Int64Type>();
        let unsigned = array.as_primitive_opt::<UInt64Type>();
        let encoder: Box<dyn Encoder + 'a> = match (signed, unsigned) {
            (Some(numbers), _) => Box::new(Whole(|at| i128::from(numbers.value(at)))),
            (_, Some(numbers)) => Box::new(Whole(|at| i128::from(numbers.value(at)))),
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.nulls().cloned())))
    }
}

/// A column of whole numbers, by row.
struct Whole<N>(N);

impl<N: Fn(usize) -> i128> Encoder for Whole<N> {
    fn encode(&mut self, at: usize, out: &mut Vec<u8>) {
        let mut text = String::new();
        push_integer(&mut text, (self.0)(at));
        out.extend_from_slice(text.as_bytes());
    }
}

/// Escapes control characters that JSON permits unescaped.
fn as_ascii_controls(json: &[u8]) -> String {
    let mut out = String::with_capacity(json.len());
    for c in String::from_utf8_lossy(json).chars() {
        match is_control(c) && c != '\n' {
            true => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => out.push(c),
        }
    }
    out
}

/// A writer of the first column, each value followed by a NUL.
pub(super) struct NulEnded {
    sink: Sink,
}

impl NulEnded {
    pub(super) fn new(sink: Sink) -> NulEnded {
        NulEnded { sink }
    }

    /// Writes bytes unchanged, so that `path_raw` gives any path; nulls are left out.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let Some(first) = batch.columns().first() else {
            return Ok(());
        };
        if first.data_type() == &DataType::BinaryView {
            for value in first.as_binary_view().iter().flatten() {
                self.sink.put(value)?;
                self.sink.put(b"\0")?;
            }
            return Ok(());
        }
        let first = batch.project(&[0]).map_err(arrow_error)?;
        let done = for_each_row(&first, |row| {
            let Some(Some(value)) = row.first() else {
                return Ok(());
            };
            let put = self.sink.put(value.as_bytes());
            put.and_then(|()| self.sink.put(b"\0"))
                .map_err(Failed::Ours)
        });
        done.map_err(Failed::into_ours)
    }

    pub(super) fn finish(self) -> Sink {
        self.sink
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_where_they_must_be() {
        let quoted = |value| {
            let mut line = String::new();
            push_quoted(&mut line, value);
            line
        };
        assert_eq!(quoted(Some("plain")), "plain");
        assert_eq!(quoted(Some("a,\"b\"")), "\"a,\"\"b\"\"\"");
        assert_eq!(
            (quoted(Some("")), quoted(None)),
            ("\"\"".into(), String::new())
        );
        let mut line = String::new();
        push_escaped(&mut line, "a\tb\\\n");
        assert_eq!(line, "a\\tb\\\\\\n");
    }

    #[test]
    fn json_for_a_terminal_has_no_controls() {
        assert_eq!(
            as_ascii_controls("{\"a\":\"\u{9b}ü\"}\n".as_bytes()),
            "{\"a\":\"\\u009bü\"}\n"
        );
    }
}
