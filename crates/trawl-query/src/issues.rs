//! What could not be read, within a scope.

use crate::error::Result;
use crate::index::{Index, SegmentAt, Start, View};
use crate::segment::{Scratch, SegmentFile, read_text};
use std::ops::Range;
use trawl_index::schema::{IssueColumn, Table};
use trawl_model::rows::ByteColumn;
use trawl_model::{Errno, Issue, Op, path};

/// Rows of an issues table that are read at a time.
const CHUNK_ROWS: u64 = 8192;

impl Index {
    /// What could not be read of `start` and below it, down to `max_depth`,
    /// in path order.
    pub fn issues(&self, start: &Start, max_depth: Option<usize>) -> Result<Vec<Issue>> {
        let view: &View = &start.view;
        let mut scratch = Scratch::default();
        let mut found = Vec::new();
        let deepest = path::depth(&start.path).saturating_add(max_depth.unwrap_or(usize::MAX));
        for (at, _, segment) in view.segments() {
            if !segment.files.contains_key(&Table::Issues) {
                continue;
            }
            read_issues(view, at, &mut scratch, |issue| {
                if path::is_within(&issue.path, &start.path) && path::depth(&issue.path) <= deepest
                {
                    found.push(issue);
                }
            })?;
        }
        found.sort_by(|a, b| path::cmp(&a.path, &b.path).then_with(|| a.cmp(b)));
        Ok(found)
    }
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
    let mut start = 0;
    while start < file.rows() {
        let end = file.rows().min(start + CHUNK_ROWS);
        read_chunk(&file, start..end, scratch, &mut visit)?;
        start = end;
    }
    Ok(())
}

fn read_chunk(
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
