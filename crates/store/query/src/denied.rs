//! Finds the directories that the asking user may see but not list.
//!
//! The dirs table names the candidates (column `restricted`), so that few rows are looked at. Rows
//! of directories are read only where that column does not help: in segments of older programs,
//! below directories with too many candidates, and for a superuser of little power, who may read
//! rows that the kernel would not show. In older snapshots, `closed_since` finds more.

use crate::asker::{Asker, asker};
use crate::closed_since::{closed_since, is_closed_since};
use crate::error::Result;
use crate::index::{Index, Start, View};
use crate::locate::{Reach, Span, scope};
use crate::permission::{Access, Judge};
use crate::segment::{Scratch, SegmentFile, read_dirs};
use crate::walk::{Listing, Request, check_cancelled_by};
use std::ops::{ControlFlow, Range};
use std::sync::atomic::AtomicBool;
use trawl_format::restricted::{Restricted, Value, decode};
use trawl_format::schema::{DirColumn, Table};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::filter::{Clause, Filter};
use trawl_model::rows::{ByteColumn, Row};
use trawl_model::{FileType, Regions, Subtrees, path};

/// Rows of a dirs table that are read at a time.
const CHUNK_ROWS: u64 = 64 * 1024;

/// Which directories that may not be listed are asked for.
#[derive(Clone, Debug, Default)]
pub struct DeniedRequest<'a> {
    /// How far the question goes: directories this far from the start are
    /// not gone into, so that it does not matter whether they may be listed.
    pub max_depth: Option<usize>,
    /// Directories that are not entered either.
    pub skip: Subtrees,
    /// Ends it with [`QueryError::Cancelled`](crate::QueryError::Cancelled)
    /// soon after it is set.
    pub cancel: Option<&'a AtomicBool>,
}

impl Index {
    /// Gives the directories from `start` downwards that are to be seen but
    /// that the asker may not both list and search: what is in them is not to
    /// be seen. They come in no order that means anything. None, and nothing
    /// is read, if the asker sees everything.
    pub fn denied(
        &self,
        start: &Start,
        request: &DeniedRequest<'_>,
        mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        if !start.view.is_partial() || !start.is_dir || request.max_depth == Some(0) {
            return Ok(());
        }
        let own = Row {
            batch: &start.row,
            at: 0,
            dir: b"",
        };
        let mut judge = Judge::of(&start.view);
        if judge.judge(&own, || start.path.clone()) != Access::Full
            || is_closed_since(&start.view, &start.path)?
        {
            let _ = visit(&start.path);
            return Ok(());
        }
        // At this depth, the question does not enter the directories directly below the start.
        if request.max_depth == Some(1) {
            return Ok(());
        }
        if asker() == Asker::Limited {
            return self.denied_around(start, request, visit);
        }
        let mut is_over = false;
        closed_since(start, request, &mut judge, &mut |path| {
            let flow = visit(path);
            is_over = flow.is_break();
            flow
        })?;
        if is_over {
            return Ok(());
        }
        let unnamed = match Candidates::new(start, request)? {
            Some(candidates) => {
                let mut unnamed = Regions::default();
                let flow = candidates.visit(&mut judge, &mut unnamed, &mut visit)?;
                if flow.is_break() || unnamed.is_empty() {
                    return Ok(());
                }
                Some(unnamed)
            }
            None => None,
        };
        self.denied_by_rows(start, request, unnamed.as_ref(), |paths| {
            paths.iter().try_for_each(|path| visit(path))
        })
    }

    /// Judges all rows that can be read, and leaves out what lies in a closed
    /// directory.
    fn denied_around(
        &self,
        start: &Start,
        request: &DeniedRequest<'_>,
        mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut closed = Subtrees::new();
        self.denied_by_rows(start, request, None, |paths| {
            closed.extend(paths);
            ControlFlow::Continue(())
        })?;
        let _ = closed.roots().iter().try_for_each(|path| visit(path));
        Ok(())
    }

    /// Judges the rows of directories below `start`, or those in `only`.
    fn denied_by_rows<'a>(
        &self,
        start: &'a Start,
        request: &DeniedRequest<'_>,
        only: Option<&Regions>,
        mut take: impl FnMut(Vec<Vec<u8>>) -> ControlFlow<()>,
    ) -> Result<()> {
        let walk = Request {
            only,
            ..rows_to_judge(request)
        };
        let work = |listing: &Listing<'_>, found: &mut Unlistable<'a>| {
            let judge = found.judge.get_or_insert_with(|| Judge::of(&start.view));
            let (batch, dir) = (listing.batch, listing.dir.path);
            let rows = listing.range.clone().map(|at| Row { batch, at, dir });
            let dirs = rows.filter(|row| row.file_type() == FileType::Directory);
            let closed = dirs.filter(|row| judge.judge(row, || row.path()) != Access::Full);
            let paths = closed.map(|row| row.path());
            found
                .paths
                .extend(paths.filter(|path| !request.skip.has_root(path)));
        };
        self.walk(start, &walk, work, |found: Unlistable<'a>| {
            take(found.paths)
        })
    }
}

/// Directories that may not be listed, and who found them.
#[derive(Default)]
struct Unlistable<'a> {
    judge: Option<Judge<'a>>,
    paths: Vec<Vec<u8>>,
}

/// The directories below a start that some users may not list.
struct Candidates<'a> {
    request: &'a DeniedRequest<'a>,
    view: &'a View,
    /// The greatest depth of a directory that is asked for.
    deepest: usize,
    spans: Vec<Span>,
}

impl<'a> Candidates<'a> {
    /// Returns `None` if a segment does not name them. Keeps no file open: an
    /// index may have more segments than the process may have descriptors.
    fn new(start: &'a Start, request: &'a DeniedRequest<'a>) -> Result<Option<Candidates<'a>>> {
        let view: &View = &start.view;
        let spans = scope(view, &start.path, Reach::Subtree, &mut Scratch::default())?;
        for span in &spans {
            let file = view.file(span.segment, Table::Dirs)?;
            if file.is_some_and(|file| file.lacks(DirColumn::Restricted as usize)) {
                return Ok(None);
            }
        }
        let levels = request.max_depth.map_or(usize::MAX, |depth| depth - 1);
        Ok(Some(Candidates {
            request,
            view,
            deepest: path::depth(&start.path).saturating_add(levels),
            spans,
        }))
    }

    /// Gives those that the asker may not list, and adds to `unnamed` the
    /// directories of which the rows have to be read.
    fn visit(
        &self,
        judge: &mut Judge<'_>,
        unnamed: &mut Regions,
        visit: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let mut scratch = Scratch::default();
        for Span { segment, dirs } in &self.spans {
            let Some(file) = self.view.file(*segment, Table::Dirs)? else {
                continue;
            };
            for start in dirs.clone().step_by(CHUNK_ROWS as usize) {
                check_cancelled_by(self.request.cancel)?;
                let rows = start..dirs.end.min(start + CHUNK_ROWS);
                for (row, value) in values(&file, rows, &mut scratch)? {
                    match decode(&value) {
                        Some(Value::Dirs(dirs)) => {
                            if self.judge(judge, &dirs, visit).is_break() {
                                return Ok(ControlFlow::Break(()));
                            }
                        }
                        Some(Value::TooMany) => {
                            let chunk = read_dirs(&file, row..row + 1, &[], &mut scratch)?;
                            unnamed.add(chunk.path.get(0));
                        }
                        None => return Err(file.damaged("it has invalid restricted directories")),
                    }
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn judge(
        &self,
        judge: &mut Judge<'_>,
        dirs: &[Restricted<'_>],
        visit: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let asked_for = dirs.iter().filter(|dir| self.asks_for(dir.path));
        let mut closed = asked_for.filter(|dir| judge.judge_restricted(dir) != Access::Full);
        closed.try_for_each(|dir| visit(dir.path))
    }

    fn asks_for(&self, dir: &[u8]) -> bool {
        path::depth(dir) <= self.deepest && !self.request.skip.contains(dir)
    }
}

/// Returns the values of the column `restricted`, each with its row.
fn values(
    file: &SegmentFile,
    rows: Range<u64>,
    scratch: &mut Scratch,
) -> Result<Vec<(u64, Vec<u8>)>> {
    let mut column = ByteColumn::default();
    let ranges = [rows.clone()];
    file.strings(
        DirColumn::Restricted as usize,
        &ranges,
        scratch,
        &mut column,
    )?;
    let values = rows.enumerate().map(|(at, row)| (row, column.get(at)));
    let some = values.filter(|(_, value)| !value.is_empty());
    Ok(some.map(|(row, value)| (row, value.to_vec())).collect())
}

/// The rows of directories that a question goes into.
fn rows_to_judge<'a>(request: &DeniedRequest<'a>) -> Request<'a> {
    Request {
        columns: ColumnSet::of(&[
            Column::Name,
            Column::Mode,
            Column::Uid,
            Column::Gid,
            Column::Acl,
        ]),
        filter: Filter {
            clauses: vec![Clause::directories()],
            ..Filter::default()
        },
        max_depth: request.max_depth.map(|depth| depth.saturating_sub(1)),
        skip: request.skip.clone(),
        cancel: request.cancel,
        ..Request::default()
    }
}
