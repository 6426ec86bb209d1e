//! Merges the directories of all segments of a scope into one order.
//!
//! A heap holds the next directory of each segment. A step takes not one
//! directory but a run of them, up to the next segment's directory. A segment
//! is not opened before its first directory is due (the manifest says where it
//! starts), and its table is read a bounded number of rows at a time.
//!
//! Paths are compared only where segments overlap: while one segment lies
//! entirely before the next, none of its paths is decoded here.

use crate::error::Result;
use crate::index::{SegmentAt, View};
use crate::locate::Span;
use crate::segment::{DirRows, Scratch};
use crate::walk::Order;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;
use trawl_format::schema::{DirColumn, SMALL_PAGE_ROWS, Table};
use trawl_model::path;

/// Maximum number of decoded rows over all segments.
const DECODED_ROWS: u64 = 256 * 1024;
/// Number of rows decoded together from one segment: initially, and at most.
const FIRST_ROWS: u64 = SMALL_PAGE_ROWS as u64;
const MOST_ROWS: u64 = 32 * FIRST_ROWS;
/// Up to this many rows are read as lookups are.
const LOOKUP_ROWS: u64 = 16;

/// When paths are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paths {
    /// Before a run is returned.
    Now,
    /// When the receiver of a run asks for them.
    Late,
}

struct Cursor {
    segment: SegmentAt,
    /// Rows that have not been read yet.
    rest: Range<u64>,
    chunk: Option<Arc<DirRows>>,
    /// The wanted rows of `chunk`, ascending.
    picked: Vec<u32>,
    /// The remaining range of `picked`.
    left: Range<usize>,
    /// Number of rows to read next.
    next_rows: u64,
    /// The path of the directory that comes last, if known.
    last: Option<Vec<u8>>,
}

/// The next directory of a cursor.
struct Head {
    path: Vec<u8>,
    cursor: usize,
    order: Order,
}

impl Head {
    /// True if `path` of `cursor` comes before this one.
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

/// Consecutive wanted directories of one segment; in backward order they are
/// taken from the end.
pub(crate) struct Run<'a> {
    pub(crate) segment: SegmentAt,
    pub(crate) chunk: &'a Arc<DirRows>,
    picked: &'a [u32],
    /// Range of the wanted directories; the same as rows of the chunk if all
    /// are wanted.
    pub(crate) range: Range<usize>,
}

impl<'a> Run<'a> {
    /// Rows of the chunk, ascending.
    pub(crate) fn rows(&self) -> impl DoubleEndedIterator<Item = usize> + use<'a> {
        let picked = self.picked.get(self.range.clone()).unwrap_or_default();
        picked.iter().map(|row| *row as usize)
    }
}

/// Selects the wanted rows of a chunk, ascending. Other rows are not compared
/// with anything, so their paths need not be decoded.
pub(crate) type Pick<'a> =
    Box<dyn FnMut(SegmentAt, &DirRows, &mut Scratch) -> Result<Vec<u32>> + Send + 'a>;

/// Merges the directories of several spans in order.
pub(crate) struct Merge<'a> {
    view: &'a View,
    columns: Vec<DirColumn>,
    order: Order,
    paths: Paths,
    pick: Option<Pick<'a>>,
    cursors: Vec<Cursor>,
    heads: BinaryHeap<Head>,
    /// The cursor whose run was returned last.
    given: Option<usize>,
    /// Number of decoded rows that the cursors hold.
    decoded_rows: u64,
    /// A path buffer for reuse.
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

    /// Merges only the directories that `pick` selects. Their paths are not
    /// decoded unless they must be compared.
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
        let rows = spans.iter().map(|span| span.dirs.end - span.dirs.start);
        let scratch = match rows.sum::<u64>() <= LOOKUP_ROWS {
            true => Scratch::for_lookups(),
            false => Scratch::default(),
        };
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
            scratch,
        };
        for span in spans {
            merge.add(span)?;
        }
        Ok(merge)
    }

    fn add(&mut self, span: Span) -> Result<()> {
        let cursor = self.cursors.len();
        let segment = self.view.segment(span.segment).map(|(_, segment)| segment);
        // The first and last directory, if they are known without opening the
        // segment.
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

    /// Returns the path of the next directory of a cursor that has rows.
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

    /// True if a cursor has more rows; reads them if necessary.
    fn has_rows(&mut self, cursor: usize) -> Result<bool> {
        while self.cursors[cursor].left.is_empty() {
            if !self.refill(cursor)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads a cursor's next rows; returns false if there are none.
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

    /// The chunk of the run that was returned last.
    pub(crate) fn given_chunk(&self) -> Option<&DirRows> {
        self.cursors.get(self.given?)?.chunk.as_deref()
    }

    /// Returns the next run; `None` at the end.
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

    /// Returns the cursor with the next directory; it has rows.
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
            // The path in the heap came from the manifest, and the first wanted
            // directory is another one.
            head.path = path.to_vec();
            self.heads.push(head);
        }
    }

    /// Puts a cursor that has rows back into the heap, and takes out the first.
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
        // Most cursors stay near the top, so this saves comparisons.
        if let Some(mut first) = self.heads.peek_mut()
            && head < *first
        {
            std::mem::swap(&mut *first, &mut head);
        }
        Ok(head)
    }

    /// True if all remaining directories of a cursor are known to come before
    /// those of all others.
    fn is_before_others(&self, cursor: usize) -> bool {
        let Some(bound) = self.heads.peek() else {
            return true;
        };
        let last = self.cursors[cursor].last.as_deref();
        last.is_some_and(|last| bound.is_after(last, cursor))
    }
}

/// Takes about `size` rows from `rest`, which is not empty, up to a page
/// boundary of the writer.
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

/// Takes the rows that are before the bound from `left`; at least one.
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
    // Doubling steps suit both alternating segments, where runs are short, and
    // long runs.
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
