//! Divides the rows of a scope that can match into pieces.

use super::{NameRequest, candidates, columns};
use crate::error::Result;
use crate::index::{SegmentAt, Start, View};
use crate::locate::{Reach, Span, scope};
use crate::segment::{Scratch, read_dirs};
use crate::walk::check_cancelled_by;
use std::ops::Range;
use trawl_format::SegmentInfo;
use trawl_format::schema::{DirColumn, Table};
use trawl_model::path;

/// Approximate number of rows in a piece.
const PIECE_ROWS: u64 = 64 * 1024;
/// Minimum number of rows in a piece if there are many segments.
const LEAST_ROWS: u64 = 4 * 1024;
/// Maximum number of rows in one piece of every segment together.
const WAITING_ROWS: u64 = 1 << 20;
/// Maximum number of row ranges in a piece.
const RANGES: usize = 256;

/// The source of a piece's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The name sidecar.
    Sidecar,
    /// The segment's tables.
    Columns,
    /// The sidecar if it can be read, otherwise the tables. The worker that
    /// searches the piece determines which rows can match.
    Either,
}

/// Some rows of a segment.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) segment: SegmentAt,
    /// Ascending and disjoint.
    pub(super) rows: Vec<Range<u64>>,
    pub(super) source: Source,
    /// A directory that is not after that of the first row.
    pub(super) start: Vec<u8>,
}

/// Returns the pieces of everything below `start`, ordered by `Piece::start`.
pub(super) fn pieces(start: &Start, request: &NameRequest<'_>) -> Result<Vec<Piece>> {
    let view: &View = &start.view;
    if !start.is_dir {
        return Ok(Vec::new());
    }
    let mut scratch = Scratch::default();
    let spans = scope(view, &start.path, Reach::Subtree, &mut scratch)?;
    let share = WAITING_ROWS / spans.len().max(1) as u64;
    let mut cutter = Cutter {
        view,
        request,
        top: &start.path,
        size: share.clamp(LEAST_ROWS, PIECE_ROWS),
        scratch,
        pieces: Vec::new(),
    };
    for span in &spans {
        check_cancelled_by(request.cancel)?;
        cutter.span(span)?;
    }
    let mut pieces = cutter.pieces;
    pieces.sort_by(|a, b| {
        let rows = |piece: &Piece| piece.rows.first().map(|range| range.start);
        path::cmp(&a.start, &b.start)
            .then(a.segment.cmp(&b.segment))
            .then(rows(a).cmp(&rows(b)))
    });
    Ok(pieces)
}

struct Cutter<'a, 'r> {
    view: &'a View,
    request: &'a NameRequest<'r>,
    /// The path that contains everything.
    top: &'a [u8],
    /// Number of rows in a piece.
    size: u64,
    scratch: Scratch,
    pieces: Vec<Piece>,
}

impl Cutter<'_, '_> {
    fn span(&mut self, span: &Span) -> Result<()> {
        let view = self.view;
        let Some((_, info)) = view.segment(span.segment) else {
            return Ok(());
        };
        let rows = rows(view, span, &mut self.scratch)?;
        if rows.is_empty() {
            return Ok(());
        }
        if rows.end - rows.start <= self.size {
            self.whole(span.segment, info, rows);
            return Ok(());
        }
        let before = self.pieces.len();
        if self.by_sidecar(span.segment, &rows).is_none() {
            self.pieces.truncate(before);
            self.by_columns(span, info, rows)?;
        }
        Ok(())
    }

    /// Adds the rows as one piece without opening any file.
    fn whole(&mut self, segment: SegmentAt, info: &SegmentInfo, rows: Range<u64>) {
        let known = info.first_dir.as_deref();
        let start = known.filter(|dir| path::is_within(dir, self.top));
        self.pieces.push(Piece {
            segment,
            rows: vec![rows],
            source: Source::Either,
            start: start.unwrap_or(self.top).to_vec(),
        });
    }

    /// Returns `None` if there is no readable sidecar.
    fn by_sidecar(&mut self, segment: SegmentAt, rows: &Range<u64>) -> Option<()> {
        let names = self.view.names(segment)?;
        let ranges = candidates(&names, self.request.need, rows).ok()?;
        for rows in grouped(&ranges, self.size) {
            let first = rows.first().map_or(0, |range| range.start);
            self.pieces.push(Piece {
                segment,
                rows,
                source: Source::Sidecar,
                start: names.dir_of(first).ok()?,
            });
        }
        Some(())
    }

    fn by_columns(&mut self, span: &Span, info: &SegmentInfo, rows: Range<u64>) -> Result<()> {
        for piece in grouped(std::slice::from_ref(&rows), self.size) {
            let first = piece.first().map_or(0, |range| range.start);
            let start = match &info.first_dir {
                // The first directory is not after any other.
                Some(known) if first == rows.start => known.clone(),
                _ => self.dir_of(span.segment, first)?,
            };
            self.pieces.push(Piece {
                segment: span.segment,
                rows: piece,
                source: Source::Columns,
                start,
            });
        }
        Ok(())
    }

    fn dir_of(&mut self, segment: SegmentAt, row: u64) -> Result<Vec<u8>> {
        let Some(dirs) = self.view.file(segment, Table::Dirs)? else {
            return Ok(Vec::new());
        };
        let at = columns::dir_of(&dirs, row, &mut self.scratch)?;
        let chunk = read_dirs(&dirs, at..at + 1, &[], &mut self.scratch)?;
        Ok(chunk.path.get(0).to_vec())
    }
}

/// Returns the rows of the entries table that a span covers.
pub(crate) fn rows(view: &View, span: &Span, scratch: &mut Scratch) -> Result<Range<u64>> {
    let Some((_, info)) = view.segment(span.segment) else {
        return Ok(0..0);
    };
    // A segment that begins with an own row has exactly one.
    let own = u64::from(info.own_row);
    let mut first_row = |dir: u64| -> Result<u64> {
        match view.file(span.segment, Table::Dirs)? {
            Some(dirs) => {
                let chunk = read_dirs(&dirs, dir..dir + 1, &[DirColumn::FirstRow], scratch)?;
                Ok(chunk.number(0, 0))
            }
            None => Ok(0),
        }
    };
    let start = match span.dirs.start <= own {
        true => own,
        false => first_row(span.dirs.start)?,
    };
    let end = match span.dirs.end >= info.dirs {
        true => info.rows,
        false => first_row(span.dirs.end)?,
    };
    Ok(start..end.min(info.rows))
}

/// Combines and splits ranges into lists of about `size` rows.
fn grouped(ranges: &[Range<u64>], size: u64) -> Vec<Vec<Range<u64>>> {
    let (mut groups, mut group, mut rows) = (Vec::new(), Vec::new(), 0);
    for range in ranges {
        let mut left = range.clone();
        while !left.is_empty() {
            let end = left.end.min(left.start + (size - rows));
            group.push(left.start..end);
            rows += end - left.start;
            left.start = end;
            if rows >= size || group.len() >= RANGES {
                groups.push(std::mem::take(&mut group));
                rows = 0;
            }
        }
    }
    if !group.is_empty() {
        groups.push(group);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_every_row_once() {
        let scattered = (0..1000u64).map(|at| 3 * at..3 * at + 1).collect();
        for (ranges, size) in [
            (vec![], 4),
            (vec![0..9], 4),
            (vec![1..2, 3..4, 7..20], 4),
            (scattered, 9999),
        ] {
            let groups = grouped(&ranges, size);
            let rows = |range: &Range<u64>| range.end - range.start;
            for group in &groups {
                assert!(group.iter().map(rows).sum::<u64>() <= size);
                assert!(!group.is_empty() && group.len() <= RANGES);
            }
            let given: Vec<u64> = groups.into_iter().flatten().flatten().collect();
            assert_eq!(given, ranges.into_iter().flatten().collect::<Vec<_>>());
        }
    }
}
