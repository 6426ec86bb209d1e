//! Directories of all segments of a scope in one order.
//!
//! A heap holds the next directory of each segment; what is taken from it is
//! not one directory but the run of them up to the next segment's. A segment
//! is not opened before its first directory is due (the manifest says where
//! it starts), and its table is read a bounded number of rows at a time.

use crate::error::Result;
use crate::index::{SegmentAt, View};
use crate::locate::Span;
use crate::segment::{DirChunk, Scratch, read_dirs};
use crate::walk::Order;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;
use trawl_index::schema::{DirColumn, SMALL_PAGE_ROWS, Table};
use trawl_model::path;

/// Rows that all segments together may hold decoded.
const DECODED_ROWS: usize = 128 * 1024;

struct Cursor {
    segment: SegmentAt,
    /// Rows that are not in `chunk` yet.
    rest: Range<u64>,
    chunk: DirChunk,
    /// Rows of `chunk` that are still to come.
    left: Range<usize>,
}

/// The next directory of a cursor.
struct Head {
    path: Vec<u8>,
    cursor: usize,
    order: Order,
}

impl Head {
    /// Whether `path` of `cursor` comes before this.
    fn is_after(&self, path: &[u8], cursor: usize) -> bool {
        let order = path::cmp(path, &self.path).then(cursor.cmp(&self.cursor));
        match self.order {
            Order::Forward => order == Ordering::Less,
            Order::Backward => order == Ordering::Greater,
        }
    }
}

impl Ord for Head {
    /// The greatest is taken first.
    fn cmp(&self, other: &Head) -> Ordering {
        let order = path::cmp(&self.path, &other.path).then(self.cursor.cmp(&other.cursor));
        match self.order {
            Order::Forward => order.reverse(),
            Order::Backward => order,
        }
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

/// Consecutive directories of one segment; in backward order the last of
/// them comes first.
pub(crate) struct Run<'a> {
    pub(crate) segment: SegmentAt,
    pub(crate) chunk: &'a DirChunk,
    pub(crate) range: Range<usize>,
}

/// The directories of some spans, in order.
pub(crate) struct Merge<'a> {
    view: &'a View,
    columns: Vec<DirColumn>,
    order: Order,
    cursors: Vec<Cursor>,
    heads: BinaryHeap<Head>,
    /// The cursor whose run was given last.
    given: Option<usize>,
    chunk_rows: u64,
    scratch: Scratch,
}

impl<'a> Merge<'a> {
    pub(crate) fn new(
        view: &'a View,
        spans: Vec<Span>,
        columns: &[DirColumn],
        order: Order,
    ) -> Result<Merge<'a>> {
        let chunk_rows = (DECODED_ROWS / spans.len().max(1)).max(SMALL_PAGE_ROWS);
        let mut merge = Merge {
            view,
            columns: columns.to_vec(),
            order,
            cursors: Vec::with_capacity(spans.len()),
            heads: BinaryHeap::with_capacity(spans.len()),
            given: None,
            chunk_rows: (chunk_rows / SMALL_PAGE_ROWS * SMALL_PAGE_ROWS) as u64,
            scratch: Scratch::default(),
        };
        for span in spans {
            merge.add(span)?;
        }
        Ok(merge)
    }

    fn add(&mut self, span: Span) -> Result<()> {
        let cursor = self.cursors.len();
        let segment = self.view.segment(span.segment).map(|(_, segment)| segment);
        // Where it starts, as far as that can be known without opening it.
        let known = segment.and_then(|segment| match self.order {
            Order::Forward if span.dirs.start == 0 => segment.first_dir.clone(),
            Order::Backward if span.dirs.end == segment.dirs => segment.last_dir.clone(),
            _ => None,
        });
        self.cursors.push(Cursor {
            segment: span.segment,
            rest: span.dirs,
            chunk: DirChunk::default(),
            left: 0..0,
        });
        match known {
            Some(path) => {
                let order = self.order;
                self.heads.push(Head {
                    path,
                    cursor,
                    order,
                });
                Ok(())
            }
            None => self.push_head(cursor),
        }
    }

    /// Puts a cursor's next directory on the heap, if there is one.
    fn push_head(&mut self, cursor: usize) -> Result<()> {
        if let Some(path) = self.head_path(cursor)? {
            let order = self.order;
            self.heads.push(Head {
                path,
                cursor,
                order,
            });
        }
        Ok(())
    }

    fn head_path(&mut self, cursor: usize) -> Result<Option<Vec<u8>>> {
        if self.cursors[cursor].left.is_empty() && !self.refill(cursor)? {
            return Ok(None);
        }
        let Cursor { chunk, left, .. } = &self.cursors[cursor];
        let at = match self.order {
            Order::Forward => left.start,
            Order::Backward => left.end - 1,
        };
        Ok(Some(chunk.path.get(at).to_vec()))
    }

    /// Reads a cursor's next rows; false if there are none.
    fn refill(&mut self, cursor: usize) -> Result<bool> {
        let Cursor {
            segment,
            rest,
            chunk,
            left,
        } = &mut self.cursors[cursor];
        *chunk = DirChunk::default();
        let size = self.chunk_rows.min(rest.end.saturating_sub(rest.start));
        if size == 0 {
            return Ok(false);
        }
        let rows = match self.order {
            Order::Forward => rest.start..rest.start + size,
            Order::Backward => rest.end - size..rest.end,
        };
        let Some(file) = self.view.file(*segment, Table::Dirs)? else {
            return Ok(false);
        };
        *chunk = read_dirs(&file, rows.clone(), &self.columns, &mut self.scratch)?;
        match self.order {
            Order::Forward => rest.start = rows.end,
            Order::Backward => rest.end = rows.start,
        }
        *left = 0..chunk.len();
        Ok(true)
    }

    /// The directories that the last run is part of.
    pub(crate) fn given_chunk(&self) -> Option<&DirChunk> {
        let given = self.cursors.get(self.given?)?;
        Some(&given.chunk)
    }

    /// The next run; `None` at the end.
    pub(crate) fn next_run(&mut self) -> Result<Option<Run<'_>>> {
        if let Some(given) = self.given.take() {
            self.push_head(given)?;
        }
        let cursor = loop {
            let Some(head) = self.heads.pop() else {
                return Ok(None);
            };
            let Some(path) = self.head_path(head.cursor)? else {
                continue;
            };
            if path == head.path {
                break head.cursor;
            }
            // It was put there unopened and starts elsewhere.
            let Head { cursor, order, .. } = head;
            self.heads.push(Head {
                path,
                cursor,
                order,
            });
        };
        self.given = Some(cursor);
        let bound = self.heads.peek();
        let order = self.order;
        let Cursor {
            segment,
            chunk,
            left,
            ..
        } = &mut self.cursors[cursor];
        let is_before =
            |at: usize| bound.is_none_or(|bound| bound.is_after(chunk.path.get(at), cursor));
        let range = take_run(left, order, is_before);
        Ok(Some(Run {
            segment: *segment,
            chunk,
            range,
        }))
    }
}

/// Takes from `left` the rows that are before the bound; at least one.
fn take_run(
    left: &mut Range<usize>,
    order: Order,
    is_before: impl Fn(usize) -> bool,
) -> Range<usize> {
    let place = |nth: usize| match order {
        Order::Forward => left.start + nth,
        Order::Backward => left.end - 1 - nth,
    };
    let len = left.len();
    // Runs are short where segments alternate, and long where they do not.
    let mut step = 1;
    while step < len && is_before(place(step)) {
        step *= 2;
    }
    let (mut low, mut high) = (step / 2 + 1, step.min(len));
    while low < high {
        let middle = (low + high) / 2;
        match is_before(place(middle)) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    let taken = low.min(len);
    match order {
        Order::Forward => {
            let run = left.start..left.start + taken;
            left.start = run.end;
            run
        }
        Order::Backward => {
            let run = left.end - taken..left.end;
            left.end = run.start;
            run
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_at_the_bound_wherever_it_is() {
        for len in 1..40 {
            for bound in 1..=len {
                let mut left = 3..3 + len;
                let run = take_run(&mut left, Order::Forward, |at| at < 3 + bound);
                assert_eq!((run, left), (3..3 + bound, 3 + bound..3 + len));
                let mut left = 3..3 + len;
                let run = take_run(&mut left, Order::Backward, |at| at >= 3 + len - bound);
                assert_eq!((run, left), (3 + len - bound..3 + len, 3..3 + len - bound));
            }
        }
    }
}
