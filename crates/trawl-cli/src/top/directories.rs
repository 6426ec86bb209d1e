//! Ranks directories by everything below them, or by the number of their own entries. No entry is
//! looked at.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use trawl_query::{Detail, SeenLinks, UsageRequest};

use super::render::{Amount, Style, lines};
use super::{Ask, Measure, Place, Subject};
use crate::failure::Failure;
use crate::rows::{Form, Report};
use crate::scope::{Session, printed_path};
use trawl_report::{Row, Schema, fields};

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "a directory with everything below it",
    fields: &[
        fields::PATH.with_null(),
        fields::ENTRIES,
        fields::SIZE,
        fields::DISK_BYTES,
    ],
    samples: &["top --dirs", "top --fullest"],
};

/// Sums of a directory, ordered by rank and then by path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    rank: Reverse<u64>,
    path: Vec<u8>,
    size_bytes: u64,
    blocks: u64,
    entries: u64,
}

impl Held {
    fn fill(&self, row: &mut Row<'_>) {
        row.put(&fields::PATH, &self.path)
            .put(&fields::ENTRIES, self.entries)
            .put(&fields::SIZE, self.size_bytes)
            .put(&fields::DISK_BYTES, self.blocks.saturating_mul(512));
    }
}

/// The best directories so far; the last of them is on top of the heap.
struct Best {
    heap: BinaryHeap<Held>,
    limit: usize,
}

impl Best {
    /// Returns true if a directory of this rank may be among the best.
    fn admits(&self, rank: u64) -> bool {
        self.heap.len() < self.limit || self.heap.peek().is_some_and(|last| rank >= last.rank.0)
    }

    fn offer(&mut self, held: Held) {
        self.heap.push(held);
        if self.heap.len() > self.limit {
            self.heap.pop();
        }
    }
}

/// Writes the best directories at and below the places.
pub(super) fn write(
    ask: &Ask<'_>,
    session: &Session,
    places: &[Place],
    report: &mut Report,
) -> Result<(), Failure> {
    let mut best = Best {
        heap: BinaryHeap::new(),
        limit: ask.limit,
    };
    let mut seen = SeenLinks::new();
    for place in places.iter().filter(|place| place.start.is_dir) {
        match ask.subject {
            Subject::Fullest => add_fullest(ask, session, place, &mut best)?,
            _ => add_subtrees(ask, session, place, &mut seen, &mut best)?,
        }
    }
    let found = best.heap.into_sorted_vec();
    if report.form() != Form::Text {
        report.begin()?;
        return Ok(found
            .iter()
            .try_for_each(|held| report.row(|row| held.fill(row)))?);
    }
    let is_number = ask.subject == Subject::Fullest || ask.by == Measure::Entries;
    let amount = |held: &Held| match is_number {
        true => Amount::Number(held.entries),
        false => Amount::Size(ask.bytes(held.size_bytes, held.blocks)),
    };
    let rows: Vec<(Amount, Vec<u8>)> = found
        .iter()
        .map(|held| (amount(held), held.path.clone()))
        .collect();
    let whole = match is_number {
        true => ask.whole.sums.entries(),
        false => ask.whole_bytes(),
    };
    let style = Style {
        units: ask.exact,
        terminal: ask.terminal,
        ink: ask.ink,
    };
    Ok(report.put(lines(&rows, whole, style))?)
}

fn add_subtrees(
    ask: &Ask<'_>,
    session: &Session,
    place: &Place,
    seen: &mut SeenLinks,
    best: &mut Best,
) -> Result<(), Failure> {
    let request = UsageRequest {
        detail: Detail::Listed,
        cancel: crate::live::cancel(),
        ..UsageRequest::default()
    };
    session
        .index()
        .usage(&place.start, &request, seen, |directory| {
            let usage = directory.usage;
            // The directory does not count as one of its own entries.
            let entries = usage.inodes.saturating_sub(1);
            let rank = match ask.by {
                Measure::Entries => entries,
                Measure::Space => ask.bytes(usage.size_bytes, usage.blocks),
            };
            if best.admits(rank) {
                best.offer(Held {
                    rank: Reverse(rank),
                    path: printed_path(&place.given, &place.start.path, directory.path),
                    size_bytes: usage.size_bytes,
                    blocks: usage.blocks,
                    entries,
                });
            }
            ControlFlow::Continue(())
        })?;
    Ok(())
}

fn add_fullest(
    ask: &Ask<'_>,
    session: &Session,
    place: &Place,
    best: &mut Best,
) -> Result<(), Failure> {
    let cancel = crate::live::cancel();
    for directory in session.index().fullest(&place.start, ask.limit, cancel)? {
        let rank = directory.rows();
        if best.admits(rank) {
            best.offer(Held {
                rank: Reverse(rank),
                path: printed_path(&place.given, &place.start.path, &directory.path),
                size_bytes: directory.sums.size_bytes,
                blocks: directory.sums.blocks,
                entries: rank,
            });
        }
    }
    Ok(())
}
