//! Reads columns of all rows below a start, without their directories and in no
//! order visible to the caller, to compute sums and counts.
//!
//! The rows of a subtree are one range in each segment. So the dirs table is
//! read only to find the rows of the first and the last directory. Threads
//! process pieces of about one row group; their results are merged in a fixed
//! order.

use crate::error::{QueryError, Result};
use crate::index::{Index, SegmentAt, Start, View};
use crate::links::{SeenLinks, repeated_rows};
use crate::locate::{Reach, Span, scope};
use crate::segment::{Scratch, SegmentFile, check_names, read_dirs, read_rows};
use crate::walk::check_cancelled_by;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use trawl_format::schema::{DirColumn, ROW_GROUP_ROWS, Table};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::RowBatch;
use trawl_model::sync::{lock, processors};

/// How objects with several names count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkCount {
    /// Once for each name.
    #[default]
    EachName,
    /// Once, at the first name within the scope in segment order.
    Once,
}

/// A sweep query.
#[derive(Clone, Copy, Debug, Default)]
pub struct SweepRequest<'a> {
    /// Columns that the work needs; others are empty.
    pub columns: ColumnSet,
    /// How objects with several names count.
    pub links: LinkCount,
    /// Number of threads; `None` for as many as there are processors.
    pub threads: Option<NonZeroUsize>,
    /// Cancels the query with [`QueryError::Cancelled`] soon after it is set.
    pub cancel: Option<&'a AtomicBool>,
}

/// Columns of some rows of one segment.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// The columns.
    pub batch: &'a RowBatch,
    /// The rows that count, ascending.
    pub runs: &'a [Range<usize>],
    /// The segment, and the number of the batch's first row in it.
    pub(crate) place: (SegmentAt, u64),
}

impl Columns<'_> {
    /// The rows that count.
    pub fn rows(&self) -> impl Iterator<Item = usize> + use<'_> {
        self.runs.iter().cloned().flatten()
    }
}

/// The rows of a segment that lie in a scope.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    pub(crate) span: Span,
    pub(crate) rows: Range<u64>,
}

struct Piece {
    segment: SegmentAt,
    rows: Range<u64>,
    /// Position of the segment's rows in `repeats`.
    stretch: usize,
}

impl Index {
    /// Reads all rows below `start` (without its own row). `work` runs on any
    /// thread and adds to a value that is created for each piece. `merge`
    /// receives these values in order, on any thread but one at a time.
    ///
    /// # Errors
    /// If part of the index cannot be read, or with [`QueryError::Cancelled`].
    pub fn sweep<O, W, M>(
        &self,
        start: &Start,
        request: &SweepRequest<'_>,
        work: W,
        merge: M,
    ) -> Result<()>
    where
        O: Default + Send,
        W: Fn(&Columns<'_>, &mut O) + Sync,
        M: FnMut(O) + Send,
    {
        let view: &View = &start.view;
        let stretches = stretches(start, &mut Scratch::default())?;
        let repeats = match request.links {
            LinkCount::EachName => Vec::new(),
            LinkCount::Once => repeats(view, &stretches)?,
        };
        let pieces = pieces(&stretches);
        let run = |piece: &Piece, scratch: &mut Scratch| -> Result<O> {
            check_cancelled_by(request.cancel)?;
            let mut out = O::default();
            let Some(file) = view.file(piece.segment, Table::Entries)? else {
                return Ok(out);
            };
            let batch = read_piece(&file, piece, request.columns, scratch)?;
            let repeated = repeats.get(piece.stretch).map_or(&[][..], Vec::as_slice);
            let runs = runs(&piece.rows, repeated);
            let columns = Columns {
                batch: &batch,
                runs: &runs,
                place: (piece.segment, piece.rows.start),
            };
            work(&columns, &mut out);
            scratch.recycle(batch);
            Ok(out)
        };
        in_parallel(&pieces, request.threads, run, merge)
    }
}

fn read_piece(
    file: &SegmentFile,
    piece: &Piece,
    columns: ColumnSet,
    scratch: &mut Scratch,
) -> Result<RowBatch> {
    let batch = read_rows(file, columns, std::slice::from_ref(&piece.rows), scratch)?;
    match columns.contains(Column::Name) && !check_names(&batch.name) {
        true => Err(file.damaged("it contains invalid names")),
        false => Ok(batch),
    }
}

/// Returns the rows of everything below `start`, for each segment.
pub(crate) fn stretches(start: &Start, scratch: &mut Scratch) -> Result<Vec<Stretch>> {
    let view: &View = &start.view;
    if !start.is_dir {
        return Ok(Vec::new());
    }
    let spans = scope(view, &start.path, Reach::Subtree, scratch)?;
    let mut found = Vec::with_capacity(spans.len());
    for span in spans {
        let Some((_, segment)) = view.segment(span.segment) else {
            continue;
        };
        let (Some(dirs), Some(entries)) = (
            view.file(span.segment, Table::Dirs)?,
            view.file(span.segment, Table::Entries)?,
        ) else {
            continue;
        };
        // The list of pieces is proportional to the number of rows, so check
        // that they exist.
        if span.dirs.end > dirs.rows() || segment.rows != entries.rows() {
            return Err(entries.damaged("its row count differs from its manifest"));
        }
        let rows = match span.dirs == (0..segment.dirs) {
            true => 0..segment.rows,
            false => rows_of(&dirs, &span.dirs, segment.rows, scratch)?,
        };
        found.push(Stretch { span, rows });
    }
    Ok(found)
}

/// Returns the rows that belong to consecutive directories in the entries
/// table, which has `entries` rows.
fn rows_of(
    dirs: &SegmentFile,
    range: &Range<u64>,
    entries: u64,
    scratch: &mut Scratch,
) -> Result<Range<u64>> {
    const COLUMNS: [DirColumn; 2] = [DirColumn::FirstRow, DirColumn::Rows];
    let first = read_dirs(dirs, range.start..range.start + 1, &COLUMNS, scratch)?;
    let last = read_dirs(dirs, range.end - 1..range.end, &COLUMNS, scratch)?;
    let start = first.number(0, 0);
    let end = last.number(0, 0).checked_add(last.number(1, 0));
    match end.filter(|end| start <= *end && *end <= entries) {
        Some(end) => Ok(start..end),
        None => Err(dirs.damaged("it refers to rows that are not there")),
    }
}

/// Returns for each stretch the rows that are further names of counted objects.
fn repeats(view: &View, stretches: &[Stretch]) -> Result<Vec<Vec<u64>>> {
    let mut seen = SeenLinks::new();
    let mut scratch = Scratch::default();
    let one = |stretch: &Stretch| repeated_rows(view, stretch, &mut seen, &mut scratch);
    stretches.iter().map(one).collect()
}

/// Divides stretches into pieces that end at row group boundaries.
fn pieces(stretches: &[Stretch]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (at, stretch) in stretches.iter().enumerate() {
        let mut start = stretch.rows.start;
        while start < stretch.rows.end {
            let end = (start + 1).next_multiple_of(ROW_GROUP_ROWS as u64);
            let end = end.min(stretch.rows.end);
            pieces.push(Piece {
                segment: stretch.span.segment,
                rows: start..end,
                stretch: at,
            });
            start = end;
        }
    }
    pieces
}

/// Returns the parts of `rows` without `repeated`, relative to the first row.
fn runs(rows: &Range<u64>, repeated: &[u64]) -> Vec<Range<usize>> {
    let from = repeated.partition_point(|row| *row < rows.start);
    let mut runs = Vec::new();
    let mut start = rows.start;
    for row in repeated.get(from..).unwrap_or_default() {
        if *row >= rows.end {
            break;
        }
        if start < *row {
            runs.push(start..*row);
        }
        start = row + 1;
    }
    if start < rows.end {
        runs.push(start..rows.end);
    }
    let local = |row: u64| (row - rows.start) as usize;
    let runs = runs.into_iter();
    runs.map(|run| local(run.start)..local(run.end)).collect()
}

/// Results waiting for those before them.
struct InOrder<O, M> {
    waiting: BTreeMap<usize, O>,
    due: usize,
    merge: M,
    failed: Option<(usize, QueryError)>,
}

/// Runs `run` on each item of `work`, on several threads, and passes the
/// results to `merge` in order. If there are several errors, returns the first
/// in order.
pub(crate) fn in_parallel<T, O, R, M>(
    work: &[T],
    threads: Option<NonZeroUsize>,
    run: R,
    merge: M,
) -> Result<()>
where
    T: Sync,
    O: Send,
    R: Fn(&T, &mut Scratch) -> Result<O> + Sync,
    M: FnMut(O) + Send,
{
    let state = Mutex::new(InOrder {
        waiting: BTreeMap::new(),
        due: 0,
        merge,
        failed: None,
    });
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let one = || {
        let mut scratch = Scratch::default();
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = work.get(at) else {
                break;
            };
            let done = run(item, &mut scratch);
            if done.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            lock(&state).put(at, done);
        }
    };
    let threads = threads.map_or_else(processors, NonZeroUsize::get);
    let others = threads.min(work.len()).saturating_sub(1);
    std::thread::scope(|scope| {
        for _ in 0..others {
            // If no thread can be started, the others do its work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, one);
        }
        one();
    });
    let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    state.failed.map_or(Ok(()), |(_, error)| Err(error))
}

impl<O, M: FnMut(O)> InOrder<O, M> {
    fn put(&mut self, at: usize, done: Result<O>) {
        match done {
            Ok(value) => {
                self.waiting.insert(at, value);
            }
            Err(error) => {
                if self.failed.as_ref().is_none_or(|(first, _)| at < *first) {
                    self.failed = Some((at, error));
                }
            }
        }
        while let Some(value) = self.waiting.remove(&self.due) {
            (self.merge)(value);
            self.due += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_rows_are_left_out_of_runs() {
        assert_eq!(runs(&(5..10), &[]), [0..5]);
        assert_eq!(runs(&(5..10), &[1, 5, 7, 9, 12]), [1..2, 3..4]);
        assert_eq!(runs(&(5..7), &[5, 6]), []);
        assert_eq!(runs(&(5..5), &[5]), []);
    }

    #[test]
    fn values_come_in_order_from_any_number_of_threads() {
        let work: Vec<usize> = (0..500).collect();
        for threads in [1, 2, 7] {
            let mut got = Vec::new();
            let run = |at: &usize, _: &mut Scratch| Ok(*at);
            in_parallel(&work, NonZeroUsize::new(threads), run, |at| got.push(at)).unwrap();
            assert_eq!(got, work);
        }
    }

    #[test]
    fn an_error_ends_it() {
        let work: Vec<usize> = (0..500).collect();
        let run = |at: &usize, _: &mut Scratch| match at {
            3.. => Err(QueryError::Cancelled),
            at => Ok(*at),
        };
        let mut got = Vec::new();
        let done = in_parallel(&work, NonZeroUsize::new(3), run, |at| got.push(at));
        assert!(done.is_err() && got.len() <= 3);
    }
}
