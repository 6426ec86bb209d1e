//! Ranks files by size or time.

use trawl_answers::top::{Subject, Top};
use trawl_query::Entry;
use trawl_text::time_style::long_iso;

use super::render::{Amount, Style, lines};
use super::{Ask, Writing};
use crate::failure::Failure;
use crate::ls::item::Item;
use crate::output::Output;
use crate::rows::{self, Form};

/// Writes the first entries.
pub(super) fn write(
    ask: &Ask<'_>,
    top: &Top,
    found: &[(Vec<u8>, Entry)],
    output: &mut Output,
) -> Result<(), Failure> {
    match ask.writing {
        Writing::Null => found.iter().try_for_each(|(path, _)| {
            output.put(path)?;
            output.put(b"\0")
        }),
        Writing::Rows(Form::Json) => found.iter().try_for_each(|(path, entry)| {
            let item = Item::from_row(&entry.row(), path);
            output.put(rows::json(path, &item, &ask.owners).close() + "\n")
        }),
        Writing::Rows(Form::Csv) => {
            output.put(rows::csv_header())?;
            found.iter().try_for_each(|(path, entry)| {
                let item = Item::from_row(&entry.row(), path);
                output.put(rows::csv(path, &item, &ask.owners))
            })
        }
        Writing::Rows(Form::Text) => {
            let rows: Vec<(Amount, Vec<u8>)> = found
                .iter()
                .map(|(path, entry)| (amount(ask, entry), path.clone()))
                .collect();
            let style = Style {
                units: ask.exact,
                terminal: ask.terminal,
                ink: ask.ink,
            };
            output.put(lines(&rows, top.whole_bytes(ask.options.size), style))
        }
    }
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
