//! Searches names in a segment's tables, if there is no sidecar.

use super::{Hit, NameRequest};
use crate::error::Result;
use crate::index::{SegmentAt, View};
use crate::segment::{DirChunk, Scratch, SegmentFile, check_names, read_dirs, read_names};
use crate::walk::check_cancelled_by;
use std::ops::Range;
use trawl_format::schema::{DirColumn, SMALL_PAGE_ROWS, Table};
use trawl_model::need::Within;
use trawl_model::rows::ByteColumn;

const COLUMNS: [DirColumn; 2] = [DirColumn::FirstRow, DirColumn::Rows];
/// Number of directories read together.
const DIRS: u64 = SMALL_PAGE_ROWS as u64;

/// Tests `rows` of a segment.
pub(super) fn search(
    view: &View,
    segment: SegmentAt,
    rows: &Range<u64>,
    request: &NameRequest<'_>,
    scratch: &mut Scratch,
    give: &mut dyn FnMut(Hit<'_>),
) -> Result<()> {
    let (Some(dirs), Some(entries)) = (
        view.file(segment, Table::Dirs)?,
        view.file(segment, Table::Entries)?,
    ) else {
        return Ok(());
    };
    let rows = rows.start..rows.end.min(entries.rows());
    if rows.is_empty() {
        return Ok(());
    }
    let names = read_names(&entries, std::slice::from_ref(&rows), scratch)?;
    if !check_names(&names) {
        return Err(entries.damaged("it contains invalid names"));
    }
    let mut tester = Tester {
        request,
        subject: Vec::new(),
    };
    let mut dir = dir_of(&dirs, rows.start, scratch)?;
    while dir < dirs.rows() {
        check_cancelled_by(request.cancel)?;
        let end = dirs.rows().min(dir + DIRS);
        let chunk = read_dirs(&dirs, dir..end, &COLUMNS, scratch)?;
        for at in 0..chunk.len() {
            let own = rows_of(&dirs, &chunk, at, entries.rows())?;
            if own.start >= rows.end {
                return Ok(());
            }
            let own = own.start.max(rows.start)..own.end.min(rows.end);
            let places = own.map(|row| (row - rows.start) as usize);
            tester.listing(chunk.path.get(at), &names, places, give);
        }
        dir = end;
    }
    Ok(())
}

/// Returns the row of the dirs table that a row of the entries table belongs
/// to: the last one whose first row is not after it.
pub(super) fn dir_of(dirs: &SegmentFile, row: u64, scratch: &mut Scratch) -> Result<u64> {
    let (mut low, mut high) = (0, dirs.rows());
    let mut first_rows = Vec::new();
    while low < high {
        // Reading a whole page costs no more than reading one row of it.
        let is_near = high - low <= DIRS;
        let middle = low + (high - low) / 2;
        let rows = match is_near {
            true => low..high,
            false => middle..middle + 1,
        };
        first_rows.clear();
        let column = DirColumn::FirstRow as usize;
        dirs.numbers(column, 0u64, &[rows], scratch, &mut first_rows)?;
        if is_near {
            low += first_rows.partition_point(|first| *first <= row) as u64;
            break;
        }
        match first_rows.first().is_some_and(|first| *first <= row) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    match low.checked_sub(1) {
        Some(dir) => Ok(dir),
        None => Err(dirs.damaged("it has no directory for some rows")),
    }
}

/// Returns the rows of a directory.
fn rows_of(dirs: &SegmentFile, chunk: &DirChunk, at: usize, rows: u64) -> Result<Range<u64>> {
    let first = chunk.number(0, at);
    let end = first.checked_add(chunk.number(1, at));
    match end.filter(|end| *end <= rows) {
        Some(end) => Ok(first..end),
        None => Err(dirs.damaged("it refers to rows that are not there")),
    }
}

struct Tester<'a, 'r> {
    request: &'a NameRequest<'r>,
    /// The directory's path followed by a slash, then the name.
    subject: Vec<u8>,
}

impl Tester<'_, '_> {
    fn listing(
        &mut self,
        dir: &[u8],
        names: &ByteColumn,
        places: impl Iterator<Item = usize>,
        give: &mut dyn FnMut(Hit<'_>),
    ) {
        self.subject.clear();
        self.subject.extend_from_slice(dir);
        self.subject.push(b'/');
        let prefix = self.subject.len();
        for at in places {
            let name = names.get(at);
            let matched = match self.request.within {
                Within::Name => self.request.test.is_match(name),
                Within::Path => {
                    self.subject.truncate(prefix);
                    self.subject.extend_from_slice(name);
                    self.request.test.is_match(&self.subject)
                }
            };
            if matched && self.request.keeps(Hit { dir, name }) {
                give(Hit { dir, name });
            }
        }
    }
}
