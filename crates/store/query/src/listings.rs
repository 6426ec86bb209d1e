//! Listings of single directories, for callers that ask for many of them,
//! roughly in path order. Decoded pages are kept for the next directory.
//!
//! Rows are decoded a page at a time however few are needed, so reading a
//! hundred neighbouring directories costs as much as reading one.

use crate::error::Result;
use crate::index::{SegmentAt, View};
use crate::locate::{Reach, Span, entry_rows, find_name, scope_by, search};
use crate::segment::{DirChunk, Scratch, SegmentFile, check_names, read_dirs, read_rows};
use crate::superseded::{RowsOf, Values};
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use trawl_format::Shard;
use trawl_format::schema::{DirColumn, PAGE_ROWS, SMALL_PAGE_ROWS, Table};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::{Row, RowBatch};
use trawl_model::{Dev, path};

/// Number of decoded pieces kept, for each kind of table.
const KEPT: usize = 8;
/// Maximum number of rows decoded together.
const MOST_ROWS: u64 = 4 * PAGE_ROWS as u64;

/// Reads listings of a view.
pub struct Listings<'v> {
    view: &'v Arc<View>,
    columns: ColumnSet,
    scratch: Scratch,
    dirs: VecDeque<(SegmentAt, DirChunk)>,
    entries: VecDeque<Window>,
}

/// The pages that a [`Listings`] has decoded, to be reused by another one of
/// the same view and columns.
#[derive(Default)]
pub struct DecodedListings {
    scratch: Scratch,
    dirs: VecDeque<(SegmentAt, DirChunk)>,
    entries: VecDeque<Window>,
}

/// Where the listing of a directory is stored.
#[derive(Clone, Debug, Default)]
pub struct ListingPlace {
    spans: Vec<Span>,
}

/// Properties of a listing that are known without reading its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Number of entries.
    pub rows: u64,
    /// Device number of the directory.
    pub dev: Dev,
    /// Inode number of the directory.
    pub ino: u64,
}

/// Decoded rows of a segment.
struct Window {
    segment: SegmentAt,
    rows: Range<u64>,
    batch: RowBatch,
}

impl<'v> Listings<'v> {
    /// Makes a reader that reads these columns and the name of each row.
    pub fn new(view: &'v Arc<View>, columns: ColumnSet) -> Listings<'v> {
        Listings::going_on(view, columns, DecodedListings::default())
    }

    /// Like [`Listings::new`], but reuses pages that another reader of the same
    /// view and columns has decoded. For callers that cannot keep a value that
    /// borrows the view.
    pub fn going_on(
        view: &'v Arc<View>,
        columns: ColumnSet,
        decoded: DecodedListings,
    ) -> Listings<'v> {
        Listings {
            view,
            columns: columns.union(ColumnSet::of(&[Column::Name])),
            scratch: decoded.scratch,
            dirs: decoded.dirs,
            entries: decoded.entries,
        }
    }

    /// Returns the decoded pages.
    pub fn into_decoded(self) -> DecodedListings {
        DecodedListings {
            scratch: self.scratch,
            dirs: self.dirs,
            entries: self.entries,
        }
    }

    /// Finds the live listing of `dir` (absolute, as stored).
    ///
    /// # Errors
    /// If part of the index cannot be read.
    pub fn find(&mut self, dir: &[u8]) -> Result<ListingPlace> {
        let view = self.view;
        let spans = scope_by(view, dir, Reach::Itself, &mut |at, file| {
            self.rows_of_dir(at, file, dir)
        })?;
        Ok(ListingPlace { spans })
    }

    /// Returns the shards that hold the listing at `place`.
    pub fn shards<'p>(
        &self,
        place: &'p ListingPlace,
    ) -> impl Iterator<Item = &'v Shard> + use<'p, 'v> {
        let view = self.view;
        let spans = place.spans.iter();
        spans.filter_map(move |span| Some(view.segment(span.segment)?.0))
    }

    /// Returns the outline of the listing at `place`, which must be the one
    /// found last. `None` if it is empty, or combines several directories that
    /// had the same path.
    pub fn outline(&self, place: &ListingPlace) -> Option<Outline> {
        let mut whole: Option<Outline> = None;
        for span in &place.spans {
            for row in span.dirs.clone() {
                let mut kept = self.dirs.iter();
                let (_, chunk) =
                    kept.find(|(at, chunk)| *at == span.segment && chunk.rows.contains(&row))?;
                let at = (row - chunk.rows.start) as usize;
                let [rows, ino, dev] = [1, 2, 3].map(|column| chunk.number(column, at));
                let dev = Dev::from_u64(dev);
                let sum = whole.get_or_insert(Outline { rows: 0, dev, ino });
                if (sum.dev, sum.ino) != (dev, ino) {
                    return None;
                }
                sum.rows = sum.rows.saturating_add(rows);
            }
        }
        whole
    }

    /// Calls `visit` for each row of the listing of `dir` at `place`.
    ///
    /// # Errors
    /// If part of the index cannot be read.
    pub fn rows(
        &mut self,
        dir: &[u8],
        place: &ListingPlace,
        mut visit: impl FnMut(&Row<'_>),
    ) -> Result<()> {
        for span in &place.spans {
            for rows in self.entry_rows(span)? {
                let mut next = rows.start;
                while next < rows.end {
                    let window = self.window(span.segment, next..rows.end)?;
                    let end = rows.end.min(window.rows.end);
                    for row in next..end {
                        let at = (row - window.rows.start) as usize;
                        let batch = &window.batch;
                        visit(&Row { batch, at, dir });
                    }
                    next = end.max(next + 1);
                }
            }
        }
        Ok(())
    }

    /// Calls `visit` with the row of `name` in the listing of `dir`; returns
    /// `None` if there is no such row.
    ///
    /// # Errors
    /// If part of the index cannot be read.
    pub fn entry<T>(
        &mut self,
        dir: &[u8],
        name: &[u8],
        visit: impl FnOnce(&Row<'_>) -> T,
    ) -> Result<Option<T>> {
        for span in self.find(dir)?.spans {
            for rows in self.entry_rows(&span)? {
                let Some(row) = self.find_name(span.segment, rows, name)? else {
                    continue;
                };
                let window = self.window(span.segment, row..row + 1)?;
                let at = (row - window.rows.start) as usize;
                let batch = &window.batch;
                return Ok(Some(visit(&Row { batch, at, dir })));
            }
        }
        Ok(None)
    }

    /// Like [`View::rows_of`], for the listing of `dir` at `place`.
    ///
    /// # Errors
    /// If part of the index cannot be read.
    pub fn rows_of(
        &mut self,
        dir: &[u8],
        place: &ListingPlace,
        values: Values,
    ) -> Result<Vec<RowsOf<'v>>> {
        let spans = place.spans.clone();
        self.view
            .rows_of_listing(dir, spans, values, &mut self.scratch)
    }

    /// Returns the rows of a dirs table that are `dir`.
    fn rows_of_dir(&mut self, at: SegmentAt, file: &SegmentFile, dir: &[u8]) -> Result<Range<u64>> {
        let mut kept = self.dirs.iter().filter(|(segment, _)| *segment == at);
        if let Some(rows) = kept.find_map(|(_, chunk)| rows_in(chunk, file.rows(), dir)) {
            return Ok(rows);
        }
        let rows = search(file, dir, Reach::Itself, &mut self.scratch)?;
        let page = SMALL_PAGE_ROWS as u64;
        let first = rows.start / page * page;
        let around = first..(rows.end + 1).next_multiple_of(page).min(file.rows());
        if !around.is_empty() && rows.end - rows.start <= page {
            let columns = [
                DirColumn::FirstRow,
                DirColumn::Rows,
                DirColumn::OwnIno,
                DirColumn::OwnDev,
            ];
            let chunk = read_dirs(file, around, &columns, &mut self.scratch)?;
            keep(&mut self.dirs, (at, chunk));
        }
        Ok(rows)
    }

    /// Returns the rows of the entries table that belong to rows of a dirs
    /// table.
    fn entry_rows(&mut self, span: &Span) -> Result<Vec<Range<u64>>> {
        let Some((_, segment)) = self.view.segment(span.segment) else {
            return Ok(Vec::new());
        };
        let Some(file) = self.view.file(span.segment, Table::Dirs)? else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for row in span.dirs.clone() {
            let mut kept = self.dirs.iter();
            let known = kept.find(|(at, chunk)| *at == span.segment && chunk.rows.contains(&row));
            found.push(match known {
                Some((_, chunk)) => {
                    let at = (row - chunk.rows.start) as usize;
                    let (first, rows) = (chunk.number(0, at), chunk.number(1, at));
                    match first.checked_add(rows) {
                        Some(end) if end <= segment.rows => first..end,
                        _ => return Err(file.damaged("it refers to rows that are not there")),
                    }
                }
                None => entry_rows(&file, row, segment.rows, &mut self.scratch)?,
            });
        }
        Ok(found)
    }

    /// Returns decoded rows that include the first of `rows`.
    fn window(&mut self, segment: SegmentAt, rows: Range<u64>) -> Result<&Window> {
        let is_it =
            |window: &Window| window.segment == segment && window.rows.contains(&rows.start);
        let at = match self.entries.iter().position(is_it) {
            Some(at) => at,
            None => {
                let read = self.read_window(segment, rows)?;
                keep(&mut self.entries, read);
                self.entries.len() - 1
            }
        };
        let found = self.entries.get(at);
        found.ok_or_else(|| {
            self.view.damaged(
                segment,
                Table::Entries,
                "rows beyond its end are referred to",
            )
        })
    }

    fn read_window(&mut self, segment: SegmentAt, rows: Range<u64>) -> Result<Window> {
        let file = self.view.file(segment, Table::Entries)?;
        let beyond = "rows beyond its end are referred to";
        let file = file.ok_or_else(|| self.view.damaged(segment, Table::Entries, beyond))?;
        let page = PAGE_ROWS as u64;
        let first = rows.start / page * page;
        let end = rows.end.next_multiple_of(page).min(first + MOST_ROWS);
        let rows = first..end.min(file.rows());
        let ranges = [rows.clone()];
        let batch = read_rows(&file, self.columns, &ranges, &mut self.scratch)?;
        match check_names(&batch.name) {
            true => Ok(Window {
                segment,
                rows,
                batch,
            }),
            false => Err(file.damaged("it contains invalid names")),
        }
    }

    /// Finds the row with this name among `rows`, which are sorted by name.
    fn find_name(
        &mut self,
        segment: SegmentAt,
        rows: Range<u64>,
        name: &[u8],
    ) -> Result<Option<u64>> {
        if rows.is_empty() {
            return Ok(None);
        }
        if rows.end - rows.start > PAGE_ROWS as u64 {
            let Some(file) = self.view.file(segment, Table::Entries)? else {
                return Ok(None);
            };
            return find_name(&file, rows, name, &mut self.scratch);
        }
        let mut next = rows.start;
        while next < rows.end {
            let window = self.window(segment, next..rows.end)?;
            let base = window.rows.start;
            let end = rows.end.min(window.rows.end);
            let (mut low, mut high) = (next, end);
            while low < high {
                let middle = low + (high - low) / 2;
                let there = window.batch.name.get((middle - base) as usize);
                match there.cmp(name) {
                    Ordering::Equal => return Ok(Some(middle)),
                    Ordering::Less => low = middle + 1,
                    Ordering::Greater => high = middle,
                }
            }
            if low < end {
                return Ok(None);
            }
            next = end.max(next + 1);
        }
        Ok(None)
    }
}

/// Returns the rows of a chunk that are `dir`, if the chunk includes all such
/// rows of its table, which has `table` rows.
fn rows_in(chunk: &DirChunk, table: u64, dir: &[u8]) -> Option<Range<u64>> {
    let order = |at: usize| path::cmp(chunk.path.get(at), dir);
    let last = chunk.len().checked_sub(1)?;
    let begins = chunk.rows.start == 0 || order(0) == Ordering::Less;
    let ends = chunk.rows.end == table || order(last) == Ordering::Greater;
    if !begins || !ends {
        return None;
    }
    let first_not = |before: &dyn Fn(Ordering) -> bool| {
        let (mut low, mut high) = (0, chunk.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match before(order(middle)) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        chunk.rows.start + low as u64
    };
    let start = first_not(&|order| order == Ordering::Less);
    Some(start..first_not(&|order| order != Ordering::Greater))
}

fn keep<T>(kept: &mut VecDeque<T>, one: T) {
    if kept.len() >= KEPT {
        kept.pop_front();
    }
    kept.push_back(one);
}
