//! Finds single entries by path, and the directories of a subtree, by reading
//! few pages.

use crate::error::Result;
use crate::index::{SegmentAt, Start, View};
use crate::permission::{Access, Judge, shown};
use crate::segment::{
    DirChunk, Scratch, SegmentFile, check_names, read_dir_page, read_dirs, read_names,
    read_root_kind, read_rows,
};
use crate::selection::without;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;
use trawl_format::schema::{DirColumn, KIND_ROOT, PAGE_ROWS, SMALL_PAGE_ROWS, Table};
use trawl_format::{DirKey, GuardStep, Shard};
use trawl_model::column::ColumnSet;
use trawl_model::rows::{Row, RowBatch};
use trawl_model::{FileType, path};

/// The result of looking up a path.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Located {
    /// The entry exists.
    Found(Box<Start>),
    /// The entry does not exist in the source that covers the path.
    Missing {
        /// The source's root.
        root: Vec<u8>,
    },
    /// The entry does not exist, because a path above it is not a directory.
    NotDirectory {
        /// The path that is not a directory.
        path: Vec<u8>,
    },
    /// The entry cannot be seen, because the asking user may not search a
    /// directory above it.
    Denied {
        /// The nearest directory above that can be seen.
        dir: Vec<u8>,
    },
    /// The entry cannot be seen, because the asking user may search but not
    /// list a directory above it, and the index keeps its contents for users
    /// who may list it. Only the live file system can tell.
    Hidden {
        /// The nearest directory above that can be seen.
        dir: Vec<u8>,
        /// The snapshot that contains it.
        view: Arc<View>,
    },
    /// The path is in no source that the asking user may know of.
    NotIndexed {
        /// The root of the nearest source, if one can be seen.
        nearest: Option<Vec<u8>>,
    },
}

/// Directories of one segment: rows of its dirs table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) segment: SegmentAt,
    pub(crate) dirs: Range<u64>,
}

/// The extent of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The directory alone.
    Itself,
    /// The directory and everything below it.
    Subtree,
}

/// Finds the entry at `wanted`, which is within the view's root. `None` if not
/// even the root can be seen, so that nothing is known.
pub(crate) fn locate(
    view: &Arc<View>,
    wanted: &[u8],
    scratch: &mut Scratch,
) -> Result<Option<Located>> {
    let Some(row) = find(view, wanted, scratch)? else {
        let nearest = nearest_above(view, wanted, scratch)?;
        let nearest = nearest.as_ref().map(|(dir, row)| (*dir, row));
        return why_missing(view, nearest, &mut Judge::of_reader(view));
    };
    let is_dir = first_row(&row).file_type() == FileType::Directory;
    Ok(Some(shown(Located::Found(Box::new(Start {
        view: Arc::clone(view),
        path: wanted.to_vec(),
        is_dir,
        row,
    })))))
}

/// True if the source root's own row can be seen.
pub(crate) fn has_root(view: &View, scratch: &mut Scratch) -> Result<bool> {
    Ok(find_root(view, scratch)?.is_some())
}

fn first_row(batch: &RowBatch) -> Row<'_> {
    Row {
        batch,
        at: 0,
        dir: b"",
    }
}

/// Finds the row of the entry at `wanted`: in its directory's listing, or,
/// behind a barrier, as an own row.
pub(crate) fn find(view: &View, wanted: &[u8], scratch: &mut Scratch) -> Result<Option<RowBatch>> {
    let Some((dir, name)) = path::split(wanted).filter(|_| wanted != view.root()) else {
        return find_root(view, scratch);
    };
    if let Some(row) = find_entry(view, dir, name, scratch)? {
        return Ok(Some(row));
    }
    let is_it = |shard: &Shard| shard.barrier() == Some(wanted);
    find_own(view, dir, name, is_it, scratch)
}

/// Finds the source root's own row.
fn find_root(view: &View, scratch: &mut Scratch) -> Result<Option<RowBatch>> {
    let (above, name) = path::split(view.root()).unwrap_or_default();
    find_own(
        view,
        above,
        name,
        // A barrier above the root does not belong to a directory of this
        // source.
        |shard| {
            let barrier = shard.barrier();
            barrier.is_none_or(|barrier| path::is_within(view.root(), barrier))
        },
        scratch,
    )
}

/// Finds the nearest directory above `wanted` that can be seen, and its row.
fn nearest_above<'p>(
    view: &View,
    wanted: &'p [u8],
    scratch: &mut Scratch,
) -> Result<Option<(&'p [u8], RowBatch)>> {
    for dir in path::ancestors(wanted).take_while(|dir| path::is_within(dir, view.root())) {
        if let Some(row) = find(view, dir, scratch)? {
            return Ok(Some((dir, row)));
        }
    }
    Ok(None)
}

/// Explains why nothing can be seen at a path, from the nearest directory above it that can be
/// seen. `None` if there is no such directory, so that nothing is known.
pub(crate) fn why_missing<'v>(
    view: &'v Arc<View>,
    nearest: Option<(&[u8], &RowBatch)>,
    judge: &mut Judge<'v>,
) -> Result<Option<Located>> {
    let missing = || Located::Missing {
        root: view.root().to_vec(),
    };
    let Some((dir, row)) = nearest else {
        return Ok((!view.is_partial()).then(missing));
    };
    let (row, dir) = (first_row(row), dir.to_vec());
    if row.file_type() != FileType::Directory {
        return Ok(Some(Located::NotDirectory { path: dir }));
    }
    Ok(Some(match judge.judge(&row, || dir.clone()) {
        Access::Full if judge.is_closed_since(view, &dir)? => Located::Denied { dir },
        Access::Full => missing(),
        Access::None if view.is_partial() => Located::Denied { dir },
        // A scan run by this user could not see the entry either.
        Access::None | Access::Pass => Located::Hidden {
            dir,
            view: Arc::clone(view),
        },
    }))
}

/// Finds the own row of `name`, an entry of `dir`. Own rows are stored apart
/// from the listing of `dir`, in a shard that satisfies `is_it`.
fn find_own(
    view: &View,
    dir: &[u8],
    name: &[u8],
    is_it: impl Fn(&Shard) -> bool,
    scratch: &mut Scratch,
) -> Result<Option<RowBatch>> {
    // Segments published later take precedence.
    for at in view.having_own_rows_in(dir).into_iter().rev() {
        let Some((shard, glance)) = view.glance(at) else {
            continue;
        };
        let is_here = glance.own_row && glance.dirs.is_some_and(|(first, _)| first == dir);
        if !is_here || !is_it(shard) || is_own_row_dead(view, at) {
            continue;
        }
        let Some((_, segment)) = view.segment(at) else {
            continue;
        };
        let Some(dirs) = view.file(at, Table::Dirs)? else {
            continue;
        };
        if read_root_kind(&dirs, scratch)? != KIND_ROOT {
            continue;
        }
        let rows = entry_rows(&dirs, 0, segment.rows, scratch)?;
        let Some(entries) = view.file(at, Table::Entries)? else {
            continue;
        };
        if rows.end - rows.start != 1 {
            return Err(dirs.damaged("an own row is not a single row"));
        }
        let row = read_rows(&entries, ColumnSet::all(), &[rows], scratch)?;
        if row.name.get(0) == name {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// Finds the row of `name` in the directory `dir`.
fn find_entry(
    view: &View,
    dir: &[u8],
    name: &[u8],
    scratch: &mut Scratch,
) -> Result<Option<RowBatch>> {
    for Span {
        segment: at,
        dirs: rows,
    } in scope(view, dir, Reach::Itself, scratch)?
    {
        let Some((_, segment)) = view.segment(at) else {
            continue;
        };
        let (Some(dirs), Some(entries)) =
            (view.file(at, Table::Dirs)?, view.file(at, Table::Entries)?)
        else {
            continue;
        };
        for row in rows {
            let rows = entry_rows(&dirs, row, segment.rows, scratch)?;
            if let Some(found) = find_name(&entries, rows, name, scratch)? {
                let row = read_rows(&entries, ColumnSet::all(), &[found..found + 1], scratch)?;
                return Ok(Some(row));
            }
        }
    }
    Ok(None)
}

/// Returns the rows of the entries table that belong to a row of the dirs
/// table.
pub(crate) fn entry_rows(
    dirs: &SegmentFile,
    row: u64,
    entries: u64,
    scratch: &mut Scratch,
) -> Result<Range<u64>> {
    let (first, rows) = match scratch.is_for_lookups() {
        true => {
            let page = read_dir_page(dirs, row, scratch)?;
            let at = (row - page.rows.start) as usize;
            (page.number(0, at), page.number(1, at))
        }
        false => {
            let columns = [DirColumn::FirstRow, DirColumn::Rows];
            let chunk = read_dirs(dirs, row..row + 1, &columns, scratch)?;
            (chunk.number(0, 0), chunk.number(1, 0))
        }
    };
    match first.checked_add(rows) {
        Some(end) if end <= entries => Ok(first..end),
        _ => Err(dirs.damaged("it refers to rows that are not there")),
    }
}

/// Finds the row with this name among `rows`, which are sorted by name.
pub(crate) fn find_name(
    entries: &SegmentFile,
    rows: Range<u64>,
    name: &[u8],
    scratch: &mut Scratch,
) -> Result<Option<u64>> {
    let Range { mut start, mut end } = rows;
    while end - start > PAGE_ROWS as u64 {
        let middle = start + (end - start) / 2;
        let names = read_names(entries, &[middle..middle + 1], scratch)?;
        match names.get(0).cmp(name) {
            Ordering::Greater => end = middle,
            _ => start = middle,
        }
    }
    let names = read_names(entries, &[start..end], scratch)?;
    if !check_names(&names) {
        return Err(entries.damaged("it contains invalid names"));
    }
    let found = (0..names.len()).find(|at| names.get(*at) == name);
    Ok(found.map(|at| start + at as u64))
}

/// Returns the listings of `dir`, or of its subtree, segment by segment. A
/// query asks for the same subtree repeatedly, so recent results are cached.
pub(crate) fn scope(
    view: &View,
    dir: &[u8],
    reach: Reach,
    scratch: &mut Scratch,
) -> Result<Vec<Span>> {
    if reach == Reach::Itself {
        return find_scope(view, dir, reach, scratch);
    }
    if let Some(known) = view.known_subtree(dir) {
        return Ok(known);
    }
    let spans = find_scope(view, dir, reach, scratch)?;
    view.keep_subtree(dir, &spans);
    Ok(spans)
}

fn find_scope(view: &View, dir: &[u8], reach: Reach, scratch: &mut Scratch) -> Result<Vec<Span>> {
    scope_by(view, dir, reach, &mut |_, file| {
        search(file, dir, reach, scratch)
    })
}

/// Finds rows of a segment's dirs table.
pub(crate) type Searcher<'s> = dyn FnMut(SegmentAt, &SegmentFile) -> Result<Range<u64>> + 's;

/// Like [`scope`] without the cache, with `search` to find rows in a dirs
/// table.
pub(crate) fn scope_by(
    view: &View,
    dir: &[u8],
    reach: Reach,
    search: &mut Searcher<'_>,
) -> Result<Vec<Span>> {
    let mut spans = Vec::new();
    let key = DirKey::of(dir);
    for at in view.near(dir, reach) {
        let Some((shard, glance)) = view.glance(at) else {
            continue;
        };
        let Some((first, last)) = glance.dirs else {
            continue;
        };
        let ends_before = path::cmp(last, dir) == Ordering::Less;
        let starts_after = match reach {
            Reach::Itself => path::cmp(first, dir) == Ordering::Greater,
            Reach::Subtree => path::cmp_subtree(first, dir) == Ordering::Greater,
        };
        let is_out = ends_before || starts_after || !glance.may_hold(key);
        if is_out || behind_barrier(shard, dir, reach) {
            continue;
        }
        let Some((_, segment)) = view.segment(at) else {
            continue;
        };
        let is_whole =
            reach == Reach::Subtree && path::is_within(first, dir) && path::is_within(last, dir);
        let mut dirs = match is_whole {
            true => 0..segment.dirs,
            false => match view.file(at, Table::Dirs)? {
                Some(file) => search(at, &file)?,
                None => continue,
            },
        };
        // The own row of the source's root, or of a directory behind a barrier,
        // is not a listing.
        if segment.own_row {
            dirs.start = dirs.start.max(1);
        }
        let dead = view.dead(at, Table::Dirs);
        let live = without(dead, &dirs);
        spans.extend(live.map(|dirs| Span { segment: at, dirs }));
    }
    Ok(spans)
}

/// True if the own row at the start of a segment is dead.
pub(crate) fn is_own_row_dead(view: &View, at: SegmentAt) -> bool {
    let dead = view.dead(at, Table::Dirs).first();
    dead.is_some_and(|rows| rows.start == 0)
}

/// True if all directories of a shard lie behind a barrier that is neither
/// above `dir` nor within its scope.
pub(crate) fn behind_barrier(shard: &Shard, dir: &[u8], reach: Reach) -> bool {
    shard.manifest.guard.iter().any(|step| match step {
        GuardStep::Barrier { path, .. } => {
            let around = reach == Reach::Subtree && path::is_within(path, dir);
            !path::is_within(dir, path) && !around
        }
        GuardStep::Predicate { .. } => false,
    })
}

/// Finds the rows of a dirs table that are `dir`, or within it.
pub(crate) fn search(
    file: &SegmentFile,
    dir: &[u8],
    reach: Reach,
    scratch: &mut Scratch,
) -> Result<Range<u64>> {
    let rows = 0..file.rows();
    let start = lower_bound(file, rows, scratch, |path| {
        path::cmp(path, dir) == Ordering::Less
    })?;
    let end = lower_bound(file, start..file.rows(), scratch, |path| match reach {
        Reach::Itself => path == dir,
        Reach::Subtree => path::is_within(path, dir),
    })?;
    Ok(start..end)
}

/// Returns the first of `rows` whose path is not `before`, or their end.
fn lower_bound(
    file: &SegmentFile,
    rows: Range<u64>,
    scratch: &mut Scratch,
    before: impl Fn(&[u8]) -> bool,
) -> Result<u64> {
    let Range { mut start, mut end } = rows;
    while end - start > SMALL_PAGE_ROWS as u64 {
        // Little is decoded at the start of a page, as the writer cuts pages.
        let middle = (start + (end - start) / 2).next_multiple_of(SMALL_PAGE_ROWS as u64);
        let middle = if middle < end {
            middle
        } else {
            start + (end - start) / 2
        };
        let chunk = read_dirs(file, middle..middle + 1, &[], scratch)?;
        match before(chunk.path.get(0)) {
            true => start = middle + 1,
            false => end = middle,
        }
    }
    let chunk = read_around(file, start..end, scratch)?;
    while start < end {
        let middle = start + (end - start) / 2;
        match before(chunk.path.get((middle - chunk.rows.start) as usize)) {
            true => start = middle + 1,
            false => end = middle,
        }
    }
    Ok(start)
}

/// Reads directories that include `rows`: a lookup reads the page that they are
/// on.
fn read_around(
    file: &SegmentFile,
    rows: Range<u64>,
    scratch: &mut Scratch,
) -> Result<Arc<DirChunk>> {
    let page = SMALL_PAGE_ROWS as u64;
    let is_on_one = !rows.is_empty() && rows.start / page == (rows.end - 1) / page;
    match is_on_one && scratch.is_for_lookups() {
        true => read_dir_page(file, rows.start, scratch),
        false => Ok(Arc::new(read_dirs(file, rows, &[], scratch)?)),
    }
}
