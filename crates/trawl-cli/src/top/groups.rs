//! Writes ranked owners, groups, extensions and projects.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use trawl_answers::stats::{Group, shortened};
use trawl_answers::top::{Measure, SizeKind, Subject, Top};
use trawl_query::Count;

use super::{Ask, Writing};
use crate::failure::Failure;
use crate::output::Output;
use crate::rows::Form;
use crate::stats::render::{Weight, section};
use crate::stats::{csv, json};

/// Writes the first groups; shares are of `whole`.
pub(super) fn write(
    ask: &Ask<'_>,
    top: &Top,
    rows: &[Group],
    whole: Count,
    output: &mut Output,
) -> Result<(), Failure> {
    let limit = ask.options.limit;
    let weight = match (ask.options.by, ask.options.size) {
        (Measure::Entries, _) => Weight::Entries,
        (_, SizeKind::Apparent) => Weight::Content,
        (_, SizeKind::Allocated) => Weight::Disk,
    };
    let given = match &top.places[..] {
        [only] => OsStr::from_bytes(&only.given),
        _ => OsStr::new(""),
    };
    let limited = || rows.iter().take(limit);
    match ask.writing {
        Writing::Null => limited().try_for_each(|row| {
            output.put(row.key.as_ref().unwrap_or(&row.label))?;
            output.put(b"\0")
        }),
        Writing::Rows(Form::Json) => limited().try_for_each(|row| output.put(json(given, row))),
        Writing::Rows(Form::Csv) => {
            output.put(crate::stats::CSV_HEADER)?;
            limited().try_for_each(|row| output.put(csv(given, row)))
        }
        Writing::Rows(Form::Text) => {
            let title = match ask.options.subject {
                Subject::Groups(by) => by.name(),
                _ => "",
            };
            let rows = shortened(rows.to_vec(), limit);
            output.put(section(
                title,
                &rows,
                (whole, weight),
                ask.terminal,
                ask.ink,
            ))
        }
    }
}
