//! Ranks files by size or time.

use trawl_answers::top::{Subject, Top};
use trawl_find::record;
use trawl_query::Entry;
use trawl_report::{Schema, schema};
use trawl_text::time_style::long_iso;

use super::Ask;
use super::merged::{self, Line};
use super::render::Amount;
use crate::failure::Failure;
use crate::rows::{self, Form, Report};
use trawl_report::listing::Item;

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "a file",
    fields: &record::FIELDS,
    forms: schema::ROWS,
    samples: &["top"],
};

/// Writes the first entries.
pub(super) fn write(
    ask: &Ask<'_>,
    top: &Top,
    found: &[(Vec<u8>, Entry)],
    report: &mut Report,
) -> Result<(), Failure> {
    if report.form() != Form::Text {
        report.begin()?;
        report.output().begin_rows(Some(ask.limit()), &[])?;
        for (path, entry) in found {
            let item = Item::from_row(&entry.row(), path);
            report.row(|row| rows::fill(row, path, &item, &ask.owners))?;
            report.output().end_row(|| ask.options.position(entry))?;
        }
        return Ok(());
    }
    let lines = found.iter().map(|(path, entry)| Line {
        position: ask.options.position(entry),
        amount: amount(ask, entry),
        name: path.clone(),
    });
    let whole = top.whole_bytes(ask.options.size);
    merged::put(ask, lines.collect(), whole, report)
}

fn amount(ask: &Ask<'_>, entry: &Entry) -> Amount {
    let row = entry.row();
    let bytes = ask.options.size.of(row.size(), row.blocks());
    let (Subject::Oldest(kind) | Subject::Newest(kind)) = ask.options.subject else {
        return Amount::Size(bytes);
    };
    let mut text = String::new();
    let time = kind.of(&row.meta()).unwrap_or_default();
    long_iso(&mut text, time, &ask.zone);
    Amount::Time(text, bytes)
}
