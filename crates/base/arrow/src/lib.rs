//! Rows of reports as an Arrow IPC stream, which pandas, Polars, DuckDB and others read without
//! parsing text.
//!
//! The fields are those of JSON, each with its type: text is `Utf8`, bytes are `Binary` and so keep
//! any name, whole numbers are `Int64`, or `UInt64` where the schema says that they take all 64
//! bits, times are `Timestamp(Nanosecond, "UTC")`. Lists, objects and objects with any keys are
//! `List`, `Struct` and `Map`. Every column may be null. A field's metadata has its documentation
//! (`description`) and its unit (`unit`).
//!
//! Invariants: a batch has at most [`ROWS`] rows and is written once it is full; the stream ends
//! with its end mark only if all rows were written; a number that its column cannot hold is an
//! error, never another number.
//!
//! Source: <https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format>

#![forbid(unsafe_code)]

mod cell;
mod columns;

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
use trawl_report::{Field, Nest, Renderer, Value};

use cell::Cell;

/// Maximum number of rows in a batch.
pub const ROWS: usize = 8192;

/// Renders rows as an Arrow IPC stream.
#[derive(Default)]
pub struct Arrow {
    stream: Option<Stream>,
    /// The objects and lists that are open, outermost first; the first one is the row.
    open: Vec<Cell>,
}

struct Stream {
    schema: SchemaRef,
    fields: Vec<Field>,
    /// Writes to memory, whose bytes go to the output after each batch.
    writer: StreamWriter<Vec<u8>>,
    /// The rows of the batch that is being filled.
    rows: Vec<Cell>,
    /// Whether rows could not be written: then there is no end mark.
    is_broken: bool,
}

impl Arrow {
    /// Adds a value to what is open.
    fn add(&mut self, cell: Cell) {
        if self.open.is_empty() {
            self.open.push(Cell::Parts(Vec::new()));
        }
        if let Some(Cell::Parts(parts)) = self.open.last_mut() {
            parts.push(cell);
        }
    }
}

impl Renderer for Arrow {
    fn begin(&mut self, fields: &[Field], out: &mut dyn Write) -> io::Result<()> {
        let fields: Vec<Field> = fields
            .iter()
            .filter(|field| self.wants(field))
            .copied()
            .collect();
        let schema = columns::schema(&fields);
        let mut writer = StreamWriter::try_new(Vec::new(), &schema).map_err(failed)?;
        drain(&mut writer, out)?;
        self.stream = Some(Stream {
            schema,
            fields,
            writer,
            rows: Vec::new(),
            is_broken: false,
        });
        Ok(())
    }

    fn wants(&self, field: &Field) -> bool {
        field.forms.json
    }

    fn value(&mut self, _: &Field, value: Value<'_>) {
        self.add(Cell::of(value));
    }

    fn absent(&mut self, _: &Field) {
        self.add(Cell::Null);
    }

    fn open(&mut self, _: Option<&Field>, _: Nest) {
        if self.open.is_empty() {
            self.open.push(Cell::Parts(Vec::new()));
        }
        self.open.push(Cell::Parts(Vec::new()));
    }

    fn element(&mut self, value: Value<'_>) {
        self.add(Cell::of(value));
    }

    fn member(&mut self, key: &str, text: &str) {
        self.add(Cell::Parts(vec![
            Cell::Text(key.into()),
            Cell::Text(text.into()),
        ]));
    }

    fn close(&mut self, _: Nest) {
        if let Some(closed) = self.open.pop() {
            self.add(closed);
        }
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let row = self.open.pop().unwrap_or(Cell::Parts(Vec::new()));
        self.open.clear();
        match &mut self.stream {
            Some(stream) => {
                stream.rows.push(row);
                match stream.rows.len() >= ROWS {
                    true => stream.flush(out),
                    false => Ok(()),
                }
            }
            None => Ok(()),
        }
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        stream.flush(out)?;
        if stream.is_broken {
            return Err(io::Error::other("rows are missing from the Arrow stream"));
        }
        stream.writer.finish().map_err(failed)?;
        drain(&mut stream.writer, out)
    }
}

impl Stream {
    /// Writes the rows so far as a batch.
    fn flush(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        let written = self.write(&rows, out);
        self.is_broken |= written.is_err();
        written
    }

    fn write(&mut self, rows: &[Cell], out: &mut dyn Write) -> io::Result<()> {
        let rows: Vec<Option<&[Cell]>> = rows.iter().map(Cell::parts).collect();
        let arrays = columns::arrays(&self.fields, &rows)?;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays).map_err(failed)?;
        self.writer.write(&batch).map_err(failed)?;
        drain(&mut self.writer, out)
    }
}

/// Moves the bytes that a writer has made to the output.
fn drain(writer: &mut StreamWriter<Vec<u8>>, out: &mut dyn Write) -> io::Result<()> {
    writer.flush().map_err(failed)?;
    let made = writer.get_mut();
    let written = out.write_all(made);
    made.clear();
    written
}

fn failed(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        error => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: Field = Field::integer("count", "a count");

    fn written(numbers: &[i128]) -> (Vec<u8>, io::Result<()>) {
        let (mut arrow, mut out) = (Arrow::default(), Vec::new());
        arrow.begin(&[COUNT], &mut out).unwrap();
        for number in numbers {
            arrow.value(&COUNT, Value::Integer(*number));
            arrow.end(&mut out).unwrap();
        }
        let finished = arrow.finish(&mut out);
        (out, finished)
    }

    #[test]
    fn a_number_that_does_not_fit_leaves_the_stream_without_its_end() {
        let (whole, finished) = written(&[1, 2]);
        finished.unwrap();
        let (broken, finished) = written(&[1, i128::from(i64::MAX) + 1]);
        let text = finished.unwrap_err().to_string();
        assert!(text.contains("count is 9223372036854775808"), "{text}");
        // Length 0 after a continuation mark ends a stream.
        let end = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
        assert!(whole.ends_with(&end) && !broken.ends_with(&end));
    }
}
