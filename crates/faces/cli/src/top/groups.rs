//! Writes ranked owners, groups, extensions and projects.

use std::ffi::OsStr;
use std::io::Write;

use trawl_answers::stats::{Group, shortened};
use trawl_answers::top::{Measure, SizeKind, Subject};
use trawl_query::Count;

use super::Ask;
use crate::failure::Failure;
use crate::rows::Form;
use crate::stats::fill;
use crate::stats::render::{Weight, section};
use trawl_report::{Report, Schema, schema};

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "a group of entries",
    fields: &crate::stats::FIELDS,
    forms: schema::ROWS,
    samples: &["top --owners", "top --extensions"],
};

/// Writes the first groups of the only path that was `given`, if there is only one; shares are of
/// `whole`.
pub(super) fn write<W: Write>(
    ask: &Ask<'_>,
    given: &OsStr,
    rows: &[Group],
    whole: Count,
    report: &mut Report<W>,
) -> Result<(), Failure> {
    let limit = ask.options.limit;
    let weight = match (ask.options.by, ask.options.size) {
        (Measure::Entries, _) => Weight::Entries,
        (_, SizeKind::Apparent) => Weight::Content,
        (_, SizeKind::Allocated) => Weight::Disk,
    };
    if report.form() != Form::Text {
        report.begin()?;
        for row in rows.iter().take(limit) {
            report.row(|printed| fill(printed, given, row))?;
        }
        return Ok(());
    }
    let title = match ask.options.subject {
        Subject::Groups(by) => by.name(),
        _ => "",
    };
    let rows = shortened(rows.to_vec(), limit);
    let text = section(title, &rows, (whole, weight), ask.terminal, ask.ink);
    Ok(report.put(text)?)
}
