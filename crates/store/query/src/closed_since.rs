//! Finds the directories of an older snapshot that were closed to the asker after it was made.
//!
//! A snapshot that was made stricter (`docs/history.md`) still has the rows of such directories, with
//! their permissions of then; only their listings lie behind the permissions of now. So these are the
//! directories without a listing, except those that the scan did not list: mount points, which lie on
//! another device than their directory, and what it recorded an issue of. A directory that was removed
//! while the scan went on looks like a closed one.

use crate::denied::DeniedRequest;
use crate::directories::{DirRequest, DirStream, Facts};
use crate::error::Result;
use crate::index::{Start, View};
use crate::issues::lists;
use crate::locate::{Reach, Span, find, scope};
use crate::permission::{Access, Judge};
use crate::segment::{Scratch, read_dirs};
use crate::usage::unlisted_in;
use crate::walk::Order;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use trawl_format::schema::{DirColumn, Table};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::path;
use trawl_model::rows::Row;

/// The columns that tell whether a directory was closed later.
const COLUMNS: ColumnSet = ColumnSet::of(&[
    Column::Name,
    Column::Mode,
    Column::Uid,
    Column::Gid,
    Column::Acl,
    Column::Dev,
]);

/// Returns whether permissions that were set after the view's snapshot may hide a part of it.
fn is_stricter(view: &View) -> bool {
    view.is_partial() && view.info().revision.is_some()
}

/// Returns whether `dir`, which can be seen, was closed later.
pub(crate) fn is_closed_since(view: &Arc<View>, dir: &[u8]) -> Result<bool> {
    if !is_stricter(view) {
        return Ok(false);
    }
    let mut scratch = Scratch::default();
    if device_of_listed(view, dir, &mut scratch)?.is_some() {
        return Ok(false);
    }
    let Some(row) = find(view, dir, &mut scratch)? else {
        return Ok(false);
    };
    let row = Row {
        batch: &row,
        at: 0,
        dir: b"",
    };
    // The view has no listing of the directory above its root.
    let above = path::split(dir).filter(|_| dir != view.root());
    let (above, device) = match above {
        Some((above, _)) => (above, device_of_listed(view, above, &mut scratch)?),
        None => (dir, None),
    };
    let is_here = device.is_none_or(|device| device == row.dev().as_u64());
    let unread = unread(&Start::at(view, above))?;
    Ok(is_here && !unread.contains(dir) && !unread.contains(above))
}

/// Gives the directories below `start` that were closed later, of those that the question goes into.
pub(crate) fn closed_since(
    start: &Start,
    request: &DeniedRequest<'_>,
    judge: &mut Judge<'_>,
    visit: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<()> {
    if !is_stricter(&start.view) {
        return Ok(());
    }
    let deepest = request.max_depth.map(|depth| depth.saturating_sub(1));
    let directories = DirRequest {
        max_depth: deepest,
        order: Order::Forward,
        cancel: request.cancel,
    };
    let mut stream = DirStream::new(start, &directories, Facts::Usage)?;
    let mut open: Vec<Open> = Vec::new();
    let mut unread_below = None;
    loop {
        let next = stream.next()?;
        let ends = |open: &Open| {
            let next = next.as_ref();
            next.is_none_or(|next| !path::is_within(&next.path, &open.path))
        };
        while let Some(ended) = open.pop_if(|open| ends(open)) {
            let is_entered = deepest.is_none_or(|deepest| ended.depth < deepest);
            if ended.dirs == ended.listed || !is_entered || request.skip.contains(&ended.path) {
                continue;
            }
            let unread = match &unread_below {
                Some(unread) => unread,
                None => unread_below.insert(unread(start)?),
            };
            if unread.contains(&ended.path) {
                continue;
            }
            let device = device_of_listed(&start.view, &ended.path, &mut Scratch::default())?;
            let mut closed = Vec::new();
            let inner = (&start.view, &ended.path[..]);
            unlisted_in(inner, COLUMNS, request.cancel, |row| {
                let path = row.path();
                if device == Some(row.dev().as_u64())
                    && judge.judge(row, || path.clone()) == Access::Full
                    && !unread.contains(&path)
                    && !request.skip.contains(&path)
                {
                    closed.push(path);
                }
            })?;
            if closed.iter().try_for_each(|path| visit(path)).is_break() {
                return Ok(());
            }
        }
        let Some(next) = next else {
            return Ok(());
        };
        let parent = open.last_mut();
        if let Some(parent) = parent.filter(|parent| parent.depth + 1 == next.depth) {
            parent.listed += 1;
        }
        open.push(Open {
            path: next.path,
            depth: next.depth,
            dirs: next.sums.dirs,
            listed: 0,
        });
    }
}

/// A directory whose subtree has not ended.
struct Open {
    path: Vec<u8>,
    depth: usize,
    /// Number of directories among its rows.
    dirs: u64,
    /// Number of its direct subdirectories that are listed.
    listed: u64,
}

/// Returns the device of a directory; `None` if the view does not list it.
fn device_of_listed(view: &View, dir: &[u8], scratch: &mut Scratch) -> Result<Option<u64>> {
    for Span { segment, dirs } in scope(view, dir, Reach::Itself, scratch)? {
        if let Some(file) = view.file(segment, Table::Dirs)? {
            let one = dirs.start..dirs.end.min(dirs.start + 1);
            let chunk = read_dirs(&file, one, &[DirColumn::OwnDev], scratch)?;
            return Ok(Some(chunk.number(0, 0)));
        }
    }
    Ok(None)
}

/// Returns the directories from `start` downwards that the scan could not list.
fn unread(start: &Start) -> Result<HashSet<Vec<u8>>> {
    let issues = start.recorded_issues(None)?.into_iter();
    let unread = issues.filter(|issue| lists(issue.op));
    Ok(unread.map(|issue| issue.path).collect())
}
