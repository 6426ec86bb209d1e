//! Ranks owners, groups, extensions and projects by the sums of their entries.

use std::cmp::Reverse;

use trawl_query::{Count, LinkCount, RowTest, Stats, StatsRequest, Trait};
use trawl_session::Session;
use trawl_text::owners::Owners;

use super::{Measure, Place, TopOptions};
use crate::error::AnswerError;
use crate::stats::{By, Group, Sums, arranged, groups};

/// Returns the groups of entries at and below the places, and the sum that shares refer to.
pub(super) fn ranked(
    options: &TopOptions<'_>,
    by: By,
    session: &Session<'_>,
    places: &[Place],
    owners: &Owners,
) -> Result<(Vec<Group>, Count), AnswerError> {
    let mut all = Stats::default();
    for place in places {
        let sieve = options
            .expression
            .at(session.index(), &place.start, &place.given);
        let request = StatsRequest {
            now: options.now,
            traits: &[by.of_index(), Trait::Type],
            links: LinkCount::Once,
            test: sieve.as_ref().map(|sieve| sieve as &dyn RowTest),
            cancel: session.cancel(),
            ..StatsRequest::default()
        };
        all.merge(session.index().stats(&place.start, &request)?);
    }
    let mut rows = arranged(&by.into(), groups(by, &all, owners), usize::MAX);
    rank(options, &mut rows);
    let whole = match by.of_index().is_of_files() {
        true => sum(&rows),
        false => all.whole,
    };
    Ok((rows, whole))
}

/// Sorts the groups, those without a key last. Equal ones stay in their order.
fn rank(options: &TopOptions<'_>, rows: &mut [Group]) {
    let quantity = |count: &Count| match options.by {
        Measure::Entries => count.entries,
        Measure::Space => options.size.of_count(count),
    };
    rows.sort_by_key(|row| (row.key.is_none(), Reverse(quantity(&row.count))));
}

/// Ranks the groups of several machines.
pub(super) fn merged(options: &TopOptions<'_>, by: By, all: Sums) -> Vec<Group> {
    let mut rows = arranged(&by.into(), all.into_groups(), usize::MAX);
    rank(options, &mut rows);
    rows
}

fn sum(rows: &[Group]) -> Count {
    let mut sum = Count::default();
    rows.iter().for_each(|row| sum.add(&row.count));
    sum
}
