//! Rows of a result in the forms of all commands ([`trawl_report`]): JSON, comma-separated values,
//! and values that end with a NUL.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Int64Type, SchemaRef, UInt64Type};
use arrow::error::ArrowError;
use arrow::json::writer::{NullableEncoder, make_encoder};
use arrow::json::{Encoder, EncoderFactory, EncoderOptions};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use trawl_model::sync::lock;
use trawl_report::csv::Nulls;
use trawl_report::{Field, Form, Renderer, Value};
use trawl_text::json::push_integer;

use super::cells::{TIME, UTC_TIME, is_control, without_controls};
use super::file::{Sink, arrow_error};
use super::{Cells, Reader};
use crate::error::{Result, SqlError};

/// A writer of rows in one form.
pub(super) struct Rows {
    sink: Sink,
    reader: Reader,
    form: Form,
    renderer: Box<dyn Renderer>,
    fields: Vec<Field>,
    /// Bytes of the rows that are being written.
    made: Vec<u8>,
}

impl Rows {
    /// Begins to write rows with these columns.
    pub(super) fn new(
        (form, cells): (Form, Cells),
        schema: &SchemaRef,
        sink: Sink,
        reader: Reader,
    ) -> Result<Rows> {
        let fields = schema.fields().iter().enumerate();
        let fields: Vec<Field> = fields
            .map(|(at, column)| field(at, column, reader))
            .collect();
        if form == Form::Json {
            check_names(&fields)?;
        }
        let mut rows = Rows {
            fields,
            renderer: trawl_report::renderer(form, cells, Nulls::Distinct).ok_or_else(unknown)?,
            sink,
            reader,
            form,
            made: Vec::new(),
        };
        let begun = rows.renderer.begin(&rows.fields, &mut rows.made);
        begun.map_err(SqlError::Write)?;
        rows.flush()?;
        Ok(rows)
    }

    /// Writes the rows of a batch.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns());
        let wanted = columns.take(match self.form {
            Form::Null => 1,
            _ => usize::MAX,
        });
        let columns: Result<Vec<Column<'_>>> = match self.form {
            Form::Json => wanted
                .map(|(field, array)| Column::json(field, array))
                .collect(),
            Form::Null => wanted.map(|(_, array)| Column::unchanged(array)).collect(),
            _ => wanted.map(|(_, array)| Column::text(array)).collect(),
        };
        let mut columns = columns?;
        let mut text = String::new();
        for at in 0..batch.num_rows() {
            for (column, field) in columns.iter_mut().zip(&self.fields) {
                column.put(at, field, self.reader, &mut text, &mut *self.renderer)?;
            }
            let ended = self.renderer.end(&mut self.made);
            ended.map_err(SqlError::Write)?;
        }
        self.flush()
    }

    pub(super) fn finish(self) -> Sink {
        self.sink
    }

    fn flush(&mut self) -> Result<()> {
        let is_json = self.form == Form::Json;
        let done = match (self.reader, is_json) {
            (Reader::Terminal, true) => self.sink.put(as_ascii_controls(&self.made).as_bytes()),
            (Reader::Terminal | Reader::Program, _) => self.sink.put(&self.made),
        };
        self.made.clear();
        done
    }
}

fn unknown() -> SqlError {
    SqlError::Usage("this form has no rows".into())
}

/// Refuses two columns of one name, of which readers of JSON objects would keep one.
fn check_names(fields: &[Field]) -> Result<()> {
    let mut seen = HashSet::new();
    match fields.iter().find(|field| !seen.insert(field.name)) {
        Some(field) => Err(SqlError::Usage(format!(
            "two columns are called {}: rename one with AS",
            without_controls(field.name)
        ))),
        None => Ok(()),
    }
}

/// Returns the field of a column. Only the first one is printed before a NUL.
fn field(at: usize, column: &FieldRef, reader: Reader) -> Field {
    let name = match reader {
        Reader::Terminal => kept(&without_controls(column.name())),
        Reader::Program => kept(column.name()),
    };
    let field = Field::text(name, "a column of the result");
    match at {
        0 => field.with_null(),
        _ => field,
    }
}

/// Returns a copy of a name that stays valid: schemas are made of names that outlive them. Each name
/// is kept once, however many results have it.
fn kept(name: &str) -> &'static str {
    static KEPT: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut kept = lock(&KEPT);
    let kept = kept.get_or_insert_default();
    if let Some(name) = kept.get(name) {
        return name;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    kept.insert(name);
    name
}

/// How a column's values are written.
enum Column<'a> {
    /// As JSON.
    Json(NullableEncoder<'a>, Vec<u8>),
    /// As text, which a spreadsheet may take for a formula.
    Text(&'a dyn Array, ArrayFormatter<'a>),
    /// As numbers and times.
    Number(&'a dyn Array, ArrayFormatter<'a>),
    /// As they are.
    Bytes(BinaryViewArray),
}

impl<'a> Column<'a> {
    fn json(field: &'a FieldRef, array: &'a ArrayRef) -> Result<Column<'a>> {
        let encoder = make_encoder(field, array, json_options()).map_err(arrow_error)?;
        Ok(Column::Json(encoder, Vec::new()))
    }

    /// Returns a column whose bytes are written unchanged, so that `path_raw` gives any path.
    fn unchanged(array: &'a ArrayRef) -> Result<Column<'a>> {
        match is_bytes(array.data_type()) {
            true => {
                let bytes = cast(array, &DataType::BinaryView).map_err(arrow_error)?;
                Ok(Column::Bytes(bytes.as_binary_view().clone()))
            }
            false => Column::text(array),
        }
    }

    fn text(array: &'a ArrayRef) -> Result<Column<'a>> {
        let kind = array.data_type();
        let formatter = ArrayFormatter::try_new(array, text_options()).map_err(arrow_error)?;
        Ok(match kind.is_numeric() || kind.is_temporal() {
            true => Column::Number(array, formatter),
            false => Column::Text(array, formatter),
        })
    }

    /// Passes the value of a row to the renderer.
    fn put(
        &mut self,
        at: usize,
        field: &Field,
        reader: Reader,
        text: &mut String,
        renderer: &mut dyn Renderer,
    ) -> Result<()> {
        let formatted = |formatter: &ArrayFormatter<'_>, text: &mut String| {
            text.clear();
            formatter.value(at).write(text).map_err(arrow_error)?;
            if reader == Reader::Terminal {
                *text = without_controls(text);
            }
            Ok::<(), SqlError>(())
        };
        match self {
            Column::Json(encoder, bytes) => {
                bytes.clear();
                match encoder.is_null(at) {
                    true => bytes.extend_from_slice(b"null"),
                    false => encoder.encode(at, bytes),
                }
                renderer.value(field, Value::Written(&String::from_utf8_lossy(bytes)));
            }
            Column::Text(array, _) | Column::Number(array, _) if array.is_null(at) => {
                renderer.value(field, Value::Null);
            }
            Column::Text(_, formatter) => {
                formatted(formatter, text)?;
                renderer.value(field, Value::Text(text));
            }
            Column::Number(_, formatter) => {
                formatted(formatter, text)?;
                renderer.value(field, Value::Written(text));
            }
            Column::Bytes(array) => renderer.value(
                field,
                match array.is_null(at) {
                    true => Value::Null,
                    false => Value::Bytes(array.value(at)),
                },
            ),
        }
        Ok(())
    }
}

/// Returns true for bytes in any of the forms that files and casts give them.
fn is_bytes(kind: &DataType) -> bool {
    match kind {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => true,
        DataType::Dictionary(_, values) => is_bytes(values),
        _ => false,
    }
}

/// Returns how JSON is written: nulls are printed, times as in `docs/json.md`, whole numbers exactly.
fn json_options() -> &'static EncoderOptions {
    static OPTIONS: OnceLock<EncoderOptions> = OnceLock::new();
    OPTIONS.get_or_init(|| {
        EncoderOptions::default()
            .with_explicit_nulls(true)
            .with_timestamp_tz_format(UTC_TIME.to_owned())
            .with_timestamp_format(TIME.to_owned())
            .with_encoder_factory(Arc::new(Exact))
    })
}

fn text_options() -> &'static FormatOptions<'static> {
    static OPTIONS: OnceLock<FormatOptions<'static>> = OnceLock::new();
    OPTIONS.get_or_init(|| {
        FormatOptions::default()
            .with_timestamp_tz_format(Some(UTC_TIME))
            .with_timestamp_format(Some(TIME))
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_for_a_terminal_has_no_controls() {
        assert_eq!(
            as_ascii_controls("{\"a\":\"\u{9b}ü\"}\n".as_bytes()),
            "{\"a\":\"\\u009bü\"}\n"
        );
    }

    #[test]
    fn a_name_is_kept_once() {
        assert!(std::ptr::eq(kept("a column"), kept("a column")));
        assert_eq!(kept("another"), "another");
    }

    /// Returns the bytes that a form writes of a column of bytes.
    fn written(form: Form) -> Vec<u8> {
        written_as(form, &DataType::BinaryView)
    }

    /// Like `written`, for a column of this type.
    fn written_as(form: Form, kind: &DataType) -> Vec<u8> {
        let column: ArrayRef = Arc::new(BinaryViewArray::from_iter([
            Some(&b"\xff\0"[..]),
            None,
            Some(b"a\\"),
        ]));
        let column = cast(&column, kind).unwrap();
        let batch = RecordBatch::try_from_iter([("b,b", column)]).unwrap();
        let folder = trawl_testkit::Scratch::new("sql-rows");
        let path = folder.join("out");
        let sink = Sink::file(&path).unwrap();
        let cells = (form, Cells::AsTheyAre);
        let mut rows = Rows::new(cells, &batch.schema(), sink, Reader::Program).unwrap();
        rows.write(&batch).unwrap();
        rows.finish().finish().unwrap();
        std::fs::read(path).unwrap()
    }

    #[test]
    fn bytes_are_hexadecimal_in_text_and_unchanged_before_a_nul() {
        assert_eq!(written(Form::Csv), b"\"b,b\"\nff00\n\n615c\n");
        assert_eq!(written(Form::Null), b"\xff\0\0a\\\0");
        let json = b"{\"b,b\":\"ff00\"}\n{\"b,b\":null}\n{\"b,b\":\"615c\"}\n";
        assert_eq!(written(Form::Json), json);
    }

    #[test]
    fn bytes_of_every_type_are_unchanged_before_a_nul() {
        let dictionary = |of| DataType::Dictionary(Box::new(DataType::Int32), Box::new(of));
        for kind in [
            DataType::Binary,
            DataType::LargeBinary,
            dictionary(DataType::Binary),
            dictionary(DataType::LargeBinary),
        ] {
            assert_eq!(written_as(Form::Null, &kind), b"\xff\0\0a\\\0", "{kind}");
        }
    }

    #[test]
    fn json_has_no_two_columns_of_one_name() {
        let named = |name| Field::text(name, "a column");
        assert!(check_names(&[named("a"), named("A")]).is_ok());
        let refused = check_names(&[named("a"), named("b"), named("a")]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "two columns are called a: rename one with AS"
        );
    }
}
