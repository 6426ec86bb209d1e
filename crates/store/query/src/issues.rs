//! What could not be read, within a scope: noted by whoever made the index,
//! and what the asker may not list.

use crate::denied::DeniedRequest;
use crate::error::Result;
use crate::index::{Index, SegmentAt, Start, View};
use crate::locate::Reach;
use crate::places::Having;
use crate::segment::{Scratch, SegmentFile, read_text};
use crate::selection::without;
use std::ops::{ControlFlow, Range};
use trawl_format::schema::{IssueColumn, Table};
use trawl_model::rows::ByteColumn;
use trawl_model::{Errno, Issue, Op, path};

/// "Permission denied", errno(3); the same number on every Linux.
const EACCES: Errno = Errno(13);

/// Rows of an issues table that are read at a time.
const CHUNK_ROWS: u64 = 8192;

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
}

/// True for what happens only to a question that goes into a directory.
pub(crate) fn lists(op: Op) -> bool {
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
