//! Reports: rows of one schema, written in one form as they come.

use std::io::{self, ErrorKind, Write};

use crate::csv::{Cells, Csv, Nulls};
use crate::form::Form;
use crate::json::Json;
use crate::null::Null;
use crate::row::{Renderer, Row};
use crate::schema::{Field, Schema};

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The output failed.
    #[error("cannot write the report: {0}")]
    Write(#[source] io::Error),
}

/// Writes rows to an output as they come. It keeps one row at most, and its buffer serves all rows.
pub struct Report<W> {
    schema: &'static Schema,
    form: Form,
    renderer: Option<Box<dyn Renderer>>,
    has_begun: bool,
    output: W,
}

impl<W: Write> Report<W> {
    /// Returns a report in a form. In [`Form::Text`] the caller writes text of its own.
    pub fn new(schema: &'static Schema, form: Form, cells: Cells, output: W) -> Report<W> {
        Report::of(schema, form, renderer(form, cells, Nulls::Empty), output)
    }

    /// Returns a report in a form that another crate renders.
    pub fn with(
        schema: &'static Schema,
        form: Form,
        renderer: Box<dyn Renderer>,
        output: W,
    ) -> Report<W> {
        Report::of(schema, form, Some(renderer), output)
    }

    fn of(
        schema: &'static Schema,
        form: Form,
        renderer: Option<Box<dyn Renderer>>,
        output: W,
    ) -> Report<W> {
        Report {
            schema,
            form,
            renderer,
            has_begun: false,
            output,
        }
    }

    /// Returns the form.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Writes what comes before the first row, such as a header. Rows do it by themselves.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn begin(&mut self) -> Result<(), ReportError> {
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        match &mut self.renderer {
            Some(renderer) if !has_begun => renderer
                .begin(self.schema.fields, &mut self.output)
                .map_err(ReportError::Write),
            None if self.form == Form::Arrow => {
                let error = "this program does not write Arrow streams";
                Err(ReportError::Write(io::Error::new(
                    ErrorKind::Unsupported,
                    error,
                )))
            }
            _ => Ok(()),
        }
    }

    /// Writes a row. Does nothing in [`Form::Text`].
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn row(&mut self, fill: impl FnOnce(&mut Row<'_>)) -> Result<(), ReportError> {
        self.row_of(self.schema, fill)
    }

    /// Writes a row of another schema, which only forms without a header can mix.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn row_of(
        &mut self,
        schema: &'static Schema,
        fill: impl FnOnce(&mut Row<'_>),
    ) -> Result<(), ReportError> {
        self.begin()?;
        let Some(renderer) = &mut self.renderer else {
            return Ok(());
        };
        let mut row = Row::new(schema.fields, renderer.as_mut());
        fill(&mut row);
        row.finish();
        renderer.end(&mut self.output).map_err(ReportError::Write)
    }

    /// Writes a row, or the text in its place in [`Form::Text`].
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn line<T: AsRef<[u8]>>(
        &mut self,
        text: impl FnOnce() -> T,
        fill: impl FnOnce(&mut Row<'_>),
    ) -> Result<(), ReportError> {
        match self.form {
            Form::Text => self.put(text()),
            _ => self.row(fill),
        }
    }

    /// Writes bytes: the caller's own text in [`Form::Text`].
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn put(&mut self, text: impl AsRef<[u8]>) -> Result<(), ReportError> {
        let written = self.output.write_all(text.as_ref());
        written.map_err(ReportError::Write)
    }

    /// Returns the output.
    pub fn output(&mut self) -> &mut W {
        &mut self.output
    }

    /// Ends the report and returns the output, which the caller flushes.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn into_output(mut self) -> Result<W, ReportError> {
        // A form may have a beginning and an end without any row between them.
        if self.form == Form::Arrow {
            self.begin()?;
        }
        if let Some(renderer) = &mut self.renderer {
            let finished = renderer.finish(&mut self.output);
            finished.map_err(ReportError::Write)?;
        }
        Ok(self.output)
    }
}

/// Returns the renderer of a form; `None` for text, and for forms that another crate renders. A
/// caller whose fields are known only at run time, such as a query's, drives it itself.
pub fn renderer(form: Form, cells: Cells, nulls: Nulls) -> Option<Box<dyn Renderer>> {
    match form {
        Form::Json => Some(Box::new(Json::default())),
        Form::Csv => Some(Box::new(Csv::new(cells, nulls))),
        Form::Null => Some(Box::new(Null::default())),
        Form::Text | Form::Arrow => None,
    }
}

/// Renders one row by itself, for a caller that keeps the renderer.
///
/// # Errors
/// Fails if `out` cannot be written.
pub fn render_row(
    fields: &'static [Field],
    renderer: &mut dyn Renderer,
    out: &mut dyn Write,
    fill: impl FnOnce(&mut Row<'_>),
) -> io::Result<()> {
    filled(fields, renderer, fill);
    renderer.end(out)
}

/// Returns a row as a JSON object, without a line end.
pub fn json_object(fields: &'static [Field], fill: impl FnOnce(&mut Row<'_>)) -> String {
    let mut json = Json::default();
    filled(fields, &mut json, fill);
    std::mem::take(json.close_row())
}

/// Returns a row as a line of CSV.
pub fn csv_line(
    fields: &'static [Field],
    cells: Cells,
    fill: impl FnOnce(&mut Row<'_>),
) -> Vec<u8> {
    let mut csv = Csv::new(cells, Nulls::Empty);
    filled(fields, &mut csv, fill);
    csv.close_row()
}

/// Returns the header of lines of CSV.
pub fn csv_header(fields: &[Field]) -> String {
    let mut header = Vec::new();
    // Memory can always be written.
    let _ = Csv::default().begin(fields, &mut header);
    String::from_utf8(header).unwrap_or_default()
}

fn filled(fields: &'static [Field], renderer: &mut dyn Renderer, fill: impl FnOnce(&mut Row<'_>)) {
    let mut row = Row::new(fields, renderer);
    fill(&mut row);
    row.finish();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::ROWS;

    const PATH: Field = Field::bytes("path", "a path").with_null();
    const SIZE: Field = Field::integer("size", "a size");
    const PART: Field = Field::text("part", "a part of an object");
    const INNER: Field = Field::object("inner", &[PART], "an object");
    const LIST: Field = Field::objects("list", &[PART], "a list");
    const OPTIONS: Field = Field::options("options", "options");
    const NUMBERS: Field = Field::integers("numbers", "numbers");

    static SCHEMA: Schema = Schema {
        row: "an example",
        fields: &[PATH, SIZE, INNER, LIST, OPTIONS, NUMBERS],
        forms: ROWS,
        samples: &[],
    };

    fn written(form: Form) -> String {
        let mut report = Report::new(&SCHEMA, form, Cells::AsTheyAre, Vec::new());
        report.begin().unwrap();
        for (path, size) in [(&b"/a\xff"[..], Some(u64::MAX)), (b"/b", None)] {
            let filled = report.line(
                || format!("{}\n", String::from_utf8_lossy(path)),
                |row| {
                    row.put(&PATH, path).put(&SIZE, size);
                    if size.is_some() {
                        row.object(&INNER, |row| {
                            row.put(&PART, "x");
                        })
                        .objects(&LIST, ["y", "z"], |row, part| {
                            row.put(&PART, part);
                        })
                        .options(&OPTIONS, [("k", "v")])
                        .integers(&NUMBERS, [1u32, 2]);
                    }
                },
            );
            filled.unwrap();
        }
        String::from_utf8_lossy(&report.into_output().unwrap()).into_owned()
    }

    #[test]
    fn one_schema_gives_all_forms() {
        let json = written(Form::Json);
        let lines: Vec<serde_json::Value> = json
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let first = serde_json::json!({
            "path": "/a\\xff", "path_raw": "2f61ff", "size": u64::MAX.to_string(),
            "inner": {"part": "x"}, "list": [{"part": "y"}, {"part": "z"}],
            "options": {"k": "v"}, "numbers": [1, 2],
        });
        assert_eq!(lines[0], first);
        assert_eq!(lines[1], serde_json::json!({"path": "/b", "size": null}));
        let csv = "path,path_raw,size,numbers\n/a\\xff,2f61ff,18446744073709551615,1+2\n/b,,,\n";
        assert_eq!(written(Form::Csv), csv);
        assert_eq!(written(Form::Null), "/a\u{fffd}\0/b\0");
        assert_eq!(written(Form::Text), "/a\u{fffd}\n/b\n");
    }

    #[test]
    fn a_failed_output_is_an_error() {
        let mut room = [0u8; 3];
        let mut report = Report::new(&SCHEMA, Form::Csv, Cells::AsTheyAre, &mut room[..]);
        let error = report.begin().unwrap_err();
        assert!(error.to_string().starts_with("cannot write the report"));
    }
}
