//! Merges the results of pieces into one order.

use super::pieces::Piece;
use super::workers::Workers;
use super::{Event, Hit};
use crate::error::Result;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::{ControlFlow, Range};
use trawl_model::path;
use trawl_model::rows::ByteColumn;

/// The results of one piece, in path order.
#[derive(Debug, Default)]
pub(super) struct Hits {
    dirs: ByteColumn,
    /// The end of each directory's names.
    ends: Vec<usize>,
    names: ByteColumn,
}

impl Hits {
    pub(super) fn push(&mut self, hit: Hit<'_>) {
        let is_known = !self.ends.is_empty() && self.dirs.get(self.dirs.len() - 1) == hit.dir;
        if !is_known {
            self.dirs.push(hit.dir);
            self.ends.push(self.names.len());
        }
        self.names.push(hit.name);
        if let Some(end) = self.ends.last_mut() {
            *end = self.names.len();
        }
    }

    fn names_of(&self, dir: usize) -> Range<usize> {
        let start = match dir.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or_default(),
            None => 0,
        };
        start..self.ends.get(dir).copied().unwrap_or_default()
    }
}

/// The remaining results of a piece.
struct Cursor {
    hits: Hits,
    dir: usize,
    /// The remaining names of the current directory.
    left: Range<usize>,
    piece: usize,
}

impl Cursor {
    /// Returns `None` if there are no results.
    fn new(hits: Hits, piece: usize) -> Option<Cursor> {
        let left = hits.names_of(0);
        let cursor = Cursor {
            hits,
            dir: 0,
            left,
            piece,
        };
        (!cursor.left.is_empty()).then_some(cursor)
    }

    fn dir(&self) -> &[u8] {
        self.hits.dirs.get(self.dir)
    }

    fn name(&self) -> &[u8] {
        self.hits.names.get(self.left.start)
    }

    /// Moves to the next directory; returns false at the end.
    fn next_dir(&mut self) -> bool {
        self.dir += 1;
        self.left = self.hits.names_of(self.dir);
        !self.left.is_empty()
    }
}

impl Ord for Cursor {
    /// The greatest is taken first.
    fn cmp(&self, other: &Cursor) -> Ordering {
        path::cmp(other.dir(), self.dir())
            .then_with(|| other.name().cmp(self.name()))
            .then_with(|| other.piece.cmp(&self.piece))
    }
}

impl PartialOrd for Cursor {
    fn partial_cmp(&self, other: &Cursor) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Cursor {
    fn eq(&self, other: &Cursor) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Cursor {}

/// Takes the results of the pieces when they are due.
pub(super) struct InOrder<'p> {
    pieces: &'p [Piece],
    /// The next piece to take.
    next: usize,
    cursors: BinaryHeap<Cursor>,
}

impl<'p> InOrder<'p> {
    pub(super) fn new(pieces: &'p [Piece]) -> InOrder<'p> {
        InOrder {
            pieces,
            next: 0,
            cursors: BinaryHeap::new(),
        }
    }

    /// Reports everything in order until `emit` breaks.
    pub(super) fn run(
        mut self,
        workers: &Workers<'_, Hits>,
        emit: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        loop {
            while let Some(piece) = self.due() {
                let pauses = !workers.is_ready(piece);
                if pauses && emit(Event::Pause).is_break() {
                    return Ok(());
                }
                self.next += 1;
                self.cursors
                    .extend(Cursor::new(workers.take(piece)?, piece));
            }
            let Some(cursor) = self.cursors.pop() else {
                return Ok(());
            };
            if self.give(cursor, emit).is_break() {
                return Ok(());
            }
        }
    }

    /// Returns the next piece if some of its results may come before those at
    /// hand.
    fn due(&self) -> Option<usize> {
        let piece = self.pieces.get(self.next)?;
        let is_due = self
            .cursors
            .peek()
            .is_none_or(|first| path::cmp(&piece.start, first.dir()).is_le());
        is_due.then_some(self.next)
    }

    /// Reports results of the first cursor until another one may come first.
    fn give(
        &mut self,
        mut cursor: Cursor,
        emit: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        loop {
            // In a directory that several cursors share, names may alternate.
            let other = self.cursors.peek();
            let shared = other.filter(|other| other.dir() == cursor.dir());
            let names = cursor.left.clone();
            for at in names {
                let name = cursor.hits.names.get(at);
                if shared.is_some_and(|other| name > other.name()) {
                    break;
                }
                let dir = cursor.hits.dirs.get(cursor.dir);
                cursor.left.start = at + 1;
                emit(Event::Hit(Hit { dir, name }))?;
            }
            if cursor.left.is_empty() && !cursor.next_dir() {
                return ControlFlow::Continue(());
            }
            let is_next = |dir: &[u8]| path::cmp(cursor.dir(), dir).is_lt();
            let is_first = self.cursors.peek().is_none_or(|other| is_next(other.dir()));
            let coming = self.pieces.get(self.next);
            if !is_first || !coming.is_none_or(|piece| is_next(&piece.start)) {
                self.cursors.push(cursor);
                return ControlFlow::Continue(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pieces::Source;
    use super::*;
    use proptest::prelude::*;

    type Entry = (Vec<u8>, Vec<u8>);

    fn order(a: &Entry, b: &Entry) -> Ordering {
        path::cmp(&a.0, &b.0).then_with(|| a.1.cmp(&b.1))
    }

    fn any_entry() -> impl Strategy<Value = Entry> {
        let dirs = ["", "/a", "/a/b", "/a-b", "/c"];
        let dir = proptest::sample::select(dirs.to_vec());
        (dir, 0u8..9).prop_map(|(dir, name)| (dir.into(), vec![b'a' + name]))
    }

    proptest! {
        #[test]
        fn pieces_are_merged_in_path_order(
            lists in proptest::collection::vec(proptest::collection::vec(any_entry(), 1..9), 0..5),
            threads in 1usize..4,
        ) {
            let mut lists: Vec<Vec<Entry>> = lists;
            lists.iter_mut().for_each(|list| list.sort_by(order));
            lists.sort_by(|a, b| path::cmp(&a[0].0, &b[0].0));
            let pieces: Vec<Piece> = lists.iter().enumerate().map(|(segment, list)| Piece {
                segment,
                rows: Vec::new(),
                source: Source::Columns,
                start: list[0].0.clone(),
            }).collect();
            let work = |at: usize, _: &mut crate::segment::Scratch| {
                let mut hits = Hits::default();
                lists[at].iter().for_each(|(dir, name)| hits.push(Hit { dir, name }));
                Ok(hits)
            };
            let mut got: Vec<Entry> = Vec::new();
            Workers::run(pieces.len(), threads, &work, |workers| {
                InOrder::new(&pieces).run(workers, &mut |event| {
                    if let Event::Hit(hit) = event {
                        got.push((hit.dir.to_vec(), hit.name.to_vec()));
                    }
                    ControlFlow::Continue(())
                })
            }).unwrap();
            let mut all = lists.concat();
            all.sort_by(order);
            prop_assert_eq!(got, all);
        }
    }
}
