//! Writes rows as text or files.
//!
//! Rows are written as they come. No name can send a control character to a terminal. The only file
//! written is the one that the command line names; it appears complete or not at all.

mod cells;
mod file;
mod lines;
mod paths;
mod rows;
mod table;

use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
pub(crate) use trawl_cli::sql::Cells;
use trawl_cli::sql::Format;
use trawl_report::Form as Shared;

use crate::error::{Result, SqlError};

pub(crate) use file::Sink;
use lines::Tabs;
pub(crate) use paths::Paths;
use rows::Rows;
use table::Table;

/// The output form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A named format.
    Named(Format),
    /// The first column, each value followed by a NUL.
    Null,
    /// An Arrow IPC stream, as of all commands with `--arrow`.
    Stream,
}

/// The kind of reader of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A person at a terminal.
    Terminal,
    /// A program.
    Program,
}

/// Writes rows in one form to one place.
pub(crate) struct Writer {
    form: Encoder,
}

enum Encoder {
    Table(Table),
    Tabs(Tabs),
    Rows(Box<Rows>),
    Parquet(Box<file::Parquet>),
    Arrow(Box<file::Arrow>),
    Stream(Box<file::Stream>),
}

/// Prints a message on standard error.
pub(crate) fn say(message: impl Display) {
    trawl_cli::sql::tell(format_args!("trawl: {message}"));
}

/// Refuses requests that can only be mistakes, before anything is done.
pub(crate) fn check(form: Form, output: Option<&Path>) -> Result<()> {
    let is_binary = matches!(
        form,
        Form::Stream | Form::Named(Format::Parquet | Format::Arrow)
    );
    if is_binary && output.is_none() && io::stdout().is_terminal() {
        return Err(SqlError::Usage(
            "this format is not for terminals: say where to write it with -o FILE".into(),
        ));
    }
    match output {
        Some(path) if path.symlink_metadata().is_ok() => Err(SqlError::IsThere(path.to_owned())),
        _ => Ok(()),
    }
}

impl Writer {
    /// Starts to write rows with these columns, to a new file or to standard output.
    pub(crate) fn open(
        (form, cells): (Form, Cells),
        schema: &SchemaRef,
        output: Option<&Path>,
    ) -> Result<Writer> {
        let sink = match output {
            Some(path) => Sink::file(path)?,
            None => Sink::stdout(),
        };
        Writer::to((form, cells), schema, sink)
    }

    /// Like [`Writer::open`], to an open sink.
    pub(crate) fn to(
        (form, cells): (Form, Cells),
        schema: &SchemaRef,
        sink: Sink,
    ) -> Result<Writer> {
        let reader = sink.reader();
        let rows = |form: Shared, sink: Sink| {
            let rows = Rows::new((form, cells), schema, sink, reader)?;
            Ok::<Encoder, SqlError>(Encoder::Rows(Box::new(rows)))
        };
        let form = match form {
            Form::Null => rows(Shared::Null, sink)?,
            Form::Stream => Encoder::Stream(Box::new(file::Stream::new(schema, sink)?)),
            Form::Named(Format::Table) => Encoder::Table(Table::new(schema, sink, reader)),
            Form::Named(Format::Csv) => rows(Shared::Csv, sink)?,
            Form::Named(Format::Tsv) => Encoder::Tabs(Tabs::new(schema, sink, reader)?),
            Form::Named(Format::Json) => rows(Shared::Json, sink)?,
            Form::Named(Format::Parquet) => {
                Encoder::Parquet(Box::new(file::Parquet::new(schema, sink)?))
            }
            Form::Named(Format::Arrow) => Encoder::Arrow(Box::new(file::Arrow::new(schema, sink)?)),
        };
        Ok(Writer { form })
    }

    /// Writes some rows.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match &mut self.form {
            Encoder::Table(out) => out.write(batch),
            Encoder::Tabs(out) => out.write(batch),
            Encoder::Rows(out) => out.write(batch),
            Encoder::Stream(out) => out.write(batch),
            Encoder::Parquet(out) => out.write(batch),
            Encoder::Arrow(out) => out.write(batch),
        }
    }

    /// Writes the remaining bytes and completes a file.
    pub(crate) fn finish(self) -> Result<()> {
        let sink = match self.form {
            Encoder::Table(out) => out.finish()?,
            Encoder::Tabs(out) => out.finish(),
            Encoder::Rows(out) => out.finish(),
            Encoder::Stream(out) => out.finish()?,
            Encoder::Parquet(out) => out.finish()?,
            Encoder::Arrow(out) => out.finish()?,
        };
        sink.finish()
    }
}
