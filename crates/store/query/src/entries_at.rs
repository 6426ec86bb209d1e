//! Reads entries by row number: paths and attributes of a few chosen rows.

use crate::error::Result;
use crate::index::{SegmentAt, View};
use crate::segment::{DirChunk, Scratch, SegmentFile, check_names, read_dirs, read_rows};
use crate::walk::check_cancelled_by;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use trawl_format::schema::{DirColumn, SMALL_PAGE_ROWS, Table};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::path;
use trawl_model::rows::{Row, RowBatch};

/// A row of a segment's entries table.
pub(crate) type RowAt = (SegmentAt, u64);

/// An entry of the index.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Absolute path, as stored.
    pub path: Vec<u8>,
    /// A batch of just this row, with the requested columns and the name.
    pub row: RowBatch,
}

impl Entry {
    /// The row.
    pub fn row(&self) -> Row<'_> {
        Row {
            batch: &self.row,
            at: 0,
            dir: path::split(&self.path).map_or(b"", |(dir, _)| dir),
        }
    }
}

/// Reads the entries at `places`, in that order.
pub(crate) fn entries_at(
    view: &View,
    places: &[RowAt],
    columns: ColumnSet,
    cancel: Option<&AtomicBool>,
) -> Result<Vec<Entry>> {
    let columns = columns.union(ColumnSet::of(&[Column::Name]));
    let mut sorted: Vec<(RowAt, usize)> = places.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let mut found: Vec<Option<Entry>> = places.iter().map(|_| None).collect();
    let mut scratch = Scratch::default();
    for group in sorted.chunk_by(|a, b| a.0.0 == b.0.0) {
        check_cancelled_by(cancel)?;
        let segment = group[0].0.0;
        let (Some(dirs), Some(entries)) = (
            view.file(segment, Table::Dirs)?,
            view.file(segment, Table::Entries)?,
        ) else {
            continue;
        };
        let rows: Vec<u64> = group.iter().map(|((_, row), _)| *row).collect();
        let batch = read_rows(&entries, columns, &ranges(&rows), &mut scratch)?;
        if !check_names(&batch.name) {
            return Err(entries.damaged("it contains invalid names"));
        }
        let mut owners = Owners::new(&dirs);
        let mut nth = 0;
        for (step, ((_, row), at)) in group.iter().enumerate() {
            nth += usize::from(step > 0 && rows[step - 1] != *row);
            let dir = owners.dir_of(*row, &mut scratch)?;
            let row = Row {
                batch: &batch,
                at: nth,
                dir,
            };
            found[*at] = Some(Entry {
                path: row.path(),
                row: row.alone(),
            });
        }
        scratch.recycle(batch);
    }
    Ok(found.into_iter().flatten().collect())
}

/// Combines ascending row numbers into ranges; duplicates are allowed.
pub(crate) fn ranges(rows: &[u64]) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for row in rows {
        match ranges.last_mut() {
            Some(last) if last.end > *row => {}
            Some(last) if last.end == *row => last.end += 1,
            _ => ranges.push(*row..*row + 1),
        }
    }
    ranges
}

/// Finds the directories of rows. Rows must be asked for in ascending order.
pub(crate) struct Owners<'f> {
    file: &'f SegmentFile,
    /// The first row of each page that has been looked up.
    begins: HashMap<u64, u64>,
    page: DirChunk,
}

impl<'f> Owners<'f> {
    pub(crate) fn new(file: &'f SegmentFile) -> Owners<'f> {
        Owners {
            file,
            begins: HashMap::new(),
            page: DirChunk::default(),
        }
    }

    /// Returns the path of the directory that holds a row.
    pub(crate) fn dir_of(&mut self, row: u64, scratch: &mut Scratch) -> Result<&[u8]> {
        self.listing_of(row, scratch).map(|(_, dir)| dir)
    }

    /// Like [`Owners::dir_of`], but also returns the directory's row in the
    /// dirs table.
    pub(crate) fn listing_of(&mut self, row: u64, scratch: &mut Scratch) -> Result<(u64, &[u8])> {
        if self.within(row).is_none() {
            self.turn_to(row, scratch)?;
        }
        match self.within(row) {
            Some(at) => Ok((self.page.rows.start + at as u64, self.page.path.get(at))),
            None => Err(self.file.damaged("a row in it belongs to no directory")),
        }
    }

    /// Returns the position in the current page of the directory that holds the
    /// row.
    fn within(&self, row: u64) -> Option<usize> {
        let first = self.page.numbers.first()?;
        // A directory without rows has the same first row as the next one.
        let at = first
            .partition_point(|first| *first <= row)
            .checked_sub(1)?;
        let rows = self.page.number(1, at);
        (row.checked_sub(*first.get(at)?)? < rows).then_some(at)
    }

    fn turn_to(&mut self, row: u64, scratch: &mut Scratch) -> Result<()> {
        let page_rows = SMALL_PAGE_ROWS as u64;
        let (mut low, mut high) = (0, self.file.rows().div_ceil(page_rows));
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.begin(middle, scratch)? <= row {
                true => low = middle,
                false => high = middle,
            }
        }
        let start = low * page_rows;
        let rows = start..(start + page_rows).min(self.file.rows());
        let columns = [DirColumn::FirstRow, DirColumn::Rows];
        self.page = read_dirs(self.file, rows, &columns, scratch)?;
        Ok(())
    }

    fn begin(&mut self, page: u64, scratch: &mut Scratch) -> Result<u64> {
        if let Some(known) = self.begins.get(&page) {
            return Ok(*known);
        }
        let row = page * SMALL_PAGE_ROWS as u64;
        let mut first = Vec::new();
        let column = DirColumn::FirstRow as usize;
        self.file
            .numbers(column, 0u64, &[row..row + 1], scratch, &mut first)?;
        let first = first.first().copied().unwrap_or_default();
        self.begins.insert(page, first);
        Ok(first)
    }
}
