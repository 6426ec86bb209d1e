//! What could not be read, within a scope: noted by whoever made the index,
//! and what the asker may not list.

use crate::asker::{Asker, asker};
use crate::error::Result;
use crate::index::{Index, SegmentAt, Start, View};
use crate::locate::{Reach, Span, scope};
use crate::merge::Merge;
use crate::permission::{Access, Judge};
use crate::places::Having;
use crate::segment::{Scratch, SegmentFile, read_dirs, read_text};
use crate::selection::without;
use crate::totals::known_sums;
use crate::walk::{Listing, Order, Request};
use std::cmp::Ordering;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::AtomicBool;
use trawl_format::schema::{DirColumn, IssueColumn, Table};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::filter::{Clause, Filter};
use trawl_model::rows::{ByteColumn, Row};
use trawl_model::{Errno, FileType, Issue, Op, Regions, Subtrees, path};

/// "Permission denied", errno(3); the same number on every Linux.
const EACCES: Errno = Errno(13);

/// Rows of an issues table that are read at a time.
const CHUNK_ROWS: u64 = 8192;

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

impl Start {
    /// What could not be read of it and below it by whoever made the
    /// index, down to `max_depth`, in path order. A directory at that depth
    /// is not gone into: that it could not be listed is not among them.
    pub fn recorded_issues(&self, max_depth: Option<usize>) -> Result<Vec<Issue>> {
        let start = self;
        let view: &View = &start.view;
        let mut scratch = Scratch::default();
        let mut found = Vec::new();
        let deepest = path::depth(&start.path).saturating_add(max_depth.unwrap_or(usize::MAX));
        for (at, _, glance) in view.glances() {
            if !glance.has(Table::Issues) {
                continue;
            }
            read_issues(view, at, &mut scratch, |issue| {
                let depth = path::depth(&issue.path);
                let is_near = depth < deepest || depth == deepest && !lists(issue.op);
                if is_near && path::is_within(&issue.path, &start.path) {
                    found.push(issue);
                }
            })?;
        }
        sort(&mut found);
        Ok(found)
    }
}

impl Index {
    /// What could not be read of `start` and below it, down to `max_depth`,
    /// in path order: by whoever made the index, and by the asker, who may
    /// not list some directories.
    pub fn issues(&self, start: &Start, max_depth: Option<usize>) -> Result<Vec<Issue>> {
        let mut found = self.recorded_issues(start, max_depth)?;
        let request = DeniedRequest {
            max_depth,
            ..DeniedRequest::default()
        };
        self.denied(start, &request, |path| {
            found.push(denied_issue(path));
            ControlFlow::Continue(())
        })?;
        sort(&mut found);
        found.dedup();
        Ok(found)
    }

    /// As [`Start::recorded_issues`].
    ///
    /// # Errors
    /// Whatever cannot be read of the index.
    pub fn recorded_issues(&self, start: &Start, max_depth: Option<usize>) -> Result<Vec<Issue>> {
        start.recorded_issues(max_depth)
    }

    /// Gives the directories from `start` downwards that are to be seen but
    /// that the asker may not both list and search: what is in them is not to
    /// be seen. They come in no order that means anything. None, and nothing
    /// is read, if the asker sees everything.
    pub fn denied<'a>(
        &self,
        start: &'a Start,
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
        if judge.judge(&own, || start.path.clone()) != Access::Full {
            let _ = visit(&start.path);
            return Ok(());
        }
        // What is right below is not gone into then.
        if request.max_depth == Some(1) {
            return Ok(());
        }
        let mut walk = rows_to_judge(request);
        // A superuser of little power sees rows that the kernel would not show.
        let unlisted;
        if asker() != Asker::Limited {
            if request.max_depth.is_none() && all_listed(start)? {
                return Ok(());
            }
            unlisted = with_unlisted(start)?;
            if unlisted.is_empty() {
                return Ok(());
            }
            walk.only = Some(&unlisted);
        }
        let work = |listing: &Listing<'_>, found: &mut UnlistableDirectories<'a>| {
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
        if asker() != Asker::Limited {
            return self.walk(start, &walk, work, |found: UnlistableDirectories<'a>| {
                found.paths.iter().try_for_each(|path| visit(path))
            });
        }
        // What lies in one that is closed is not met.
        let mut closed = Subtrees::new();
        self.walk(start, &walk, work, |found: UnlistableDirectories<'a>| {
            closed.extend(found.paths);
            ControlFlow::Continue(())
        })?;
        let _ = closed.roots().iter().try_for_each(|path| visit(path));
        Ok(())
    }
}

/// True if as many directories were listed below `start` as there are, which
/// few rows of each segment tell. May be false though it is so.
fn all_listed(start: &Start) -> Result<bool> {
    let view: &View = &start.view;
    let mut scratch = Scratch::default();
    let (mut dirs, mut listed) = (1u64, 0u64);
    let spans = scope(view, &start.path, Reach::Subtree, &mut scratch)?;
    if may_share_directories(view, &spans) {
        return Ok(false);
    }
    for span in spans {
        listed = listed.wrapping_add(span.dirs.end - span.dirs.start);
        let segment = view.segment(span.segment).map(|(_, segment)| segment);
        if let Some(sums) = segment.and_then(|segment| known_sums(segment, &span)) {
            dirs = dirs.wrapping_add(sums.dirs);
            continue;
        }
        let Some(file) = view.file(span.segment, Table::Dirs)? else {
            return Ok(false);
        };
        let Range { start, end } = span.dirs;
        let columns = [DirColumn::DirsBefore, DirColumn::Dirs];
        let mut at = |row: u64| read_dirs(&file, row..row + 1, &columns, &mut scratch);
        let (first, last) = (at(start)?, at(end - 1)?);
        let before = first.number(0, 0);
        let after = last.number(0, 0).wrapping_add(last.number(1, 0));
        dirs = dirs.wrapping_add(after.wrapping_sub(before));
    }
    Ok(dirs == listed)
}

/// False if no two segments can have parts of one directory: it lies in one
/// shard, and the segments of each follow each other.
fn may_share_directories(view: &View, spans: &[Span]) -> bool {
    let ends = |span: &Span| {
        let (shard, _) = view.shard_of(span.segment)?;
        let (_, segment) = view.segment(span.segment)?;
        let first = segment.first_dir.as_deref()?;
        Some((shard, first, segment.last_dir.as_deref()?))
    };
    let Some(mut ends) = spans.iter().map(ends).collect::<Option<Vec<_>>>() else {
        return true;
    };
    ends.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| path::cmp(a.1, b.1)));
    let follow = |two: &[(usize, &[u8], &[u8])]| {
        two[0].0 != two[1].0 || path::cmp(two[0].2, two[1].1) == Ordering::Less
    };
    !ends.windows(2).all(follow)
}

/// The directories below `start`, itself included, that hold more of them
/// than were listed: whatever may not be listed lies in these.
fn with_unlisted(start: &Start) -> Result<Regions> {
    let view: &View = &start.view;
    let spans = scope(view, &start.path, Reach::Subtree, &mut Scratch::default())?;
    let mut merge = Merge::new(view, spans, &[DirColumn::Dirs], Order::Forward)?;
    let (mut found, mut around) = (Regions::default(), Vec::<Around>::new());
    let leave = |around: &mut Vec<Around>, found: &mut Regions| {
        if let Some(left) = around.pop().filter(|dir| dir.listed < dir.dirs) {
            found.add(&left.path);
        }
    };
    while let Some(run) = merge.next_run()? {
        for at in run.range.clone() {
            let (path, dirs) = (run.chunk.path(at), run.chunk.number(0, at));
            while around
                .last()
                .is_some_and(|dir| !path::is_within(path, &dir.path))
            {
                leave(&mut around, &mut found);
            }
            match around.last_mut() {
                // Several segments may have parts of one directory.
                Some(same) if same.path == path => {
                    same.dirs = same.dirs.wrapping_add(dirs);
                    continue;
                }
                Some(parent) if path::split(path).is_some_and(|(dir, _)| dir == parent.path) => {
                    parent.listed += 1;
                }
                _ => {}
            }
            around.push(Around {
                path: path.to_vec(),
                dirs,
                listed: 0,
            });
        }
    }
    while !around.is_empty() {
        leave(&mut around, &mut found);
    }
    Ok(found)
}

/// A directory around the one that is looked at.
struct Around {
    path: Vec<u8>,
    /// Directories that it holds, and those of them that were listed.
    dirs: u64,
    listed: u64,
}

/// Directories that may not be listed, and who found them.
#[derive(Default)]
struct UnlistableDirectories<'a> {
    judge: Option<Judge<'a>>,
    paths: Vec<Vec<u8>>,
}

/// The rows of directories that a question goes into.
fn rows_to_judge<'a>(request: &DeniedRequest<'a>) -> Request<'a> {
    let directories = Clause {
        column: Column::Mode,
        low: 0o040_000,
        high: 0o047_777,
    };
    Request {
        columns: ColumnSet::of(&[
            Column::Name,
            Column::Mode,
            Column::Uid,
            Column::Gid,
            Column::Acl,
        ]),
        filter: Filter {
            clauses: vec![directories],
            ..Filter::default()
        },
        max_depth: request.max_depth.map(|depth| depth.saturating_sub(1)),
        skip: request.skip.clone(),
        cancel: request.cancel,
        ..Request::default()
    }
}

/// True for what happens only to a question that goes into a directory.
fn lists(op: Op) -> bool {
    matches!(op, Op::OpenDir | Op::ReadDir)
}

/// The issue that a scan by the asker would have recorded about a directory.
fn denied_issue(path: &[u8]) -> Issue {
    Issue {
        path: path.to_vec(),
        op: Op::OpenDir,
        errno: EACCES,
        detail: String::new(),
    }
}

fn sort(issues: &mut [Issue]) {
    issues.sort_by(|a, b| path::cmp(&a.path, &b.path).then_with(|| a.cmp(b)));
}

fn read_issues(
    view: &View,
    at: SegmentAt,
    scratch: &mut Scratch,
    mut visit: impl FnMut(Issue),
) -> Result<()> {
    let Some(file) = view.file(at, Table::Issues)? else {
        return Ok(());
    };
    live_issues(view, at, &file, scratch, |_, issue| visit(issue))
}

/// Gives the issues in a table that hold, each with its row.
fn live_issues(
    view: &View,
    at: SegmentAt,
    file: &SegmentFile,
    scratch: &mut Scratch,
    mut visit: impl FnMut(u64, Issue),
) -> Result<()> {
    for rows in without(view.dead(at, Table::Issues), &(0..file.rows())) {
        let mut start = rows.start;
        while start < rows.end {
            let end = rows.end.min(start + CHUNK_ROWS);
            let mut row = start;
            read_issue_rows(file, start..end, scratch, &mut |issue| {
                visit(row, issue);
                row += 1;
            })?;
            start = end;
        }
    }
    Ok(())
}

/// Adds the directories that a segment has issues of that still hold.
pub(crate) fn directories_in(
    view: &View,
    at: SegmentAt,
    scratch: &mut Scratch,
    dirs: &mut Vec<Vec<u8>>,
) -> Result<()> {
    let Some(file) = view.file(at, Table::Issues)? else {
        return Ok(());
    };
    live_issues(view, at, &file, scratch, |_, issue| {
        let above = path::split(&issue.path).map(|(above, _)| above.to_vec());
        dirs.extend(above.into_iter().chain([issue.path]));
    })
}

/// The rows of issues tables that tell of a directory's listing, or of all
/// below it.
pub(crate) fn rows_of(
    view: &View,
    dir: &[u8],
    reach: Reach,
    scratch: &mut Scratch,
) -> Result<Vec<(SegmentAt, Range<u64>)>> {
    let mut found = Vec::new();
    for at in view.having(Having::Issues) {
        let Some(file) = view.file(at, Table::Issues)? else {
            continue;
        };
        live_issues(view, at, &file, scratch, |row, issue| {
            // What an entry cannot be opened for is found out when it is.
            let is_its = match reach {
                Reach::Subtree => path::is_within(&issue.path, dir),
                Reach::Itself if issue.path == dir => lists(issue.op),
                Reach::Itself => {
                    let above = path::split(&issue.path).map(|(above, _)| above);
                    above == Some(dir) && !lists(issue.op)
                }
            };
            if is_its {
                found.push((at, row..row + 1));
            }
        })?;
    }
    Ok(found)
}

/// Gives some rows of an issues table.
pub(crate) fn read_issue_rows(
    file: &SegmentFile,
    rows: Range<u64>,
    scratch: &mut Scratch,
    visit: &mut impl FnMut(Issue),
) -> Result<()> {
    let ranges = [rows];
    let paths = read_text(
        file,
        IssueColumn::Path as usize,
        IssueColumn::PathRaw as usize,
        &ranges,
        scratch,
    )?;
    let (mut ops, mut errnos, mut details) = (Vec::new(), Vec::new(), ByteColumn::default());
    file.numbers(IssueColumn::Op as usize, 0u32, &ranges, scratch, &mut ops)?;
    file.numbers(
        IssueColumn::Errno as usize,
        0i64,
        &ranges,
        scratch,
        &mut errnos,
    )?;
    file.strings(IssueColumn::Detail as usize, &ranges, scratch, &mut details)?;
    for (at, (op, errno)) in ops.iter().zip(&errnos).enumerate() {
        let op = u8::try_from(*op).ok().and_then(Op::from_code);
        let op = op.ok_or_else(|| file.damaged("it has an issue of no known kind"))?;
        visit(Issue {
            path: paths.get(at).to_vec(),
            op,
            errno: Errno(i32::try_from(*errno).unwrap_or_default()),
            detail: String::from_utf8_lossy(details.get(at)).into_owned(),
        });
    }
    Ok(())
}
