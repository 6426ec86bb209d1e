//! Finds the few rows of a scope that come first by size or time.
//!
//! A directory's row in the dirs table bounds the values of its entries: the
//! largest and smallest size, the sum of allocated blocks, the earliest and
//! latest times. Only directories whose bound reaches a threshold are searched.
//! The first threshold is a guess from the bounds alone. The worst of the best
//! rows found with it gives the final threshold, which excludes no result.
//! Paths are decoded only for the rows that remain.

use crate::directories::{DirRequest, Directory};
use crate::entries_at::{Entry, Owners, RowAt, entries_at, ranges};
use crate::error::Result;
use crate::index::{Index, SegmentAt, Start, View};
use crate::segment::{Scratch, SegmentFile, read_rows};
use crate::stats::RowTest;
use crate::sweep::{in_parallel, stretches};
use crate::walk::check_cancelled_by;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::num::NonZeroUsize;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use trawl_format::schema::{DirColumn, SMALL_ROW_GROUP_ROWS, Table};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::{NO_BTIME, Row, RowBatch};
use trawl_model::sync::lock;
use trawl_model::{FileType, path};

/// Approximate number of rows whose keys are examined together.
const ROWS_AT_ONCE: u64 = 64 * 1024;
/// Minimum number of directories whose bounds make up the first guess.
const LEAST_GUESS: usize = 64;

/// The property that entries are ranked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankBy {
    /// Apparent size.
    Size,
    /// Allocated space.
    Blocks,
    /// Last access.
    Accessed,
    /// Last change of the content (`mtime`).
    Modified,
    /// Last change of the inode (`ctime`).
    Changed,
    /// Time of creation; entries without one are left out.
    Created,
}

/// The requested end of the ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankEnd {
    /// The largest or latest first.
    Greatest,
    /// The smallest or earliest first.
    Least,
}

/// The entries that are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranked {
    /// Regular files.
    Files,
    /// All entries.
    Everything,
}

/// A ranking query. The start itself is ranked only if it is not a directory.
/// An object with several names appears once, under the name that ranks first;
/// among equal names, the first in segment order.
#[derive(Clone, Copy)]
pub struct RankRequest<'a> {
    /// The property to rank by.
    pub by: RankBy,
    /// The end of the ranking.
    pub end: RankEnd,
    /// The entries to rank.
    pub of: Ranked,
    /// Maximum number of results.
    pub limit: usize,
    /// Columns to read of the results.
    pub columns: ColumnSet,
    /// A test that the results must pass.
    pub test: Option<&'a dyn RowTest>,
    /// Number of threads; `None` for as many as there are processors.
    pub threads: Option<NonZeroUsize>,
    /// Cancels the query with
    /// [`QueryError::Cancelled`](crate::QueryError::Cancelled) soon after it is
    /// set.
    pub cancel: Option<&'a AtomicBool>,
}

impl Index {
    /// Returns the first entries of a ranking below `start`, in rank order;
    /// equal ones by path.
    ///
    /// # Errors
    /// If part of the index cannot be read, or with
    /// [`QueryError::Cancelled`](crate::QueryError::Cancelled).
    pub fn ranked(&self, start: &Start, request: &RankRequest<'_>) -> Result<Vec<Entry>> {
        let view: &View = &start.view;
        let best = match start.is_dir {
            true => Contest::new(start, request)?.run()?,
            false => return Ok(alone(start, request)),
        };
        let places: Vec<RowAt> = best.iter().map(|candidate| candidate.place).collect();
        let found = entries_at(view, &places, request.columns, request.cancel)?;
        let mut keyed: Vec<(i128, Entry)> = best.iter().map(|c| c.key).zip(found).collect();
        keyed.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| path::cmp(&x.path, &y.path)));
        Ok(keyed.into_iter().map(|(_, entry)| entry).collect())
    }

    /// Returns the directories at or below `start` with the most entries of
    /// their own, fullest first; equal ones by path.
    ///
    /// # Errors
    /// As [`Index::directories`].
    pub fn fullest(
        &self,
        start: &Start,
        limit: usize,
        cancel: Option<&AtomicBool>,
    ) -> Result<Vec<Directory>> {
        let request = DirRequest {
            cancel,
            ..DirRequest::default()
        };
        let mut heap: BinaryHeap<(Reverse<u64>, u64)> = BinaryHeap::new();
        let mut kept: HashMap<u64, Directory> = HashMap::new();
        let mut nth = 0;
        self.directories(start, &request, |directory| {
            nth += 1;
            let rank = (Reverse(directory.rows()), nth);
            if heap.len() < limit || heap.peek().is_some_and(|last| rank < *last) {
                heap.push(rank);
                kept.insert(nth, directory.clone());
            }
            if heap.len() > limit
                && let Some((_, last)) = heap.pop()
            {
                kept.remove(&last);
            }
            ControlFlow::Continue(())
        })?;
        let order = heap.into_sorted_vec();
        let in_order = order.into_iter().filter_map(|(_, nth)| kept.remove(&nth));
        Ok(in_order.collect())
    }
}

/// Ranks the start itself, if it is not a directory.
fn alone(start: &Start, request: &RankRequest<'_>) -> Vec<Entry> {
    let row = start.own_row();
    let is_in = is_ranked(&row, request.of)
        && request.limit > 0
        && key(&row, request.by, request.end).is_some()
        && request.test.is_none_or(|test| test.admits(&row, 0));
    let entry = || Entry {
        path: start.path.clone(),
        row: start.row.clone(),
    };
    is_in.then(entry).into_iter().collect()
}

fn is_ranked(row: &Row<'_>, of: Ranked) -> bool {
    of == Ranked::Everything || row.file_type() == FileType::Regular
}

/// Returns the key of a row; greater keys rank first.
fn key(row: &Row<'_>, by: RankBy, end: RankEnd) -> Option<i128> {
    let key = match by {
        RankBy::Size => row.size().into(),
        RankBy::Blocks => row.blocks().into(),
        RankBy::Accessed => row.atime().as_nanos(),
        RankBy::Modified => row.mtime().as_nanos(),
        RankBy::Changed => row.ctime().as_nanos(),
        RankBy::Created => row.btime()?.as_nanos(),
    };
    Some(match end {
        RankEnd::Greatest => key,
        RankEnd::Least => -key,
    })
}

/// The column that is examined first.
fn column(by: RankBy) -> Column {
    match by {
        RankBy::Size => Column::Size,
        RankBy::Blocks => Column::Blocks,
        RankBy::Accessed => Column::Atime,
        RankBy::Modified => Column::Mtime,
        RankBy::Changed => Column::Ctime,
        RankBy::Created => Column::Btime,
    }
}

/// The column that refines the order of the first.
fn fine_column(by: RankBy) -> Option<Column> {
    match by {
        RankBy::Size | RankBy::Blocks => None,
        RankBy::Accessed => Some(Column::AtimeNs),
        RankBy::Modified => Some(Column::MtimeNs),
        RankBy::Changed => Some(Column::CtimeNs),
        RankBy::Created => Some(Column::BtimeNs),
    }
}

/// The column of the dirs table that bounds the values of entries.
fn bound_column(by: RankBy, end: RankEnd) -> Option<DirColumn> {
    Some(match (by, end) {
        (RankBy::Size, RankEnd::Greatest) => DirColumn::SizeMax,
        (RankBy::Size, RankEnd::Least) => DirColumn::SizeMin,
        (RankBy::Blocks, RankEnd::Greatest) => DirColumn::BlocksSum,
        (RankBy::Accessed, RankEnd::Greatest) => DirColumn::AtimeMax,
        (RankBy::Accessed, RankEnd::Least) => DirColumn::AtimeMin,
        (RankBy::Modified, RankEnd::Greatest) => DirColumn::MtimeMax,
        (RankBy::Modified, RankEnd::Least) => DirColumn::MtimeMin,
        (RankBy::Changed, RankEnd::Greatest) => DirColumn::CtimeMax,
        (RankBy::Changed, RankEnd::Least) => DirColumn::CtimeMin,
        (RankBy::Blocks, RankEnd::Least) | (RankBy::Created, _) => return None,
    })
}

/// Returns the greatest key that a value of the first column, or a bound of it,
/// can have.
fn at_most(bits: u64, by: RankBy, end: RankEnd) -> i128 {
    const SECOND: i128 = 1_000_000_000;
    match (by, end) {
        (RankBy::Size | RankBy::Blocks, RankEnd::Greatest) => bits.into(),
        (RankBy::Size | RankBy::Blocks, RankEnd::Least) => -i128::from(bits),
        (_, RankEnd::Greatest) => i128::from(bits as i64) * SECOND + (SECOND - 1),
        (_, RankEnd::Least) => -(i128::from(bits as i64) * SECOND),
    }
}

/// A row that may be among the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate {
    key: i128,
    place: RowAt,
    /// Device and inode number of an object with several names.
    object: Option<(u64, u64)>,
}

/// The best rows so far.
#[derive(Default)]
struct Best {
    /// The rows in rank order, as `(-key, place)`.
    order: BTreeSet<(Reverse<i128>, RowAt)>,
    /// The current candidate of each object with several names.
    named: HashMap<(u64, u64), Candidate>,
    objects: HashMap<RowAt, (u64, u64)>,
    limit: usize,
}

impl Best {
    /// Returns the key that a row must reach to be added; `None` if any is
    /// enough.
    fn least(&self) -> Option<i128> {
        match self.order.len() < self.limit {
            true => None,
            false => self.order.last().map(|(Reverse(key), _)| *key),
        }
    }

    fn offer(&mut self, new: Candidate) {
        if let Some(object) = new.object {
            let rank = |candidate: &Candidate| (Reverse(candidate.key), candidate.place);
            match self.named.get(&object) {
                Some(known) if rank(known) <= rank(&new) => return,
                Some(known) => self.remove((Reverse(known.key), known.place)),
                None => {}
            }
            self.named.insert(object, new);
            self.objects.insert(new.place, object);
        }
        self.order.insert((Reverse(new.key), new.place));
        if self.order.len() > self.limit
            && let Some(last) = self.order.last().copied()
        {
            self.remove(last);
        }
    }

    fn remove(&mut self, at: (Reverse<i128>, RowAt)) {
        self.order.remove(&at);
        if let Some(object) = self.objects.remove(&at.1) {
            self.named.remove(&object);
        }
    }
}

/// Consecutive directories of a segment.
struct Block {
    number: usize,
    segment: SegmentAt,
    dirs: Range<u64>,
}

/// Results of examining the bounds of all directories.
struct Guess {
    /// The bound that the wanted number of directories reach; `None` if there
    /// are fewer directories.
    from: Option<i128>,
    /// The greatest bound in each block.
    greatest: Vec<i128>,
}

/// The directories to search: those with a bound of at least `from` and less
/// than `below`.
#[derive(Clone, Copy)]
struct Window {
    from: i128,
    below: Option<i128>,
}

impl Window {
    fn holds(&self, bound: i128) -> bool {
        bound >= self.from && self.below.is_none_or(|below| bound < below)
    }
}

struct Contest<'a> {
    view: &'a View,
    start_depth: usize,
    request: &'a RankRequest<'a>,
    blocks: Vec<Block>,
    best: Mutex<Best>,
}

impl<'a> Contest<'a> {
    fn new(start: &'a Start, request: &'a RankRequest<'a>) -> Result<Contest<'a>> {
        let mut blocks = Vec::new();
        for stretch in stretches(start, &mut Scratch::default())? {
            let dirs = stretch.span.dirs;
            let mut at = dirs.start;
            while at < dirs.end {
                let end = (at + 1).next_multiple_of(SMALL_ROW_GROUP_ROWS as u64);
                let end = end.min(dirs.end);
                blocks.push(Block {
                    number: blocks.len(),
                    segment: stretch.span.segment,
                    dirs: at..end,
                });
                at = end;
            }
        }
        Ok(Contest {
            view: &start.view,
            start_depth: path::depth(&start.path),
            request,
            blocks,
            best: Mutex::new(Best {
                limit: request.limit,
                ..Best::default()
            }),
        })
    }

    fn run(self) -> Result<Vec<Candidate>> {
        let request = self.request;
        if request.limit == 0 {
            return Ok(Vec::new());
        }
        let mut below = None;
        if bound_column(request.by, request.end).is_some() {
            let mut wanted = request.limit.max(LEAST_GUESS);
            // Each guess takes in more directories; the last step takes in all.
            for _ in 0..3 {
                let Guess { from, greatest } = self.guess(wanted)?;
                let Some(from) = from else {
                    break;
                };
                if below.is_none_or(|below| from < below) {
                    self.look_into(Window { from, below }, &greatest)?;
                    below = Some(from);
                }
                let least = lock(&self.best).least();
                match least {
                    Some(least) if least >= from => return Ok(self.into_best()),
                    // Anything better is in a directory whose bound reaches
                    // `least`.
                    Some(least) => {
                        self.look_into(Window { from: least, below }, &greatest)?;
                        return Ok(self.into_best());
                    }
                    None => wanted = wanted.saturating_mul(64),
                }
            }
        }
        let from = i128::MIN;
        self.look_into(Window { from, below }, &[])?;
        Ok(self.into_best())
    }

    fn into_best(self) -> Vec<Candidate> {
        let best = self.best.into_inner();
        let best = best.unwrap_or_else(PoisonError::into_inner);
        let candidate = |(Reverse(key), place): (Reverse<i128>, RowAt)| Candidate {
            key,
            place,
            object: best.objects.get(&place).copied(),
        };
        best.order.iter().copied().map(candidate).collect()
    }

    /// Makes a guess from the bounds of all directories with rows.
    fn guess(&self, wanted: usize) -> Result<Guess> {
        let mut heap: BinaryHeap<Reverse<i128>> = BinaryHeap::new();
        let mut of_blocks = Vec::with_capacity(self.blocks.len());
        let run = |block: &Block, scratch: &mut Scratch| {
            let mut bounds = self.bounds_with_rows(block, scratch)?;
            if bounds.len() > wanted {
                bounds.select_nth_unstable_by_key(wanted, |bound| Reverse(*bound));
                bounds.truncate(wanted);
            }
            Ok(bounds)
        };
        in_parallel(&self.blocks, self.request.threads, run, |bounds| {
            of_blocks.push(bounds.iter().copied().max().unwrap_or(i128::MIN));
            for bound in bounds {
                if heap.len() < wanted {
                    heap.push(Reverse(bound));
                } else if heap.peek().is_some_and(|Reverse(least)| bound > *least) {
                    heap.pop();
                    heap.push(Reverse(bound));
                }
            }
        })?;
        let is_full = heap.len() == wanted;
        Ok(Guess {
            from: heap.peek().filter(|_| is_full).map(|Reverse(least)| *least),
            greatest: of_blocks,
        })
    }

    /// Returns the bounds of a block's directories that have rows.
    fn bounds_with_rows(&self, block: &Block, scratch: &mut Scratch) -> Result<Vec<i128>> {
        check_cancelled_by(self.request.cancel)?;
        let (by, end) = (self.request.by, self.request.end);
        let (Some(file), Some(column)) = (
            self.view.file(block.segment, Table::Dirs)?,
            bound_column(by, end),
        ) else {
            return Ok(Vec::new());
        };
        let mut read = |column: DirColumn| -> Result<Vec<u64>> {
            let mut out = Vec::new();
            let ranges = [block.dirs.clone()];
            file.numbers(column as usize, 0u64, &ranges, scratch, &mut out)?;
            Ok(out)
        };
        let (rows, bounds) = (read(DirColumn::Rows)?, read(column)?);
        let with_rows = rows.iter().zip(&bounds).filter(|(rows, _)| **rows > 0);
        Ok(with_rows.map(|(_, bits)| at_most(*bits, by, end)).collect())
    }

    /// Returns bound and rows of each directory of a block.
    fn bounds(&self, block: &Block, scratch: &mut Scratch) -> Result<(Vec<i128>, Vec<Range<u64>>)> {
        check_cancelled_by(self.request.cancel)?;
        let Some(file) = self.view.file(block.segment, Table::Dirs)? else {
            return Ok((Vec::new(), Vec::new()));
        };
        let mut read = |column: DirColumn| -> Result<Vec<u64>> {
            let mut out = Vec::new();
            let ranges = [block.dirs.clone()];
            file.numbers(column as usize, 0u64, &ranges, scratch, &mut out)?;
            Ok(out)
        };
        let (first, rows) = (read(DirColumn::FirstRow)?, read(DirColumn::Rows)?);
        let (by, end) = (self.request.by, self.request.end);
        let bounds = match bound_column(by, end) {
            Some(column) => {
                let bounds = read(column)?.into_iter();
                bounds.map(|bits| at_most(bits, by, end)).collect()
            }
            None => vec![i128::MAX; rows.len()],
        };
        let entries = self.view.segment(block.segment).map_or(0, |(_, s)| s.rows);
        let places = first.iter().zip(&rows).map(|(first, rows)| {
            let end = first.checked_add(*rows).filter(|end| *end <= entries);
            let end = end.ok_or_else(|| file.damaged("it refers to rows that are not there"));
            Ok(*first..end?)
        });
        let places = places.collect::<Result<Vec<_>>>()?;
        if places.windows(2).any(|two| two[0].end > two[1].start) {
            return Err(file.damaged("directories in it share rows"));
        }
        Ok((bounds, places))
    }

    /// Searches directories. Skips blocks whose greatest bound is known to be
    /// too small.
    fn look_into(&self, window: Window, greatest: &[i128]) -> Result<()> {
        let run = |block: &Block, scratch: &mut Scratch| match greatest.get(block.number) {
            Some(greatest) if *greatest < window.from => Ok(()),
            _ => self.look_into_block(block, window, scratch),
        };
        in_parallel(&self.blocks, self.request.threads, run, |()| {})
    }

    fn look_into_block(&self, block: &Block, window: Window, scratch: &mut Scratch) -> Result<()> {
        let (bounds, places) = self.bounds(block, scratch)?;
        let wanted = bounds.iter().zip(places);
        let wanted = wanted.filter(|(bound, rows)| !rows.is_empty() && window.holds(**bound));
        let Some(file) = self.view.file(block.segment, Table::Entries)? else {
            return Ok(());
        };
        let mut some: Vec<Range<u64>> = Vec::new();
        let mut waiting = 0;
        for (bound, mut rows) in wanted {
            // Results found in the meantime may be better.
            if lock(&self.best).least().is_some_and(|least| *bound < least) {
                continue;
            }
            while !rows.is_empty() {
                let end = rows.end.min(rows.start + (ROWS_AT_ONCE - waiting));
                match some.last_mut() {
                    Some(last) if last.end == rows.start => last.end = end,
                    _ => some.push(rows.start..end),
                }
                waiting += end - rows.start;
                rows.start = end;
                if waiting >= ROWS_AT_ONCE {
                    self.look_at(&file, block.segment, &some, scratch)?;
                    some.clear();
                    waiting = 0;
                }
            }
        }
        self.look_at(&file, block.segment, &some, scratch)
    }

    /// Examines rows: first the ranked column alone, then the other columns of
    /// rows that may be added.
    fn look_at(
        &self,
        file: &SegmentFile,
        segment: SegmentAt,
        some: &[Range<u64>],
        scratch: &mut Scratch,
    ) -> Result<()> {
        check_cancelled_by(self.request.cancel)?;
        let (by, end) = (self.request.by, self.request.end);
        let least = lock(&self.best).least();
        let first = read_rows(file, ColumnSet::of(&[column(by)]), some, scratch)?;
        let bits = bits(&first, by);
        let is_near = |bits: u64| {
            let is_known = by != RankBy::Created || bits as i64 != NO_BTIME;
            is_known && least.is_none_or(|least| at_most(bits, by, end) >= least)
        };
        let rows = some.iter().cloned().flatten().zip(bits);
        let rows: Vec<u64> = rows
            .filter(|(_, b)| is_near(*b))
            .map(|(row, _)| row)
            .collect();
        scratch.recycle(first);
        if rows.is_empty() {
            return Ok(());
        }
        self.offer(file, segment, &rows, scratch)
    }

    fn offer(
        &self,
        file: &SegmentFile,
        segment: SegmentAt,
        rows: &[u64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let batch = read_rows(file, self.columns(), &ranges(rows), scratch)?;
        let dirs = match self.request.test {
            Some(_) => self.view.file(segment, Table::Dirs)?,
            None => None,
        };
        let mut owners = dirs.as_deref().map(Owners::new);
        let mut passed = Vec::new();
        for (at, number) in rows.iter().enumerate() {
            let mut row = Row {
                batch: &batch,
                at,
                dir: b"",
            };
            let Some(key) = key(&row, self.request.by, self.request.end) else {
                continue;
            };
            if !is_ranked(&row, self.request.of) {
                continue;
            }
            if let (Some(test), Some(owners)) = (self.request.test, owners.as_mut()) {
                row.dir = owners.dir_of(*number, scratch)?;
                let depth = path::depth(row.dir).saturating_sub(self.start_depth) + 1;
                let (nearest, farthest) = test.depths();
                let is_in = depth >= nearest && farthest.is_none_or(|far| depth <= far);
                if !is_in || !test.admits(&row, depth) {
                    continue;
                }
            }
            let has_names = row.nlink() > 1 && row.file_type() != FileType::Directory;
            passed.push(Candidate {
                key,
                place: (segment, *number),
                object: has_names.then(|| (row.dev().as_u64(), row.ino())),
            });
        }
        scratch.recycle(batch);
        let mut best = lock(&self.best);
        passed
            .into_iter()
            .for_each(|candidate| best.offer(candidate));
        Ok(())
    }

    /// The columns to read of rows that may be added.
    fn columns(&self) -> ColumnSet {
        let by = self.request.by;
        let own = [
            Column::Mode,
            Column::Nlink,
            Column::Dev,
            Column::Ino,
            column(by),
        ];
        let mut columns = ColumnSet::of(&own);
        if let Some(fine) = fine_column(by) {
            columns = columns.union(ColumnSet::of(&[fine]));
        }
        let test = self.request.test.map(RowTest::columns);
        columns.union(test.unwrap_or(ColumnSet::EMPTY))
    }
}

/// Returns the first column, with signed numbers as their bits.
fn bits(batch: &RowBatch, by: RankBy) -> Vec<u64> {
    let signed = |column: &[i64]| column.iter().map(|value| *value as u64).collect();
    match by {
        RankBy::Size => batch.size.clone(),
        RankBy::Blocks => batch.blocks.clone(),
        RankBy::Accessed => signed(&batch.atime),
        RankBy::Modified => signed(&batch.mtime),
        RankBy::Changed => signed(&batch.ctime),
        RankBy::Created => signed(&batch.btime),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(limit: usize, all: &[(i128, u64, Option<u64>)]) -> Vec<(i128, u64)> {
        let mut best = Best {
            limit,
            ..Best::default()
        };
        for (key, row, object) in all {
            best.offer(Candidate {
                key: *key,
                place: (0, *row),
                object: object.map(|object| (1, object)),
            });
        }
        let order = best.order.iter();
        order.map(|(Reverse(key), (_, row))| (*key, *row)).collect()
    }

    #[test]
    fn the_best_do_not_depend_on_the_order_of_offers() {
        let mut all = vec![
            (5, 1, None),
            (7, 2, Some(9)),
            (7, 3, Some(9)),
            (7, 4, Some(9)),
            (7, 5, None),
            (1, 6, None),
            (5, 0, None),
            // The object changed during the scan.
            (2, 8, Some(8)),
            (6, 9, Some(8)),
        ];
        for _ in 0..all.len() {
            all.rotate_left(1);
            assert_eq!(offered(3, &all), [(7, 2), (7, 5), (6, 9)]);
            all.reverse();
            assert_eq!(offered(3, &all), [(7, 2), (7, 5), (6, 9)]);
            assert_eq!(offered(9, &all).len(), 6);
        }
    }

    #[test]
    fn bounds_are_not_below_what_they_bound() {
        use RankEnd::{Greatest, Least};
        for secs in [-5i64, -1, 0, 1, 77] {
            for nanos in [0u32, 1, 999_999_999] {
                let batch = RowBatch {
                    mtime: vec![secs],
                    mtime_ns: vec![nanos],
                    ..RowBatch::default()
                };
                let row = Row {
                    batch: &batch,
                    at: 0,
                    dir: b"",
                };
                for end in [Greatest, Least] {
                    let key = key(&row, RankBy::Modified, end).unwrap();
                    assert!(at_most(secs as u64, RankBy::Modified, end) >= key);
                }
            }
        }
    }
}
