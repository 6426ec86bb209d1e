//! Ranks files by size or time.

use trawl_model::path;
use trawl_query::{Entry, RankBy, RankEnd, RankRequest, Ranked, RowTest};
use trawl_text::time_style::long_iso;

use super::render::{Amount, Style, lines};
use super::{Ask, Clock, Place, SizeKind, Subject, Writing};
use crate::failure::Failure;
use crate::ls::item::{COLUMNS, Item};
use crate::output::Output;
use crate::rows::{self, Form};
use crate::scope::{Session, printed_path};

/// Writes the first entries at and below the places.
pub(super) fn write(
    ask: &Ask<'_>,
    session: &Session,
    places: &[Place],
    output: &mut Output,
) -> Result<(), Failure> {
    let mut found: Vec<(Vec<u8>, Entry)> = Vec::new();
    for place in places {
        let entries = ranked(ask, session, place)?.into_iter();
        let spelled = |entry: &Entry| printed_path(&place.given, &place.start.path, &entry.path);
        found.extend(entries.map(|entry| (spelled(&entry), entry)));
    }
    if places.len() > 1 {
        // The entries of each place are already in order.
        found.sort_by(|(_, a), (_, b)| {
            let order = key(ask, b).cmp(&key(ask, a));
            order.then_with(|| path::cmp(&a.path, &b.path))
        });
        found.truncate(ask.limit);
    }
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
                .into_iter()
                .map(|(path, entry)| (amount(ask, &entry), path))
                .collect();
            let style = Style {
                units: ask.exact,
                terminal: ask.terminal,
                ink: ask.ink,
            };
            output.put(lines(&rows, ask.whole_bytes(), style))
        }
    }
}

fn by(ask: &Ask<'_>) -> (RankBy, RankEnd) {
    match (ask.subject, ask.size) {
        (Subject::Oldest(clock), _) => (clock.of_index(), RankEnd::Least),
        (Subject::Newest(clock), _) => (clock.of_index(), RankEnd::Greatest),
        (_, SizeKind::Apparent) => (RankBy::Size, RankEnd::Greatest),
        (_, SizeKind::Allocated) => (RankBy::Blocks, RankEnd::Greatest),
    }
}

fn ranked(ask: &Ask<'_>, session: &Session, place: &Place) -> Result<Vec<Entry>, Failure> {
    let sieve = ask
        .expression
        .at(session.index(), &place.start, &place.given);
    let (by, end) = by(ask);
    let request = RankRequest {
        by,
        end,
        of: match ask.expression.asks_for_type() {
            true => Ranked::Everything,
            false => Ranked::Files,
        },
        limit: ask.limit,
        columns: COLUMNS,
        test: sieve.as_ref().map(|sieve| sieve as &dyn RowTest),
        threads: None,
        cancel: crate::live::cancel(),
    };
    Ok(session.index().ranked(&place.start, &request)?)
}

/// Returns the key by which entries of several places are ordered, the greatest first.
fn key(ask: &Ask<'_>, entry: &Entry) -> i128 {
    let meta = entry.row().meta();
    let time = |clock: Clock| {
        let time = match clock {
            Clock::Mtime => meta.mtime,
            Clock::Atime => meta.atime,
            Clock::Ctime => meta.ctime,
            Clock::Btime => meta.btime.unwrap_or_default(),
        };
        time.as_nanos()
    };
    match ask.subject {
        Subject::Oldest(clock) => -time(clock),
        Subject::Newest(clock) => time(clock),
        _ => ask.bytes(meta.size, meta.blocks).into(),
    }
}

fn amount(ask: &Ask<'_>, entry: &Entry) -> Amount {
    let row = entry.row();
    let bytes = ask.bytes(row.size(), row.blocks());
    let (Subject::Oldest(clock) | Subject::Newest(clock)) = ask.subject else {
        return Amount::Size(bytes);
    };
    let time = match clock {
        Clock::Mtime => row.mtime(),
        Clock::Atime => row.atime(),
        Clock::Ctime => row.ctime(),
        Clock::Btime => row.btime().unwrap_or_default(),
    };
    let mut text = String::new();
    long_iso(&mut text, time, &ask.zone);
    Amount::Time(text, bytes)
}
