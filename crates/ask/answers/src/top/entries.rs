//! Ranks files by size or time.

use trawl_model::sort_key::Direction;
use trawl_model::{SortKey, TimeKind, mapped, path};
use trawl_query::{Entry, RankBy, RankEnd, RankRequest, Ranked, RowTest};
use trawl_session::Session;
use trawl_session::spelling::printed_path;

use super::{Place, SizeKind, Subject, TopOptions};
use crate::error::AnswerError;

/// Returns the first entries at and below the places.
pub(super) fn first(
    options: &TopOptions<'_>,
    session: &Session<'_>,
    places: &[Place],
) -> Result<Vec<(Vec<u8>, Entry)>, AnswerError> {
    let mut found: Vec<(Vec<u8>, Entry)> = Vec::new();
    for place in places {
        let entries = ranked(options, session, place)?.into_iter();
        let spelled = |entry: &Entry| printed_path(&place.given, &place.start.path, &entry.path);
        found.extend(entries.map(|entry| (spelled(&entry), entry)));
    }
    if places.len() > 1 {
        // The entries of each place are already in order.
        found.sort_by(|(_, a), (_, b)| {
            let order = key(options, b).cmp(&key(options, a));
            order.then_with(|| path::cmp(&a.path, &b.path))
        });
        found.truncate(options.limit);
    }
    Ok(found)
}

fn by(options: &TopOptions<'_>) -> (RankBy, RankEnd) {
    match (options.subject, options.size) {
        (Subject::Oldest(time), _) => (of_index(time), RankEnd::Least),
        (Subject::Newest(time), _) => (of_index(time), RankEnd::Greatest),
        (_, SizeKind::Apparent) => (RankBy::Size, RankEnd::Greatest),
        (_, SizeKind::Allocated) => (RankBy::Blocks, RankEnd::Greatest),
    }
}

fn of_index(time: TimeKind) -> RankBy {
    match time {
        TimeKind::Modified => RankBy::Modified,
        TimeKind::Accessed => RankBy::Accessed,
        TimeKind::Changed => RankBy::Changed,
        TimeKind::Born => RankBy::Created,
    }
}

fn ranked(
    options: &TopOptions<'_>,
    session: &Session<'_>,
    place: &Place,
) -> Result<Vec<Entry>, AnswerError> {
    let sieve = options
        .expression
        .at(session.index(), &place.start, &place.given);
    let (by, end) = by(options);
    let request = RankRequest {
        by,
        end,
        of: match options.expression.asks_for_type() {
            true => Ranked::Everything,
            false => Ranked::Files,
        },
        limit: options.limit,
        columns: options.columns,
        test: sieve.as_ref().map(|sieve| sieve as &dyn RowTest),
        threads: None,
        cancel: session.cancel(),
    };
    Ok(session.index().ranked(&place.start, &request)?)
}

/// Returns the position of an entry among those of several machines, whose paths are those that the
/// asker knows.
pub(super) fn position(options: &TopOptions<'_>, entry: &Entry) -> SortKey {
    let position = SortKey::default().number(Some(key(options, entry)), Direction::Down);
    position.path(&mapped::theirs(&entry.path))
}

/// Returns the key by which entries of several places are ordered, the greatest first.
fn key(options: &TopOptions<'_>, entry: &Entry) -> i128 {
    let meta = entry.row().meta();
    let time = |kind: TimeKind| kind.of(&meta).unwrap_or_default().as_nanos();
    match options.subject {
        Subject::Oldest(kind) => -time(kind),
        Subject::Newest(kind) => time(kind),
        _ => options.size.of(meta.size, meta.blocks).into(),
    }
}
