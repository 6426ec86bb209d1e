//! Ranks owners, groups, extensions and projects by the sums of their entries.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use trawl_model::Timestamp;
use trawl_query::{Count, LinkCount, RowTest, Stats, StatsRequest, Trait};

use super::{Ask, Measure, Place, SizeKind};
use crate::failure::Failure;
use crate::output::Output;
use crate::rows::Form;
use crate::scope::Session;
use crate::stats::groups::{Group, groups};
use crate::stats::render::{Weight, section};
use crate::stats::{By, csv, json, shortened};

/// Writes the first groups of entries at and below the places.
pub(super) fn write(
    ask: &Ask<'_>,
    by: By,
    session: &Session,
    places: &[Place],
    now: Timestamp,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut all = Stats::default();
    for place in places {
        let sieve = ask
            .expression
            .at(session.index(), &place.start, &place.given);
        let request = StatsRequest {
            now,
            traits: &[by.of_index(), Trait::Type],
            links: LinkCount::Once,
            test: sieve.as_ref().map(|sieve| sieve as &dyn RowTest),
            cancel: crate::live::cancel(),
            ..StatsRequest::default()
        };
        all.merge(session.index().stats(&place.start, &request)?);
    }
    let weight = match (ask.by, ask.size) {
        (Measure::Entries, _) => Weight::Entries,
        (_, SizeKind::Apparent) => Weight::Content,
        (_, SizeKind::Allocated) => Weight::Disk,
    };
    let mut rows = groups(by, &all, &ask.owners, usize::MAX);
    rows.sort_by_key(|row| (row.key.is_none(), Reverse(weight.of(&row.count))));
    let given = match places {
        [only] => OsStr::from_bytes(&only.given),
        _ => OsStr::new(""),
    };
    let limited = || rows.iter().take(ask.limit);
    match ask.form {
        Form::Null => limited().try_for_each(|row| {
            output.put(row.key.as_ref().unwrap_or(&row.label))?;
            output.put(b"\0")
        }),
        Form::Json => limited().try_for_each(|row| output.put(json(given, row))),
        Form::Csv => {
            output.put(crate::stats::CSV_HEADER)?;
            limited().try_for_each(|row| output.put(csv(given, row)))
        }
        Form::Text => {
            let whole = match by.of_index().is_of_files() {
                true => sum(&rows),
                false => all.whole,
            };
            let rows = shortened(rows, ask.limit);
            output.put(section(
                by.name(),
                &rows,
                (whole, weight),
                ask.terminal,
                ask.ink,
            ))
        }
    }
}

fn sum(rows: &[Group]) -> Count {
    let mut sum = Count::default();
    rows.iter().for_each(|row| sum.add(&row.count));
    sum
}
