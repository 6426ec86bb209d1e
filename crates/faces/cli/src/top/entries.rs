//! Ranks files by size or time.

use trawl_answers::top::{Subject, Top};
use trawl_find::record;
use trawl_query::Entry;
use trawl_report::{Schema, schema};
use trawl_text::time_style::long_iso;

use super::Ask;
use super::render::{Amount, Style, lines};
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
        for (path, entry) in found {
            let item = Item::from_row(&entry.row(), path);
            report.row(|row| rows::fill(row, path, &item, &ask.owners))?;
        }
        return Ok(());
    }
    let rows: Vec<(Amount, Vec<u8>)> = found
        .iter()
        .map(|(path, entry)| (amount(ask, entry), path.clone()))
        .collect();
    let style = Style {
        units: ask.exact,
        terminal: ask.terminal,
        ink: ask.ink,
    };
    Ok(report.put(lines(&rows, top.whole_bytes(ask.options.size), style))?)
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
