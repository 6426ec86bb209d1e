//! Which rows a walk reads: the directories of its scope, in order, cut into
//! morsels.

use crate::error::Result;
use crate::index::{SegmentAt, Start, View};
use crate::locate::{Reach, scope};
use crate::merge::{Merge, Run};
use crate::segment::Scratch;
use crate::selection::{RowSelection, within};
use crate::walk::{Order, Request};
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use trawl_index::schema::{DirColumn, Table};
use trawl_model::column::Column;
use trawl_model::filter::Clause;
use trawl_model::path;

/// Rows of a morsel, about; also the most that a listing has.
pub(crate) const MORSEL_ROWS: u64 = 32 * 1024;
/// Directories of a morsel, at most.
const MORSEL_DIRS: usize = 16 * 1024;

/// Some listings that follow each other, and the rows that they need.
#[derive(Debug, Default)]
pub(crate) struct Morsel {
    pub(crate) items: Vec<Item>,
    /// Paths of the items, end to end.
    pub(crate) paths: Vec<u8>,
    pub(crate) parts: Vec<Part>,
    rows: u64,
    /// The part of the item before.
    recent: usize,
}

/// One listing.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) path: Range<usize>,
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
    /// Least and greatest depth of directories whose rows are wanted.
    depths: Range<usize>,
    skip: &'a [Vec<u8>],
    only: Option<&'a HashSet<Vec<u8>>>,
    selected: Option<&'a RowSelection>,
    /// Clauses on columns of which directories keep minima and maxima.
    clauses: Vec<Clause>,
    morsel: Morsel,
    /// Morsels that are complete, in order.
    done: VecDeque<Morsel>,
}

/// Places of the columns in what is asked of the merge.
const FIRST_ROW: usize = 0;
const ROWS: usize = 1;
const FIRST_BOUND: usize = 2;

impl<'a> Plan<'a> {
    pub(crate) fn new(start: &'a Start, request: &'a Request<'_>) -> Result<Plan<'a>> {
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
            true => scope(view, &start.path, reach, &mut Scratch::default())?,
            false => Vec::new(),
        };
        if let Some(selected) = request.rows {
            spans.retain(|span| selected.of(span.segment) != Some(&[]));
        }
        let mut columns = vec![DirColumn::FirstRow, DirColumn::Rows];
        let mut clauses = Vec::new();
        for clause in &request.filter.clauses {
            if let Some((min, max)) = bounds_of(clause.column) {
                columns.extend([min, max]);
                clauses.push(*clause);
            }
        }
        Ok(Plan {
            view,
            merge: Merge::new(view, spans, &columns, request.order)?,
            order: request.order,
            start_depth: path::depth(&start.path),
            depths,
            skip: &request.skip,
            only: request.only,
            selected: request.rows,
            clauses,
            morsel: Morsel::default(),
            done: VecDeque::new(),
        })
    }

    /// The next morsel; `None` at the end.
    pub(crate) fn next_morsel(&mut self) -> Result<Option<Morsel>> {
        loop {
            if let Some(done) = self.done.pop_front() {
                return Ok(Some(done));
            }
            let (view, order) = (self.view, self.order);
            let selection = Selection {
                start_depth: self.start_depth,
                depths: self.depths.clone(),
                skip: self.skip,
                only: self.only,
                clauses: &self.clauses,
                order,
            };
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
                selected: self.selected.and_then(|rows| rows.of(run.segment)),
                order,
            };
            let fits = selection.for_each(&run, |path, depth, first, count| {
                let end = first.checked_add(count).filter(|end| *end <= rows);
                end.is_some_and(|end| {
                    filling.push(&Directory {
                        path,
                        depth,
                        rows: first..end,
                    })
                })
            });
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
struct Directory<'a> {
    path: &'a [u8],
    depth: usize,
    rows: Range<u64>,
}

/// The morsel being filled and those that are full.
struct Filling<'m> {
    morsel: &'m mut Morsel,
    done: &'m mut VecDeque<Morsel>,
    segment: SegmentAt,
    /// The rows of the segment that are wanted; `None` for all.
    selected: Option<&'m [Range<u64>]>,
    order: Order,
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
    fn push(&mut self, directory: &Directory<'_>) -> bool {
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
        directory: &Directory<'_>,
        mut left: Range<u64>,
        place: &mut Place,
    ) -> bool {
        loop {
            let room = MORSEL_ROWS
                .saturating_sub(self.morsel.rows)
                .max(1)
                .min(left.end - left.start);
            let piece = match self.order {
                Order::Forward => left.start..left.start + room,
                Order::Backward => left.end - room..left.end,
            };
            match self.order {
                Order::Forward => left.start = piece.end,
                Order::Backward => left.end = piece.start,
            }
            let morsel = &mut self.morsel;
            if !morsel.push(self.segment, directory, piece, *place, self.order) {
                return false;
            }
            *place = Place::Same;
            if self.morsel.rows >= MORSEL_ROWS || self.morsel.items.len() >= MORSEL_DIRS {
                self.done
                    .push_back(std::mem::take(self.morsel).finished(self.order));
                *place = Place::New;
            }
            if left.is_empty() {
                return true;
            }
        }
    }
}

impl Morsel {
    /// Adds rows of a directory; false if they do not lie where the order
    /// says.
    fn push(
        &mut self,
        segment: SegmentAt,
        directory: &Directory<'_>,
        rows: Range<u64>,
        place: Place,
        order: Order,
    ) -> bool {
        let part = self.part_of(segment);
        let ranges = &mut self.parts[part].ranges;
        match (ranges.last_mut(), order) {
            _ if rows.is_empty() => {}
            (Some(last), Order::Forward) if last.end == rows.start => last.end = rows.end,
            (Some(last), Order::Backward) if last.start == rows.end => last.start = rows.start,
            (Some(last), Order::Forward) if last.end > rows.start => return false,
            (Some(last), Order::Backward) if last.start < rows.end => return false,
            _ => ranges.push(rows.clone()),
        }
        self.rows += rows.end - rows.start;
        if let (Place::Same, Some(item)) = (place, self.items.last_mut()) {
            item.rows = item.rows.start.min(rows.start)..item.rows.end.max(rows.end);
            return true;
        }
        let start = self.paths.len();
        self.paths.extend_from_slice(directory.path);
        self.items.push(Item {
            path: start..self.paths.len(),
            depth: directory.depth,
            dir_rows: directory.rows.end - directory.rows.start,
            part,
            rows,
        });
        true
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

    pub(crate) fn path(&self, item: &Item) -> &[u8] {
        self.paths.get(item.path.clone()).unwrap_or_default()
    }
}

/// Which directories' rows are wanted.
struct Selection<'a> {
    start_depth: usize,
    depths: Range<usize>,
    skip: &'a [Vec<u8>],
    only: Option<&'a HashSet<Vec<u8>>>,
    clauses: &'a [Clause],
    order: Order,
}

impl Selection<'_> {
    /// Calls `visit` with path, depth, first row and number of rows of each
    /// wanted directory of a run until it answers false, which is returned.
    fn for_each(
        &self,
        run: &Run<'_>,
        mut visit: impl FnMut(&[u8], usize, u64, u64) -> bool,
    ) -> bool {
        let mut one = |at: usize| {
            let path = run.chunk.path.get(at);
            let depth = run.chunk.depth(at).saturating_sub(self.start_depth);
            let is_wanted = self.depths.contains(&depth)
                && self.only.is_none_or(|only| only.contains(path))
                && !self.is_skipped(path)
                && self.may_match(run, at);
            if !is_wanted {
                return true;
            }
            let number = |column| run.chunk.number(column, at);
            visit(path, depth, number(FIRST_ROW), number(ROWS))
        };
        match self.order {
            Order::Forward => run.range.clone().all(&mut one),
            Order::Backward => run.range.clone().rev().all(&mut one),
        }
    }

    fn is_skipped(&self, path: &[u8]) -> bool {
        if self.skip.is_empty() {
            return false;
        }
        // The last subtree that does not begin after the path.
        let after = self
            .skip
            .partition_point(|skip| path::cmp(skip, path).is_le());
        let nearest = after.checked_sub(1).and_then(|at| self.skip.get(at));
        nearest.is_some_and(|skip| path::is_within(path, skip))
    }

    fn may_match(&self, run: &Run<'_>, at: usize) -> bool {
        self.clauses.iter().enumerate().all(|(nth, clause)| {
            let bound = |which: usize| {
                let bits = run.chunk.number(FIRST_BOUND + 2 * nth + which, at);
                match clause.column {
                    Column::Size => i128::from(bits),
                    _ => i128::from(bits as i64),
                }
            };
            run.chunk.number(ROWS, at) > 0 && clause.overlaps(bound(0), bound(1))
        })
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
