//! Ranks directories by everything below them, or by the number of their own entries. No entry is
//! looked at.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use trawl_model::SortKey;
use trawl_model::sort_key::Direction;
use trawl_query::{Detail, SeenLinks, UsageRequest};
use trawl_session::Session;
use trawl_session::spelling::printed_path;

use super::{Measure, Place, Subject, TopOptions};
use crate::error::AnswerError;

/// Sums of a directory, ordered by rank and then by path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ranked {
    rank: Reverse<u64>,
    /// Path, spelled as the user began.
    pub path: Vec<u8>,
    /// Apparent size in bytes.
    pub size_bytes: u64,
    /// Allocated space in blocks of 512 bytes.
    pub blocks: u64,
    /// Number of entries: below the directory or, for
    /// [`Subject::Fullest`](super::Subject::Fullest), in it.
    pub entries: u64,
}

impl Ranked {
    /// Returns the position among directories of several machines.
    #[must_use]
    pub fn position(&self) -> SortKey {
        let position = SortKey::default().number(Some(self.rank.0.into()), Direction::Down);
        position.text(&self.path, Direction::Up)
    }
}

/// The best directories so far; the last of them is on top of the heap.
struct Best {
    heap: BinaryHeap<Ranked>,
    limit: usize,
}

impl Best {
    /// Returns true if a directory of this rank may be among the best.
    fn admits(&self, rank: u64) -> bool {
        self.heap.len() < self.limit || self.heap.peek().is_some_and(|last| rank >= last.rank.0)
    }

    fn offer(&mut self, held: Ranked) {
        self.heap.push(held);
        if self.heap.len() > self.limit {
            self.heap.pop();
        }
    }
}

/// Returns the best directories at and below the places.
pub(super) fn first(
    options: &TopOptions<'_>,
    session: &Session<'_>,
    places: &[Place],
) -> Result<Vec<Ranked>, AnswerError> {
    let mut best = Best {
        heap: BinaryHeap::new(),
        limit: options.limit,
    };
    let mut seen = SeenLinks::new();
    for place in places.iter().filter(|place| place.start.is_dir) {
        match options.subject {
            Subject::Fullest => add_fullest(options, session, place, &mut best)?,
            _ => add_subtrees(options, session, place, &mut seen, &mut best)?,
        }
    }
    Ok(best.heap.into_sorted_vec())
}

fn add_subtrees(
    options: &TopOptions<'_>,
    session: &Session<'_>,
    place: &Place,
    seen: &mut SeenLinks,
    best: &mut Best,
) -> Result<(), AnswerError> {
    let request = UsageRequest {
        detail: Detail::Listed,
        cancel: session.cancel(),
        ..UsageRequest::default()
    };
    session
        .index()
        .usage(&place.start, &request, seen, |directory| {
            let usage = directory.usage;
            // The directory does not count as one of its own entries.
            let entries = usage.inodes.saturating_sub(1);
            let rank = match options.by {
                Measure::Entries => entries,
                Measure::Space => options.size.of(usage.size_bytes, usage.blocks),
            };
            if best.admits(rank) {
                best.offer(Ranked {
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
    options: &TopOptions<'_>,
    session: &Session<'_>,
    place: &Place,
    best: &mut Best,
) -> Result<(), AnswerError> {
    let fullest = session
        .index()
        .fullest(&place.start, options.limit, session.cancel())?;
    for directory in fullest {
        let rank = directory.rows();
        if best.admits(rank) {
            best.offer(Ranked {
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
