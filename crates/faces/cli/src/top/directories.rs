//! Writes ranked directories.

use trawl_answers::top::{Measure, Ranked, Subject, Top};
use trawl_report::{Row, Schema, fields, schema};

use super::Ask;
use super::merged::{self, Line};
use super::render::Amount;
use crate::failure::Failure;
use crate::rows::{Form, Report};

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "a directory with everything below it",
    fields: &[
        fields::PATH.always().with_null(),
        fields::ENTRIES.always(),
        fields::SIZE.always(),
        fields::DISK_BYTES.always(),
    ],
    forms: schema::ROWS,
    samples: &["top --dirs", "top --fullest"],
};

/// Writes the best directories.
pub(super) fn write(
    ask: &Ask<'_>,
    top: &Top,
    found: &[Ranked],
    report: &mut Report,
) -> Result<(), Failure> {
    if report.form() != Form::Text {
        report.begin()?;
        report.output().begin_rows(Some(ask.limit()), &[])?;
        return found.iter().try_for_each(|ranked| {
            report.row(|row| fill(row, ranked))?;
            report.output().end_row(|| ranked.position())
        });
    }
    let is_number = ask.options.subject == Subject::Fullest || ask.options.by == Measure::Entries;
    let amount = |ranked: &Ranked| match is_number {
        true => Amount::Number(ranked.entries),
        false => Amount::Size(ask.options.size.of(ranked.size_bytes, ranked.blocks)),
    };
    let lines = found.iter().map(|ranked| Line {
        position: ranked.position(),
        amount: amount(ranked),
        name: ranked.path.clone(),
    });
    let whole = match is_number {
        true => top.whole_entries(),
        false => top.whole_bytes(ask.options.size),
    };
    merged::put(ask, lines.collect(), whole, report)
}

fn fill(row: &mut Row<'_>, ranked: &Ranked) {
    row.put(&fields::PATH, &ranked.path)
        .put(&fields::ENTRIES, ranked.entries)
        .put(&fields::SIZE, ranked.size_bytes)
        .put(&fields::DISK_BYTES, ranked.blocks.saturating_mul(512));
}
