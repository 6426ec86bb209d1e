//! Ranks owners, groups, extensions and projects by the sums of their entries.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use trawl_model::Timestamp;
use trawl_query::{Count, LinkCount, RowTest, Stats, StatsRequest, Trait};

use super::{Ask, Measure, Place, SizeKind};
use crate::failure::Failure;
use crate::rows::{Form, Report};
use crate::scope::Session;
use crate::stats::groups::{Group, groups};
use crate::stats::render::{Weight, section};
use crate::stats::{By, fill, shortened};
use trawl_report::Schema;

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "a group of entries",
    fields: &crate::stats::FIELDS,
    samples: &["top --owners", "top --extensions"],
};

/// Writes the first groups of entries at and below the places.
pub(super) fn write(
    ask: &Ask<'_>,
    by: By,
    session: &Session,
    places: &[Place],
    now: Timestamp,
    report: &mut Report,
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
    if report.form() != Form::Text {
        report.begin()?;
        for row in rows.iter().take(ask.limit) {
            report.row(|printed| fill(printed, given, row))?;
        }
        return Ok(());
    }
    let whole = match by.of_index().is_of_files() {
        true => sum(&rows),
        false => all.whole,
    };
    let rows = shortened(rows, ask.limit);
    let text = section(by.name(), &rows, (whole, weight), ask.terminal, ask.ink);
    Ok(report.put(text)?)
}

fn sum(rows: &[Group]) -> Count {
    let mut sum = Count::default();
    rows.iter().for_each(|row| sum.add(&row.count));
    sum
}
