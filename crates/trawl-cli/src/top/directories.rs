//! Writes ranked directories.

use trawl_answers::top::{Measure, Ranked, Subject, Top};
use trawl_text::json::Object;

use super::render::{Amount, Style, lines};
use super::{Ask, Writing};
use crate::csv::Line;
use crate::failure::Failure;
use crate::output::Output;
use crate::rows::Form;

/// Writes the best directories.
pub(super) fn write(
    ask: &Ask<'_>,
    top: &Top,
    found: &[Ranked],
    output: &mut Output,
) -> Result<(), Failure> {
    match ask.writing {
        Writing::Null => found.iter().try_for_each(|held| {
            output.put(&held.path)?;
            output.put(b"\0")
        }),
        Writing::Rows(Form::Json) => found
            .iter()
            .try_for_each(|held| output.put(json(held).close() + "\n")),
        Writing::Rows(Form::Csv) => {
            output.put("path,path_raw,entries,size,disk_bytes\n")?;
            found.iter().try_for_each(|held| output.put(csv(held)))
        }
        Writing::Rows(Form::Text) => {
            let is_number =
                ask.options.subject == Subject::Fullest || ask.options.by == Measure::Entries;
            let amount = |held: &Ranked| match is_number {
                true => Amount::Number(held.entries),
                false => Amount::Size(ask.options.size.of(held.size_bytes, held.blocks)),
            };
            let rows: Vec<(Amount, Vec<u8>)> = found
                .iter()
                .map(|held| (amount(held), held.path.clone()))
                .collect();
            let whole = match is_number {
                true => top.whole_entries(),
                false => top.whole_bytes(ask.options.size),
            };
            let style = Style {
                units: ask.exact,
                terminal: ask.terminal,
                ink: ask.ink,
            };
            output.put(lines(&rows, whole, style))
        }
    }
}

fn json(held: &Ranked) -> Object {
    Object::new()
        .bytes("path", &held.path)
        .number("entries", held.entries)
        .number("size", held.size_bytes)
        .number("disk_bytes", held.blocks.saturating_mul(512))
}

fn csv(held: &Ranked) -> Vec<u8> {
    Line::new()
        .path(&held.path)
        .value(held.entries)
        .value(held.size_bytes)
        .value(held.blocks.saturating_mul(512))
        .close()
}
