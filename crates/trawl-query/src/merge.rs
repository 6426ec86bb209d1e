//! Directories of all segments of a scope in one order.
//!
//! A heap holds the next directory of each segment; what is taken from it is
//! not one directory but the run of them up to the next segment's. A segment
//! is not opened before its first directory is due (the manifest says where
//! it starts), and its table is read a bounded number of rows at a time.
//!
//! Paths are compared only where segments meet: while one lies wholly before
//! the next, none of its paths is decoded here.

use crate::error::Result;
use crate::index::{SegmentAt, View};
use crate::locate::Span;
use crate::segment::{DirRows, Scratch};
use crate::walk::Order;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;
use trawl_index::schema::{DirColumn, SMALL_PAGE_ROWS, Table};
use trawl_model::path;

/// Rows that all segments together may hold decoded.
const DECODED_ROWS: u64 = 256 * 1024;
/// Rows of one segment that are decoded at a time: at first, and at most.
const FIRST_ROWS: u64 = SMALL_PAGE_ROWS as u64;
const MOST_ROWS: u64 = 32 * FIRST_ROWS;

/// When paths are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paths {
    /// Before a run is given.
    Now,
    /// As whoever gets a run asks for them.
    Late,
}

struct Cursor {
    segment: SegmentAt,
    /// Rows that are not in `chunk` yet.
    rest: Range<u64>,
    chunk: Option<Arc<DirRows>>,
    /// Those rows of `chunk` that are wanted, ascending.
    picked: Vec<u32>,
    /// Which of `picked` are still to come.
    left: Range<usize>,
    /// Rows that are read next.
    next_rows: u64,
    /// The path of the directory that comes last, if it is known.
    last: Option<Vec<u8>>,
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

/// Consecutive wanted directories of one segment; in backward order the last
/// of them comes first.
pub(crate) struct Run<'a> {
    pub(crate) segment: SegmentAt,
    pub(crate) chunk: &'a Arc<DirRows>,
    picked: &'a [u32],
    /// Which of those that are wanted; rows of the chunk if all are.
    pub(crate) range: Range<usize>,
}

impl<'a> Run<'a> {
    /// Rows of the chunk, ascending.
    pub(crate) fn rows(&self) -> impl DoubleEndedIterator<Item = usize> + use<'a> {
        let picked = self.picked.get(self.range.clone()).unwrap_or_default();
        picked.iter().map(|row| *row as usize)
    }
}

/// Which of some rows are wanted, ascending. What is not is compared with
/// nothing, so that its path need not be decoded.
pub(crate) type Pick<'a> =
    Box<dyn FnMut(SegmentAt, &DirRows, &mut Scratch) -> Result<Vec<u32>> + Send + 'a>;

/// The directories of some spans, in order.
pub(crate) struct Merge<'a> {
    view: &'a View,
    columns: Vec<DirColumn>,
    order: Order,
    paths: Paths,
    pick: Option<Pick<'a>>,
    cursors: Vec<Cursor>,
    heads: BinaryHeap<Head>,
    /// The cursor whose run was given last.
    given: Option<usize>,
    /// Rows that cursors hold decoded.
    decoded_rows: u64,
    /// Memory for a path.
    spare: Vec<u8>,
    scratch: Scratch,
}

impl<'a> Merge<'a> {
    pub(crate) fn new(
        view: &'a View,
        spans: Vec<Span>,
        columns: &[DirColumn],
        order: Order,
    ) -> Result<Merge<'a>> {
        Merge::of(view, spans, columns, order, Paths::Now, None)
    }

    /// Just those that `pick` picks, whose paths are not decoded unless they
    /// have to be compared.
    pub(crate) fn picking(
        view: &'a View,
        spans: Vec<Span>,
        columns: &[DirColumn],
        order: Order,
        pick: Pick<'a>,
    ) -> Result<Merge<'a>> {
        Merge::of(view, spans, columns, order, Paths::Late, Some(pick))
    }

    fn of(
        view: &'a View,
        spans: Vec<Span>,
        columns: &[DirColumn],
        order: Order,
        paths: Paths,
        pick: Option<Pick<'a>>,
    ) -> Result<Merge<'a>> {
        let mut merge = Merge {
            view,
            columns: columns.to_vec(),
            order,
            paths,
            pick,
            cursors: Vec::with_capacity(spans.len()),
            heads: BinaryHeap::with_capacity(spans.len()),
            given: None,
            decoded_rows: 0,
            spare: Vec::new(),
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
        // Where it starts and ends, as far as that can be known without
        // opening it.
        let (mut first, mut last) = (None, None);
        if let Some(segment) = segment {
            first = segment.first_dir.clone().filter(|_| span.dirs.start == 0);
            let to_end = span.dirs.end == segment.dirs;
            last = segment.last_dir.clone().filter(|_| to_end);
        }
        if self.order == Order::Backward {
            (first, last) = (last, first);
        }
        self.cursors.push(Cursor {
            segment: span.segment,
            rest: span.dirs,
            chunk: None,
            picked: Vec::new(),
            left: 0..0,
            next_rows: FIRST_ROWS,
            last,
        });
        let path = match first {
            Some(path) => Some(path),
            None if self.has_rows(cursor)? => Some(self.head_path(cursor)?.to_vec()),
            None => None,
        };
        let order = self.order;
        self.heads.extend(path.map(|path| Head {
            path,
            cursor,
            order,
        }));
        Ok(())
    }

    /// The path of the next directory of a cursor that has rows.
    fn head_path(&mut self, cursor: usize) -> Result<&[u8]> {
        let Cursor {
            chunk,
            picked,
            left,
            ..
        } = &self.cursors[cursor];
        let nth = match self.order {
            Order::Forward => left.start,
            Order::Backward => left.end.saturating_sub(1),
        };
        match (chunk, picked.get(nth)) {
            (Some(chunk), Some(at)) => chunk.decoded_path(*at as usize, &mut self.scratch),
            _ => Ok(&[]),
        }
    }

    /// True if a cursor has rows to come, which are read if need be.
    fn has_rows(&mut self, cursor: usize) -> Result<bool> {
        while self.cursors[cursor].left.is_empty() {
            if !self.refill(cursor)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads a cursor's next rows; false if there are none.
    fn refill(&mut self, cursor: usize) -> Result<bool> {
        let Cursor {
            segment,
            rest,
            chunk,
            picked,
            left,
            next_rows,
            ..
        } = &mut self.cursors[cursor];
        let before = chunk.take().map_or(0, |chunk| chunk.len() as u64);
        self.decoded_rows -= before;
        if rest.is_empty() {
            return Ok(false);
        }
        let room = DECODED_ROWS.saturating_sub(self.decoded_rows);
        let rows = cut(rest, (*next_rows).min(room).max(FIRST_ROWS), self.order);
        *next_rows = (*next_rows * 4).min(MOST_ROWS);
        let Some(file) = self.view.file(*segment, Table::Dirs)? else {
            return Ok(false);
        };
        let read = DirRows::read(file, rows, &self.columns, &mut self.scratch)?;
        if self.paths == Paths::Now {
            read.decode_paths(&mut self.scratch)?;
        }
        *picked = match &mut self.pick {
            Some(pick) => pick(*segment, &read, &mut self.scratch)?,
            None => (0..read.len() as u32).collect(),
        };
        *left = 0..picked.len();
        self.decoded_rows += read.len() as u64;
        *chunk = Some(Arc::new(read));
        Ok(true)
    }

    /// The directories that the last run is part of.
    pub(crate) fn given_chunk(&self) -> Option<&DirRows> {
        self.cursors.get(self.given?)?.chunk.as_deref()
    }

    /// The next run; `None` at the end.
    pub(crate) fn next_run(&mut self) -> Result<Option<Run<'_>>> {
        let Some(cursor) = self.next_cursor()? else {
            return Ok(None);
        };
        self.given = Some(cursor);
        let is_whole = self.is_before_others(cursor);
        let Merge {
            cursors,
            heads,
            scratch,
            order,
            ..
        } = self;
        let Cursor {
            segment,
            chunk,
            picked,
            left,
            ..
        } = &mut cursors[cursor];
        let Some(chunk) = chunk else { return Ok(None) };
        let range = match heads.peek().filter(|_| !is_whole) {
            None => std::mem::replace(left, left.end..left.end),
            Some(bound) => take_run(left, *order, |nth| {
                let at = picked.get(nth).copied().unwrap_or_default();
                let path = chunk.decoded_path(at as usize, scratch)?;
                Ok(bound.is_after(path, cursor))
            })?,
        };
        Ok(Some(Run {
            segment: *segment,
            chunk,
            picked,
            range,
        }))
    }

    /// The cursor whose turn it is; it has rows.
    fn next_cursor(&mut self) -> Result<Option<usize>> {
        let mut back = None;
        if let Some(given) = self.given.take()
            && self.has_rows(given)?
        {
            if self.is_before_others(given) {
                return Ok(Some(given));
            }
            back = Some(given);
        }
        loop {
            let head = match back.take() {
                Some(cursor) => Some(self.exchange(cursor)?),
                None => self.heads.pop(),
            };
            let Some(mut head) = head else {
                return Ok(None);
            };
            if !self.has_rows(head.cursor)? {
                continue;
            }
            let path = self.head_path(head.cursor)?;
            if path == head.path {
                self.spare = head.path;
                return Ok(Some(head.cursor));
            }
            // It was put there unopened and starts elsewhere.
            head.path = path.to_vec();
            self.heads.push(head);
        }
    }

    /// Puts a cursor that has rows back, and takes the first.
    fn exchange(&mut self, cursor: usize) -> Result<Head> {
        let mut path = std::mem::take(&mut self.spare);
        path.clear();
        path.extend_from_slice(self.head_path(cursor)?);
        let order = self.order;
        let mut head = Head {
            path,
            cursor,
            order,
        };
        // Most go on near where they were: so less is compared.
        if let Some(mut first) = self.heads.peek_mut()
            && head < *first
        {
            std::mem::swap(&mut *first, &mut head);
        }
        Ok(head)
    }

    /// True if all that is to come of a cursor is known to be before what is
    /// to come of others.
    fn is_before_others(&self, cursor: usize) -> bool {
        let Some(bound) = self.heads.peek() else {
            return true;
        };
        let last = self.cursors[cursor].last.as_deref();
        last.is_some_and(|last| bound.is_after(last, cursor))
    }
}

/// Takes about `size` rows from `rest`, which is not empty, up to where a
/// page of ours ends.
fn cut(rest: &mut Range<u64>, size: u64, order: Order) -> Range<u64> {
    match order {
        Order::Forward => {
            let end = (rest.start + size) / FIRST_ROWS * FIRST_ROWS;
            let rows = rest.start..end.min(rest.end);
            rest.start = rows.end;
            rows
        }
        Order::Backward => {
            let start = rest.end.saturating_sub(size).next_multiple_of(FIRST_ROWS);
            let rows = start.max(rest.start)..rest.end;
            rest.end = rows.start;
            rows
        }
    }
}

/// Takes from `left` the rows that are before the bound; at least one.
fn take_run(
    left: &mut Range<usize>,
    order: Order,
    mut is_before: impl FnMut(usize) -> Result<bool>,
) -> Result<Range<usize>> {
    let place = |nth: usize| match order {
        Order::Forward => left.start + nth,
        Order::Backward => left.end - 1 - nth,
    };
    let len = left.len();
    // Runs are short where segments alternate, and long where they do not.
    let mut step = 1;
    while step < len && is_before(place(step))? {
        step *= 2;
    }
    let (mut low, mut high) = (step / 2 + 1, step.min(len));
    while low < high {
        let middle = (low + high) / 2;
        match is_before(place(middle))? {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    let taken = low.min(len);
    Ok(match order {
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
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_at_the_bound_wherever_it_is() {
        for len in 1..40 {
            for bound in 1..=len {
                let mut left = 3..3 + len;
                let run = take_run(&mut left, Order::Forward, |at| Ok(at < 3 + bound)).unwrap();
                assert_eq!((run, left), (3..3 + bound, 3 + bound..3 + len));
                let mut left = 3..3 + len;
                let run =
                    take_run(&mut left, Order::Backward, |at| Ok(at >= 3 + len - bound)).unwrap();
                assert_eq!((run, left), (3 + len - bound..3 + len, 3..3 + len - bound));
            }
        }
    }
}
