//! Tab-separated values: tabs, newlines and backslashes are escaped.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::Reader;
use super::cells::{for_each_row, without_controls};
use super::file::{Sink, arrow_error};
use crate::error::{Result, SqlError};

/// A writer of tab-separated values.
pub(super) struct Tabs {
    sink: Sink,
    reader: Reader,
}

impl Tabs {
    pub(super) fn new(schema: &SchemaRef, sink: Sink, reader: Reader) -> Result<Tabs> {
        let mut out = Tabs { sink, reader };
        let fields = schema.fields().iter();
        let names = fields.map(|field| Some(field.name().clone()));
        out.row(&names.collect::<Vec<_>>())?;
        Ok(out)
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        for_each_row(batch, |row| self.row(row).map_err(Failed::Ours)).map_err(Failed::into_ours)
    }

    fn row(&mut self, row: &[Option<String>]) -> Result<()> {
        let mut line = String::new();
        for (at, value) in row.iter().enumerate() {
            if at > 0 {
                line.push('\t');
            }
            let value = value.as_deref().unwrap_or_default();
            match self.reader {
                Reader::Terminal => push_escaped(&mut line, &without_controls(value)),
                Reader::Program => push_escaped(&mut line, value),
            }
        }
        line.push('\n');
        self.sink.put(line.as_bytes())
    }

    pub(super) fn finish(self) -> Sink {
        self.sink
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_and_line_ends_are_escaped() {
        let mut line = String::new();
        push_escaped(&mut line, "a\tb\\\n");
        assert_eq!(line, "a\\tb\\\\\\n");
    }
}
