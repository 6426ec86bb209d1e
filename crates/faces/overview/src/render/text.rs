//! An overview as plain text: the part of a mail that every program shows.

use std::fmt::Write as _;

use trawl_report::width::width;
use trawl_text::words::counted;

use crate::document::{Align, Cell, Curve, Document, Part, Section, Table};
use crate::names::visible;
use crate::numbers;

/// Levels of a line of growth.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns the overview as text.
pub fn text(document: &Document) -> String {
    let mut out = String::new();
    let title = visible(&document.title);
    let _ = writeln!(out, "{title}\n{}", "=".repeat(width(title.as_bytes())));
    for (name, value) in &document.origin {
        let _ = writeln!(out, "{name}: {}", visible(value));
    }
    for section in &document.sections {
        push_section(&mut out, section);
    }
    out
}

fn push_section(out: &mut String, section: &Section) {
    let line = "-".repeat(width(section.title.as_bytes()));
    let _ = writeln!(out, "\n\n{}\n{line}", section.title);
    if !section.about.is_empty() {
        let _ = writeln!(out, "{}", visible(section.about.as_bytes()));
    }
    for part in &section.parts {
        match part {
            Part::Sentence(sentence) => {
                let _ = writeln!(out, "\n{}", visible(sentence));
            }
            Part::Table(table) => push_table(out, table),
            // The table beside it has the same numbers.
            Part::Tiles(_) => {}
            Part::Curve(curve) => push_curve(out, curve),
        }
    }
    out.push('\n');
    for (place, time) in &section.as_of {
        let _ = writeln!(out, "As of {time}: {}", visible(place));
    }
    let _ = writeln!(out, "{}", if_complete(section));
    for remark in &section.remarks {
        let _ = writeln!(out, "  {}", visible(remark.as_bytes()));
    }
    if section.remarks_left_out > 0 {
        let more = counted(section.remarks_left_out, "further message");
        let _ = writeln!(out, "  and {more}");
    }
    for command in &section.commands {
        let _ = writeln!(out, "$ {}", visible(command.as_bytes()));
    }
}

/// Says whether something is missing.
pub(crate) fn if_complete(section: &Section) -> &'static str {
    match section.is_complete() {
        true => "Nothing is missing.",
        false => "INCOMPLETE: not everything could be read.",
    }
}

/// Writes a table. Names come last, so that long ones spoil no column.
fn push_table(out: &mut String, table: &Table) {
    let _ = writeln!(out, "\n{}", visible(&table.caption));
    let order: Vec<usize> = (1..table.columns.len()).chain([0]).collect();
    let heads = table.columns.iter().map(|column| column.heading.to_owned());
    let rows = table.rows.iter().map(|row| row.iter().map(shown).collect());
    let rows: Vec<Vec<String>> = std::iter::once(heads.collect()).chain(rows).collect();
    let wide = |at: usize| rows.iter().filter_map(move |row| row.get(at));
    let wide = |at: usize| wide(at).map(|cell| width(cell.as_bytes())).max();
    let widths: Vec<usize> = order.iter().map(|at| wide(*at).unwrap_or(0)).collect();
    for row in &rows {
        let mut line = String::from(" ");
        for (at, wide) in order.iter().zip(&widths) {
            let cell = row.get(*at).map_or("", String::as_str);
            let room = " ".repeat(wide.saturating_sub(width(cell.as_bytes())));
            let align = table.columns.get(*at).map(|column| column.align);
            let _ = match align {
                Some(Align::Right) => write!(line, " {room}{cell} "),
                _ => write!(line, " {cell}{room} "),
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => visible(text.as_bytes()),
        Cell::Name(name) => visible(name),
        Cell::Share(share) => numbers::share(*share),
    }
}

fn push_curve(out: &mut String, curve: &Curve) {
    let values = || curve.points.iter().map(|(_, bytes)| *bytes);
    let (least, most) = (values().min().unwrap_or(0), values().max().unwrap_or(0));
    let level = |bytes: u64| {
        let share = numbers::part_of(bytes - least, most - least);
        let at = (share * (LEVELS.len() - 1) as f64).round() as usize;
        LEVELS.get(at).copied().unwrap_or(' ')
    };
    let line: String = values().map(level).collect();
    let (least, most) = (numbers::size(least), numbers::size(most));
    let caption = visible(&curve.caption);
    let _ = writeln!(out, "\n{caption}: {line} ({least} to {most})");
}
