//! `entries`: one row for each name, with the attributes of its object.
//!
//! The columns are the model's ([`COLUMNS`]), preceded by the path and followed by the snapshot;
//! the seconds and nanoseconds of a time form one timestamp.

use std::ops::{ControlFlow, Range};

use trawl_model::column::{COLUMNS, Column, ColumnSet, ColumnType};
use trawl_model::escape::escape;
use trawl_model::rows::{RowBatch, Values as Stored};
use trawl_model::{FileType, Timestamp, path};
use trawl_query::{Listing, Request, SnapshotInfo};

use super::{
    EDITION_COLUMNS, Job, Kind, Rows, TableColumn, Take, Target, Values, acl, column, fill_edition,
    nanoseconds, nullable,
};
use crate::error::Result;

/// The content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    /// The whole path.
    Path,
    /// The path's bytes, if they are not text.
    PathRaw,
    /// A stored column.
    Stored(Column),
    /// A column about the snapshot, by its index.
    Edition(usize),
}

/// Returns the type in which a stored column is shown; `None` if it is part of another column.
fn shown(column: Column) -> Option<Kind> {
    Some(match column {
        Column::Dir | Column::Name | Column::Type | Column::Acl | Column::AclDefault => Kind::Text,
        Column::LinkTarget => Kind::Text,
        Column::XattrNames => Kind::Texts,
        // Signed, so that differences and sums behave as expected.
        Column::Size | Column::Blocks => Kind::I64,
        other if other.nanoseconds().is_some() => Kind::Time,
        other if other.is_nanoseconds() => return None,
        other => match other.info().kind {
            ColumnType::Text => Kind::Text,
            ColumnType::Bytes => Kind::Bytes,
            ColumnType::U32 => Kind::U32,
            ColumnType::U64 => Kind::U64,
            ColumnType::I64 => Kind::I64,
        },
    })
}

/// Returns a column's description, where it differs from the stored column's.
fn doc(column: Column) -> &'static str {
    match column {
        Column::LinkTarget => "Target of a symbolic link; escaped where it is not UTF-8",
        Column::XattrNames => "Names of extended attributes",
        Column::Acl => "Access ACL beyond the mode, as text with numbers for users and groups",
        Column::AclDefault => "Default ACL of a directory, in the same form",
        Column::Size => "Apparent size in bytes",
        Column::Blocks => "Allocated space in units of 512 bytes",
        other => other.info().doc,
    }
}

fn cells() -> Vec<(Cell, TableColumn)> {
    let mut cells = vec![
        (
            Cell::Path,
            column("path", Kind::Text, "Absolute path: `dir || '/' || name`"),
        ),
        (
            Cell::PathRaw,
            nullable(
                "path_raw",
                Kind::Bytes,
                "The path's bytes, only where they are not UTF-8",
            ),
        ),
    ];
    for info in COLUMNS {
        let Some(kind) = shown(info.column) else {
            continue;
        };
        let shown = TableColumn {
            name: info.name,
            kind,
            nullable: info.nullable,
            doc: doc(info.column),
        };
        cells.push((Cell::Stored(info.column), shown));
    }
    let editions = EDITION_COLUMNS.into_iter().enumerate();
    cells.extend(editions.map(|(at, one)| (Cell::Edition(at), one)));
    cells
}

/// Returns the columns.
pub(super) fn columns() -> Vec<TableColumn> {
    cells().into_iter().map(|(_, column)| column).collect()
}

/// Returns the stored numeric column behind a column of the table.
pub(super) fn stored(name: &str) -> Option<Column> {
    let info = COLUMNS.iter().find(|info| info.name == name)?;
    match shown(info.column)? {
        Kind::I64 | Kind::U32 | Kind::U64 | Kind::Time => Some(info.column),
        Kind::Text if info.column == Column::Type => Some(Column::Mode),
        _ => None,
    }
}

/// Returns the stored columns that a cell needs.
fn needs(cell: Cell) -> ColumnSet {
    match cell {
        Cell::Path | Cell::PathRaw => ColumnSet::of(&[Column::Name]),
        Cell::Edition(_) | Cell::Stored(Column::Dir) => ColumnSet::EMPTY,
        Cell::Stored(column) => column.sources(),
    }
}

/// Produces the rows.
pub(super) fn produce(job: &Job<'_>, take: Take<'_>) -> Result<()> {
    let all = cells();
    let table = columns();
    let cell_of = |at: &usize| all.get(*at).map(|(cell, _)| *cell);
    let wanted: Vec<Cell> = job.columns.iter().filter_map(cell_of).collect();
    let needed = wanted
        .iter()
        .fold(ColumnSet::EMPTY, |set, cell| set.union(needs(*cell)));
    for target in job.targets {
        let info = target.start.view.info();
        let fresh = || Rows::new(&table, job.columns);
        let has_own = target.reach.has_own() && !target.skips(&target.start.path);
        if has_own && take(own_row(target, &wanted, fresh())?).is_break() {
            return Ok(());
        }
        let request = Request {
            columns: match target.skip.is_empty() {
                true => needed,
                false => needed.union(ColumnSet::of(&[Column::Name])),
            },
            filter: job.filter.clone(),
            max_depth: target.reach.max_depth(),
            skip: target.skip.clone(),
            threads: Some(job.threads),
            cancel: Some(job.cancel),
            ..Request::default()
        };
        let work = |listing: &Listing<'_>, out: &mut Option<Rows>| {
            let rows = out.get_or_insert_with(fresh);
            for mut left in without_skipped(target, listing) {
                while !left.is_empty() {
                    let end = left.end.min(left.start + rows.room());
                    let piece = left.start..end;
                    add(rows, &wanted, listing.dir.path, listing.batch, piece, info);
                    left.start = end;
                }
            }
        };
        let mut ended = Ok(ControlFlow::Continue(()));
        job.index().walk(&target.start, &request, work, |rows| {
            ended = rows.map_or(Ok(ControlFlow::Continue(())), |rows| give(rows, take));
            *ended.as_ref().unwrap_or(&ControlFlow::Break(()))
        })?;
        if ended?.is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// Returns the rows of a listing, without those of directories that another source answers for.
pub(super) fn without_skipped(target: &Target, listing: &Listing<'_>) -> Vec<Range<usize>> {
    let mut left = listing.range.clone();
    let mut pieces = Vec::new();
    let here = |root: &&Vec<u8>| path::split(root).is_some_and(|(dir, _)| dir == listing.dir.path);
    let skipped: Vec<&[u8]> = target
        .skip
        .roots()
        .iter()
        .filter(here)
        .map(|root| name_of(root))
        .collect();
    if !skipped.is_empty() {
        for at in listing.range.clone() {
            if skipped.contains(&listing.batch.name.get(at)) {
                pieces.push(left.start..at);
                left.start = at + 1;
            }
        }
    }
    pieces.push(left);
    pieces
}

fn name_of(wanted: &[u8]) -> &[u8] {
    path::split(wanted).map_or(&b""[..], |(_, name)| name)
}

/// Passes rows on.
pub(super) fn give(rows: Rows, take: Take<'_>) -> Result<ControlFlow<()>> {
    for batch in rows.finish_all() {
        if take(batch?).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn own_row(target: &Target, wanted: &[Cell], mut rows: Rows) -> Result<arrow::array::RecordBatch> {
    let start = &target.start;
    let (dir, _) = path::split(&start.path).unwrap_or_default();
    add(&mut rows, wanted, dir, &start.row, 0..1, start.view.info());
    rows.finish()
}

/// Adds rows of one directory.
fn add(
    rows: &mut Rows,
    wanted: &[Cell],
    dir: &[u8],
    batch: &RowBatch,
    range: Range<usize>,
    info: &SnapshotInfo,
) {
    rows.len += range.len();
    for ((_, values), cell) in rows.columns.iter_mut().zip(wanted) {
        match cell {
            Cell::Path => add_paths(values, dir, batch, range.clone()),
            Cell::PathRaw => add_raw_paths(values, dir, batch, range.clone()),
            Cell::Edition(which) => fill_edition(values, *which, info, range.len()),
            Cell::Stored(column) => add_stored(values, *column, dir, batch, range.clone()),
        }
    }
}

fn add_paths(values: &mut Values, dir: &[u8], batch: &RowBatch, range: Range<usize>) {
    let Values::Text(texts) = values else {
        return;
    };
    let dir = escape(dir);
    for at in range {
        texts.push_joined(&[dir.as_bytes(), b"/", escape(batch.name.get(at)).as_bytes()]);
    }
}

fn add_raw_paths(values: &mut Values, dir: &[u8], batch: &RowBatch, range: Range<usize>) {
    let Values::Bytes(bytes) = values else {
        return;
    };
    let is_odd = std::str::from_utf8(dir).is_err();
    for at in range {
        let name = batch.name.get(at);
        match is_odd || std::str::from_utf8(name).is_err() {
            true => bytes.push_joined(&[dir, b"/", name]),
            false => bytes.push_null(),
        }
    }
}

fn add_stored(
    values: &mut Values,
    column: Column,
    dir: &[u8],
    batch: &RowBatch,
    range: Range<usize>,
) {
    match values {
        Values::Text(texts) if column == Column::Dir => {
            texts.push_times(escape(dir).as_bytes(), range.len());
        }
        Values::Text(texts) => range.for_each(|at| add_text(texts, column, batch, at)),
        Values::Bytes(bytes) if column == Column::NameRaw => {
            for name in range.map(|at| batch.name.get(at)) {
                match std::str::from_utf8(name) {
                    Ok(_) => bytes.push_null(),
                    Err(_) => bytes.push(name),
                }
            }
        }
        Values::Bytes(bytes) => {
            if let Stored::Bytes(stored) = batch.values(column) {
                range.for_each(|at| bytes.push_or_null(stored.get(at)));
            }
        }
        Values::Texts(lists) => {
            for names in range.map(|at| batch.xattr_names.get(at)) {
                let names = names.split(|byte| *byte == 0);
                lists.push(names.filter(|name| !name.is_empty()));
            }
        }
        Values::Time(times) => add_times(times, column, batch, range),
        Values::I64(_) | Values::U64(..) | Values::U32(_) | Values::I32(_) | Values::F64(_) => {
            add_numbers(values, batch.values(column), range);
        }
    }
}

fn add_text(texts: &mut super::values::Strings, column: Column, batch: &RowBatch, at: usize) {
    match column {
        Column::Name => texts.push(escape(batch.name.get(at)).as_bytes()),
        Column::Type => {
            let mode = batch.mode.get(at).copied().unwrap_or_default();
            texts.push(&[FileType::from_mode(mode).letter()]);
        }
        Column::LinkTarget => texts.push_or_null(escape(batch.link_target.get(at)).as_bytes()),
        Column::Acl | Column::AclDefault => {
            let lists = match column {
                Column::Acl => &batch.acl,
                _ => &batch.acl_default,
            };
            let text = acl::text(lists.get(at)).unwrap_or_default();
            texts.push_or_null(text.as_bytes());
        }
        _ => texts.push_null(),
    }
}

fn add_numbers(values: &mut Values, stored: Stored<'_>, range: Range<usize>) {
    match (values, stored) {
        (Values::U32(numbers), Stored::U32(stored, null)) => {
            let stored = stored.get(range).unwrap_or_default().iter();
            numbers.extend(stored.map(|n| (Some(*n) != null).then_some(*n)));
        }
        (Values::U64(numbers, none), Stored::U64(stored, null)) => {
            numbers.extend_from_slice(stored.get(range).unwrap_or_default());
            *none = null;
        }
        (Values::I64(numbers), Stored::U64(stored, null)) => {
            let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
            let stored = stored.get(range).unwrap_or_default().iter();
            numbers.extend(stored.map(|n| (Some(*n) != null).then_some(signed(*n))));
        }
        (Values::I64(numbers), Stored::I64(stored, null)) => {
            let stored = stored.get(range).unwrap_or_default().iter();
            numbers.extend(stored.map(|n| (Some(*n) != null).then_some(*n)));
        }
        _ => {}
    }
}

fn add_times(times: &mut Vec<Option<i64>>, column: Column, batch: &RowBatch, range: Range<usize>) {
    let nanos = column.nanoseconds().map(|nanos| batch.values(nanos));
    let (Stored::I64(secs, null), Some(Stored::U32(nanos, _))) = (batch.values(column), nanos)
    else {
        return;
    };
    let secs = secs.get(range.clone()).unwrap_or_default();
    let nanos = nanos.get(range).unwrap_or_default();
    times.extend(secs.iter().zip(nanos).map(|(secs, nanos)| {
        let (secs, nanos) = (*secs, *nanos);
        (Some(secs) != null).then(|| nanoseconds(Timestamp { secs, nanos }))
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stored_column_is_shown_or_part_of_another() {
        let shown_names: Vec<&str> = columns().iter().map(|column| column.name).collect();
        for info in COLUMNS {
            let whole = info.name.trim_end_matches("_ns");
            assert!(shown_names.contains(&whole), "{}", info.name);
        }
    }

    #[test]
    fn numbers_can_rule_rows_out_and_texts_cannot() {
        assert_eq!(stored("size"), Some(Column::Size));
        assert_eq!(stored("mtime"), Some(Column::Mtime));
        assert_eq!(stored("type"), Some(Column::Mode));
        assert_eq!(
            (stored("name"), stored("path"), stored("source")),
            (None, None, None)
        );
    }
}
