//! Which rows a walk reads: the directories of its scope, in order, cut into
//! morsels.

use crate::error::Result;
use crate::index::{SegmentAt, Start, View};
use crate::locate::{Reach, scope};
use crate::merge::{Merge, Paths};
use crate::search::narrowed;
use crate::segment::{DirRows, Scratch};
use crate::selection::{RowSelection, within};
use crate::walk::{Order, Request};
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use trawl_format::schema::{DirColumn, PAGE_ROWS, Table};
use trawl_model::column::Column;
use trawl_model::filter::Clause;
use trawl_model::{Regions, Subtrees, path};

/// Rows of a morsel, about; also the most that a listing has.
pub(crate) const MORSEL_ROWS: u64 = 32 * 1024;
/// The same where few columns are read: where the directories of several
/// segments alternate, a page lies in fewer morsels.
const NARROW_MORSEL_ROWS: u64 = 2 * MORSEL_ROWS;
/// That many columns are few.
const NARROW_COLUMNS: usize = 4;
/// Rows of the first morsels of a walk that begins small, about, and pages as in [`MORSEL_PAGES`]: whoever
/// stops reading soon causes little work, even if few rows of each page are wanted.
const FIRST_SIZES: [(u64, u64); 11] = [
    (1024, 2),
    (3072, 8),
    (4096, 16),
    // From here on, several threads take a page or two each.
    (PAGE, 16),
    (PAGE, 16),
    (PAGE, 16),
    (PAGE, 16),
    (2 * PAGE, 32),
    (2 * PAGE, 32),
    (2 * PAGE, 32),
    (2 * PAGE, 32),
];
/// How many of these the caller's thread does by itself.
pub(crate) const FIRST_MORSELS: usize = 3;
/// The most pages in which the rows of a morsel lie, about, so that several threads share the work where
/// few rows of each page are wanted.
const MORSEL_PAGES: u64 = 64;
/// But for each segment it has that many: a page at its end may be needed by the next morsel, too.
const PAGES_OF_A_SEGMENT: u64 = 4;
/// Directories of a morsel, at most.
const MORSEL_DIRS: usize = 16 * 1024;
/// Rows of most pages.
const PAGE: u64 = PAGE_ROWS as u64;

/// Some listings that follow each other, and the rows that they need.
#[derive(Debug, Default)]
pub(crate) struct Morsel {
    pub(crate) items: Vec<Item>,
    /// Where the items' directories are.
    chunks: Vec<Arc<DirRows>>,
    pub(crate) parts: Vec<Part>,
    rows: u64,
    /// Pages that these lie in, about.
    pages: u64,
    /// The part of the item before.
    recent: usize,
}

/// One listing.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Index into [`Morsel::chunks`].
    chunk: usize,
    /// Its directory's row there.
    at: usize,
    pub(crate) depth: usize,
    /// Rows of the whole directory.
    pub(crate) dir_rows: u64,
    /// Index into [`Morsel::parts`].
    pub(crate) part: usize,
    /// Its rows are in here; all that are here, unless some are selected.
    pub(crate) rows: Range<u64>,
}

/// Rows of one segment.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) segment: SegmentAt,
    /// Ascending, neither overlapping nor touching.
    pub(crate) ranges: Vec<Range<u64>>,
}

/// The directories of a walk that are still to come.
pub(crate) struct Plan<'a> {
    view: &'a View,
    merge: Merge<'a>,
    order: Order,
    start_depth: usize,
    selected: Option<&'a RowSelection>,
    size: Size,
    /// When items' paths are decoded.
    paths: Paths,
    scratch: Scratch,
    morsel: Morsel,
    /// Morsels that are complete, in order.
    done: VecDeque<Morsel>,
}

/// Places of the columns in what is asked of the merge.
const FIRST_ROW: usize = 0;
const ROWS: usize = 1;

impl<'a> Plan<'a> {
    pub(crate) fn new(start: &'a Start, request: &'a Request<'_>) -> Result<Plan<'a>> {
        Plan::without(start, request, &HashSet::new())
    }

    /// The same without the rows of some segments.
    pub(crate) fn without(
        start: &'a Start,
        request: &'a Request<'_>,
        segments: &HashSet<SegmentAt>,
    ) -> Result<Plan<'a>> {
        let view: &View = &start.view;
        // An entry lies one deeper than its directory.
        let end = request.max_depth.unwrap_or(usize::MAX);
        let depths = request.min_depth.saturating_sub(1)..end;
        let reach = if end <= 1 {
            Reach::Itself
        } else {
            Reach::Subtree
        };
        let mut spans = match start.is_dir && !depths.is_empty() {
            true => scope(view, &start.path, reach, &mut Scratch::for_lookups())?,
            false => Vec::new(),
        };
        spans.retain(|span| !segments.contains(&span.segment));
        if let Some(selected) = request.rows {
            spans = narrowed(view, spans, selected)?;
        }
        let mut columns = vec![DirColumn::FirstRow, DirColumn::Rows];
        let mut bounds = Vec::new();
        for clause in &request.filter.clauses {
            if let Some((min, max)) = bounds_of(clause.column) {
                bounds.push(Bounds::new(clause, columns.len()));
                columns.extend([min, max]);
            }
        }
        let rows = spans.iter().filter_map(|span| view.segment(span.segment));
        let rows: u64 = rows.map(|(_, segment)| segment.rows).sum();
        if spans.len() > 1 && rows > MORSEL_ROWS {
            view.hold(spans.iter().map(|span| span.segment))?;
        }
        let start_depth = path::depth(&start.path);
        let selection = Selection {
            start_depth,
            depths,
            skip: &request.skip,
            only: request.only,
            selected: request.rows,
            bounds,
        };
        let pick = move |segment, rows: &DirRows, scratch: &mut Scratch| {
            selection.pick(segment, rows, scratch)
        };
        let (order, pick) = (request.order, Box::new(pick));
        Ok(Plan {
            view,
            merge: Merge::picking(view, spans, &columns, order, pick)?,
            order,
            start_depth,
            selected: request.rows,
            size: Size::of(match request.columns.iter().count() <= NARROW_COLUMNS {
                true => NARROW_MORSEL_ROWS,
                false => MORSEL_ROWS,
            }),
            paths: Paths::Now,
            scratch: Scratch::default(),
            morsel: Morsel::default(),
            done: VecDeque::new(),
        })
    }

    /// Leaves the paths of items to whoever works on them.
    pub(crate) fn with_late_paths(mut self) -> Plan<'a> {
        self.paths = Paths::Late;
        self
    }

    /// Makes the first morsels small ones. Those within a page have it decoded again.
    pub(crate) fn beginning_small(mut self) -> Plan<'a> {
        self.size.morsel = 0;
        self
    }

    /// The next morsel; `None` at the end.
    pub(crate) fn next_morsel(&mut self) -> Result<Option<Morsel>> {
        let morsel = self.cut_morsel()?;
        if let (Some(morsel), Paths::Now) = (&morsel, self.paths) {
            for item in &morsel.items {
                morsel.decoded_path(item, &mut self.scratch)?;
            }
        }
        Ok(morsel)
    }

    fn cut_morsel(&mut self) -> Result<Option<Morsel>> {
        loop {
            if let Some(done) = self.done.pop_front() {
                return Ok(Some(done));
            }
            let (view, order) = (self.view, self.order);
            let Some(run) = self.merge.next_run()? else {
                let last = std::mem::take(&mut self.morsel);
                return Ok((!last.items.is_empty()).then(|| last.finished(order)));
            };
            let rows = view
                .segment(run.segment)
                .map_or(0, |(_, segment)| segment.rows);
            let mut filling = Filling {
                morsel: &mut self.morsel,
                done: &mut self.done,
                segment: run.segment,
                chunk: run.chunk,
                selected: self.selected.and_then(|rows| rows.of(run.segment)),
                size: &mut self.size,
                order,
            };
            let start_depth = self.start_depth;
            let mut push = |at: usize| {
                let first = run.chunk.number(FIRST_ROW, at);
                let directory = Directory {
                    at,
                    depth: run.chunk.depth(at).saturating_sub(start_depth),
                    rows: first..first.saturating_add(run.chunk.number(ROWS, at)),
                };
                directory.rows.end <= rows && filling.push(&directory)
            };
            let fits = match order {
                Order::Forward => run.rows().all(&mut push),
                Order::Backward => run.rows().rev().all(&mut push),
            };
            if !fits {
                return Err(view.damaged(
                    run.segment,
                    Table::Dirs,
                    "it refers to rows that are not there",
                ));
            }
        }
    }
}

/// A directory whose rows are wanted.
struct Directory {
    /// Its row in the chunk.
    at: usize,
    depth: usize,
    rows: Range<u64>,
}

/// The morsel being filled and those that are full.
struct Filling<'m> {
    morsel: &'m mut Morsel,
    done: &'m mut VecDeque<Morsel>,
    segment: SegmentAt,
    chunk: &'m Arc<DirRows>,
    /// The rows of the segment that are wanted; `None` for all.
    selected: Option<&'m [Range<u64>]>,
    size: &'m mut Size,
    order: Order,
}

/// How many rows a morsel has, about.
struct Size {
    /// Rows of all but the first.
    full: u64,
    /// Number of the one that is being filled.
    morsel: usize,
}

impl Size {
    fn of(full: u64) -> Size {
        Size {
            full,
            morsel: FIRST_SIZES.len(),
        }
    }

    /// Rows, and pages.
    fn bounds(&self) -> (u64, u64) {
        let first = FIRST_SIZES.get(self.morsel);
        *first.unwrap_or(&(self.full, MORSEL_PAGES))
    }

    /// Returns whether that many pages, in that many segments, are enough.
    fn is_full_of_pages(&self, pages: u64, segments: usize) -> bool {
        let least = match self.morsel < FIRST_MORSELS {
            true => 0,
            false => PAGES_OF_A_SEGMENT * segments as u64,
        };
        pages >= self.bounds().1.max(least)
    }

    /// Returns whether a morsel with these rows is full enough to end at the end of a page.
    fn may_end_at_page(&self, rows: u64) -> bool {
        let (full, _) = self.bounds();
        rows + PAGE.min(full / 2) >= full
    }

    /// Goes on to the next morsel.
    fn grow(&mut self) {
        self.morsel += 1;
    }
}

/// Whether rows go into a listing of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// They begin one.
    New,
    /// They belong to the one before.
    Same,
}

impl Filling<'_> {
    /// Adds those rows of a directory that are selected, in pieces if they
    /// are many; false if they do not lie where the order says.
    fn push(&mut self, directory: &Directory) -> bool {
        let mut place = Place::New;
        let Some(selected) = self.selected else {
            return self.push_rows(directory, directory.rows.clone(), &mut place);
        };
        let mut ranges = within(selected, &directory.rows);
        match self.order {
            Order::Forward => ranges.all(|rows| self.push_rows(directory, rows, &mut place)),
            Order::Backward => ranges
                .rev()
                .all(|rows| self.push_rows(directory, rows, &mut place)),
        }
    }

    fn push_rows(
        &mut self,
        directory: &Directory,
        mut left: Range<u64>,
        place: &mut Place,
    ) -> bool {
        loop {
            let room = self.room(&left);
            let piece = match self.order {
                Order::Forward => left.start..left.start + room,
                Order::Backward => left.end - room..left.end,
            };
            match self.order {
                Order::Forward => left.start = piece.end,
                Order::Backward => left.end = piece.start,
            }
            let is_full = self.is_full_with(&piece);
            if !self.push_piece(directory, piece, *place) {
                return false;
            }
            *place = Place::Same;
            if is_full
                || self.morsel.items.len() >= MORSEL_DIRS
                || self
                    .size
                    .is_full_of_pages(self.morsel.pages, self.morsel.parts.len())
            {
                self.done
                    .push_back(std::mem::take(self.morsel).finished(self.order));
                self.size.grow();
                *place = Place::New;
            }
            if left.is_empty() {
                return true;
            }
        }
    }

    /// How many of these rows the morsel takes.
    fn room(&self, left: &Range<u64>) -> u64 {
        let (full, _) = self.size.bounds();
        let room = full.saturating_sub(self.morsel.rows).max(1);
        let count = left.end - left.start;
        // A page that lies in two morsels is decoded twice.
        let to_page = left.start.next_multiple_of(PAGE) - left.start;
        let ends_early =
            self.order == Order::Forward && self.size.may_end_at_page(self.morsel.rows + to_page);
        match ends_early && to_page > 0 {
            true => count.min(room).min(to_page),
            false => count.min(room),
        }
    }

    /// True if nothing is to be added behind this piece.
    fn is_full_with(&self, piece: &Range<u64>) -> bool {
        let rows = self.morsel.rows + (piece.end - piece.start);
        let at_page = self.order == Order::Forward && piece.end.is_multiple_of(PAGE);
        rows >= self.size.bounds().0 || (at_page && self.size.may_end_at_page(rows))
    }

    /// Adds rows of a directory; false if they do not lie where the order
    /// says.
    fn push_piece(&mut self, directory: &Directory, rows: Range<u64>, place: Place) -> bool {
        let morsel = &mut *self.morsel;
        let part = morsel.part_of(self.segment);
        let ranges = &mut morsel.parts[part].ranges;
        let before = match (ranges.last(), self.order) {
            (Some(last), Order::Forward) => Some((last.end - 1) / PAGE),
            (Some(last), Order::Backward) => Some(last.start / PAGE),
            (None, _) => None,
        };
        if !rows.is_empty() {
            let (first, last) = (rows.start / PAGE, (rows.end - 1) / PAGE);
            let is_known = before.is_some_and(|page| (first..=last).contains(&page));
            morsel.pages += last - first + u64::from(!is_known);
        }
        match (ranges.last_mut(), self.order) {
            _ if rows.is_empty() => {}
            (Some(last), Order::Forward) if last.end == rows.start => last.end = rows.end,
            (Some(last), Order::Backward) if last.start == rows.end => last.start = rows.start,
            (Some(last), Order::Forward) if last.end > rows.start => return false,
            (Some(last), Order::Backward) if last.start < rows.end => return false,
            _ => ranges.push(rows.clone()),
        }
        morsel.rows += rows.end - rows.start;
        if let (Place::Same, Some(item)) = (place, morsel.items.last_mut()) {
            item.rows = item.rows.start.min(rows.start)..item.rows.end.max(rows.end);
            return true;
        }
        let chunk = morsel.chunk_of(self.chunk);
        morsel.items.push(Item {
            chunk,
            at: directory.at,
            depth: directory.depth,
            dir_rows: directory.rows.end - directory.rows.start,
            part,
            rows,
        });
        true
    }
}

impl Morsel {
    fn chunk_of(&mut self, chunk: &Arc<DirRows>) -> usize {
        let is_it = |known: &Arc<DirRows>| Arc::ptr_eq(known, chunk);
        if !self.chunks.last().is_some_and(is_it) {
            self.chunks.push(Arc::clone(chunk));
        }
        self.chunks.len() - 1
    }

    fn part_of(&mut self, segment: SegmentAt) -> usize {
        let is_it = |part: &Part| part.segment == segment;
        if !self.parts.get(self.recent).is_some_and(is_it) {
            self.recent = self
                .parts
                .iter()
                .position(is_it)
                .unwrap_or(self.parts.len());
        }
        if self.recent == self.parts.len() {
            self.parts.push(Part {
                segment,
                ranges: Vec::new(),
            });
        }
        self.recent
    }

    /// Puts each part's ranges in ascending order.
    fn finished(mut self, order: Order) -> Morsel {
        if order == Order::Backward {
            self.parts.iter_mut().for_each(|part| part.ranges.reverse());
        }
        self
    }

    /// An item's path, if it was decoded; else nothing.
    pub(crate) fn path(&self, item: &Item) -> &[u8] {
        self.chunks
            .get(item.chunk)
            .map_or(&[], |chunk| chunk.path(item.at))
    }

    /// An item's path, which is decoded if it was not.
    pub(crate) fn decoded_path(&self, item: &Item, scratch: &mut Scratch) -> Result<&[u8]> {
        match self.chunks.get(item.chunk) {
            Some(chunk) => chunk.decoded_path(item.at, scratch),
            None => Ok(&[]),
        }
    }
}

/// Which directories' rows are wanted.
struct Selection<'a> {
    start_depth: usize,
    depths: Range<usize>,
    skip: &'a Subtrees,
    only: Option<&'a Regions>,
    selected: Option<&'a RowSelection>,
    bounds: Vec<Bounds>,
}

impl Selection<'_> {
    /// The wanted ones among some directories of a segment.
    fn pick(&self, segment: SegmentAt, rows: &DirRows, scratch: &mut Scratch) -> Result<Vec<u32>> {
        let selected = self.selected.and_then(|selected| selected.of(segment));
        let has_depth = |at: &u32| {
            let depth = rows.depth(*at as usize).saturating_sub(self.start_depth);
            self.depths.contains(&depth)
        };
        let mut picked: Vec<u32> = (0..rows.len() as u32).filter(has_depth).collect();
        if let Some(selected) = selected {
            keep_selected(rows, selected, &mut picked);
        }
        if !self.bounds.is_empty() {
            picked.retain(|at| self.may_match(rows, *at as usize));
        }
        if self.only.is_some() || !self.skip.is_empty() {
            let mut named = Vec::new();
            for at in picked {
                let path = rows.decoded_path(at as usize, scratch)?;
                if self.only.is_none_or(|only| only.contains(path)) && !self.skip.contains(path) {
                    named.push(at);
                }
            }
            picked = named;
        }
        Ok(picked)
    }

    fn may_match(&self, rows: &DirRows, at: usize) -> bool {
        let matches = |bounds: &Bounds| {
            let number = |which| rows.number(bounds.column + which, at) ^ bounds.flip;
            number(0) <= bounds.high && bounds.low <= number(1)
        };
        self.bounds.iter().all(matches) && rows.number(ROWS, at) > 0
    }
}

/// Leaves the directories that have rows in `selected`, of which rows and
/// ranges are ascending.
fn keep_selected(rows: &DirRows, selected: &[Range<u64>], picked: &mut Vec<u32>) {
    let first = rows.number(FIRST_ROW, 0);
    let mut rest = selected;
    rest = rest
        .get(rest.partition_point(|range| range.end <= first)..)
        .unwrap_or_default();
    picked.retain(|at| {
        let first = rows.number(FIRST_ROW, *at as usize);
        let end = first.saturating_add(rows.number(ROWS, *at as usize));
        while rest.first().is_some_and(|range| range.end <= first) {
            rest = rest.get(1..).unwrap_or_default();
        }
        rest.first()
            .is_some_and(|range| range.start < end && first < end)
    });
}

/// The condition on the smallest and the largest value of a column in a directory.
struct Bounds {
    /// The place of the smallest among what is asked of the merge; the
    /// largest comes after it.
    column: usize,
    /// Turned over in values, so that signed ones compare as unsigned.
    flip: u64,
    low: u64,
    high: u64,
}

impl Bounds {
    fn new(clause: &Clause, column: usize) -> Bounds {
        let (least, most, flip) = match clause.column {
            Column::Size => (0, i128::from(u64::MAX), 0),
            _ => (i64::MIN.into(), i64::MAX.into(), 1 << 63),
        };
        let (low, high) = match clause.overlaps(least, most) {
            true => (clause.low.max(least), clause.high.min(most)),
            // Nothing does; what is let through is looked at later.
            false => (most, least),
        };
        Bounds {
            column,
            flip,
            low: low as u64 ^ flip,
            high: high as u64 ^ flip,
        }
    }
}

/// Columns of the dirs table that bound a column of the entries table.
fn bounds_of(column: Column) -> Option<(DirColumn, DirColumn)> {
    match column {
        Column::Size => Some((DirColumn::SizeMin, DirColumn::SizeMax)),
        Column::Atime => Some((DirColumn::AtimeMin, DirColumn::AtimeMax)),
        Column::Mtime => Some((DirColumn::MtimeMin, DirColumn::MtimeMax)),
        Column::Ctime => Some((DirColumn::CtimeMin, DirColumn::CtimeMax)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One row in each page of two segments is wanted.
    #[test]
    fn scattered_rows_are_shared_by_threads() {
        let mut size = Size::of(MORSEL_ROWS);
        assert!(!size.is_full_of_pages(MORSEL_PAGES - 1, 2));
        assert!(size.is_full_of_pages(MORSEL_PAGES, 2));
        // A hundred segments have entries of the same directories.
        assert!(!size.is_full_of_pages(399, 100));
        assert!(size.is_full_of_pages(400, 100));
        size.morsel = 0;
        assert!(size.is_full_of_pages(2, 100), "the first ones are small");
    }

    /// The sizes of a walk that begins small end where pages end.
    #[test]
    fn morsels_grow_from_page_to_page() {
        let mut size = Size::of(MORSEL_ROWS);
        size.morsel = 0;
        let mut rows = 0;
        let mut before = 0;
        for morsel in 0..FIRST_SIZES.len() + 2 {
            let (full, _) = size.bounds();
            assert!(full >= before && full <= MORSEL_ROWS);
            (before, rows) = (full, rows + full);
            assert!(morsel + 1 < FIRST_MORSELS || rows.is_multiple_of(PAGE));
            size.grow();
        }
        assert_eq!(before, MORSEL_ROWS);
    }
}
