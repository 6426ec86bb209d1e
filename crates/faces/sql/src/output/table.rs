//! Formats columns for people. The first rows determine the widths; longer values later push their
//! line out, so that rows can be written as they come.

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};

use super::Reader;
use super::cells::{for_each_row, without_controls};
use super::file::{Sink, arrow_error};
use crate::error::Result;

/// Number of rows that are measured before the first is written.
const LOOKED_AT: usize = 1000;
/// Maximum column width that is chosen for long values.
const WIDEST: usize = 100;

/// The columns of an `EXPLAIN` answer.
const PLAN: [&str; 2] = ["plan_type", "plan"];

/// A table in progress.
pub(super) struct Table {
    sink: Sink,
    reader: Reader,
    names: Vec<String>,
    is_number: Vec<bool>,
    widths: Option<Vec<usize>>,
    waiting: Vec<Vec<String>>,
    rows: u64,
}

impl Table {
    pub(super) fn new(schema: &SchemaRef, sink: Sink, reader: Reader) -> Table {
        let fields = schema.fields();
        Table {
            sink,
            reader,
            names: fields
                .iter()
                .map(|field| without_controls(field.name()))
                .collect(),
            is_number: fields
                .iter()
                .map(|field| is_number(field.data_type()))
                .collect(),
            widths: None,
            waiting: Vec::new(),
            rows: 0,
        }
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let is_plan = self.names == PLAN;
        let mut rows = Vec::with_capacity(batch.num_rows());
        for_each_row(batch, |row| {
            match row {
                [kind, Some(plan)] if is_plan => rows.extend(plan_rows(kind.as_deref(), plan)),
                row => rows.push(row.iter().map(|value| shown(value.as_deref())).collect()),
            }
            Ok(())
        })
        .map_err(arrow_error)?;
        self.rows += batch.num_rows() as u64;
        match self.widths {
            Some(_) => self.put_rows(&rows),
            None => {
                self.waiting.extend(rows);
                match self.waiting.len() >= LOOKED_AT {
                    true => self.begin(),
                    false => Ok(()),
                }
            }
        }
    }

    /// Determines the widths; writes the heading and the rows so far.
    fn begin(&mut self) -> Result<()> {
        let width = |at: usize, name: &String| {
            let values = self.waiting.iter().filter_map(|row| row.get(at));
            let longest = values.map(|value| value.chars().count()).max();
            longest
                .unwrap_or_default()
                .min(WIDEST)
                .max(name.chars().count())
        };
        let widths: Vec<usize> = self
            .names
            .iter()
            .enumerate()
            .map(|(at, name)| width(at, name))
            .collect();
        let rule = widths
            .iter()
            .map(|width| "-".repeat(width + 2))
            .collect::<Vec<_>>();
        self.widths = Some(widths);
        let names = vec![self.names.clone()];
        self.put_rows(&names)?;
        self.sink.put(format!("{}\n", rule.join("+")).as_bytes())?;
        let waiting = std::mem::take(&mut self.waiting);
        self.put_rows(&waiting)
    }

    fn put_rows(&mut self, rows: &[Vec<String>]) -> Result<()> {
        let widths = self.widths.as_deref().unwrap_or_default();
        let mut text = String::new();
        for row in rows {
            for (at, value) in row.iter().enumerate() {
                let width = widths.get(at).copied().unwrap_or_default();
                let padding = " ".repeat(width.saturating_sub(value.chars().count()));
                let is_last = at + 1 == row.len();
                text.push_str(if at > 0 { " | " } else { " " });
                match self.is_number.get(at) {
                    Some(true) => text.push_str(&format!("{padding}{value}")),
                    // No blanks at the end of a line.
                    _ if is_last => text.push_str(value),
                    _ => text.push_str(&format!("{value}{padding}")),
                }
            }
            text.push('\n');
        }
        self.sink.put(text.as_bytes())
    }

    pub(super) fn finish(mut self) -> Result<Sink> {
        if self.widths.is_none() {
            self.begin()?;
        }
        if self.reader == Reader::Terminal {
            let noun = if self.rows == 1 { "row" } else { "rows" };
            self.sink
                .put(format!("({} {noun})\n", self.rows).as_bytes())?;
        }
        Ok(self.sink)
    }
}

fn shown(value: Option<&str>) -> String {
    value.map_or_else(String::new, without_controls)
}

/// Formats a plan, with each of its lines as one row.
fn plan_rows(kind: Option<&str>, plan: &str) -> Vec<Vec<String>> {
    let kinds = std::iter::once(shown(kind)).chain(std::iter::repeat(String::new()));
    let lines = plan.trim_end().lines().map(without_controls);
    kinds
        .zip(lines)
        .map(|(kind, line)| vec![kind, line])
        .collect()
}

fn is_number(kind: &DataType) -> bool {
    kind.is_numeric()
}
