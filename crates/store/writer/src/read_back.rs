//! Reads the segments that a writer writes again: those of an older snapshot of which a new one
//! shares only a part, and those published beside a snapshot. The reader is the one that answers
//! queries, so everything read is checked.

use std::collections::HashMap;
use std::ops::Range;

use trawl_format::live::Dead;
use trawl_format::{IndexError, SegmentId, Snapshot, Table};
use trawl_query::View;

use crate::error::{Result, WriterError};
use crate::revision::Stored;
use crate::tighten::view_of;

/// Number of issues read at a time.
const ISSUES_AT_A_TIME: usize = 4096;
/// Runs of dead rows shorter than this, about a page, are read and dropped instead of skipped.
const PASSED_ROWS: u64 = 1024;

/// Passes all valid content of the `wanted` segments of `snapshot` to `visit`, segment by segment.
/// Each wanted segment is given by its shard's number and its id; `visit` gets its index in
/// `wanted`. Listings come in the order of the dirs table, large ones as fragments numbered from 0.
/// Values come in the order of their table.
///
/// # Errors
/// Errors of `visit`; [`IndexError::ReadBack`] for errors of the reader itself.
pub(crate) fn read(
    snapshot: Snapshot,
    wanted: &[(usize, SegmentId)],
    visit: &mut dyn FnMut(usize, Stored) -> trawl_format::Result<()>,
) -> trawl_format::Result<()> {
    let view = view_of(snapshot);
    let wanted = wanted.iter().copied();
    each(&view, wanted, &mut |number, segment| {
        read_one(&view, segment, &mut |stored| visit(number, stored))
    })
    .map_err(told)
}

/// Passes to `visit` the paths of directories named by rows of dirs tables, each with its index in
/// `wanted`. An element of `wanted` is a shard's number, one of its segments and ranges of rows of
/// that. The rows may be superseded.
///
/// # Errors
/// Like [`read`].
pub(crate) fn directories(
    snapshot: &Snapshot,
    wanted: &[(usize, SegmentId, &[Range<u64>])],
    visit: &mut dyn FnMut(usize, &[u8]) -> trawl_format::Result<()>,
) -> trawl_format::Result<()> {
    let view = view_of(snapshot.clone());
    let segments = wanted.iter().map(|(shard, id, _)| (*shard, *id));
    each(&view, segments, &mut |number, segment| {
        let rows = wanted.get(number).map_or(&[][..], |(_, _, rows)| rows);
        view.stored_paths(segment, rows, |path| {
            Ok::<_, WriterError>(visit(number, path)?)
        })
    })
    .map_err(told)
}

/// Returns the own row at the start of a shard's segment.
///
/// # Errors
/// Like [`read`].
pub(crate) fn own_row(
    snapshot: &Snapshot,
    shard: usize,
    segment: SegmentId,
) -> trawl_format::Result<Option<Stored>> {
    let view = view_of(snapshot.clone());
    let mut row = None;
    let wanted = [(shard, segment)].into_iter();
    each(&view, wanted, &mut |_, segment| {
        let is_there = view.stored_segment(segment);
        if is_there.is_none_or(|(_, _, info)| !info.own_row) {
            return Ok(());
        }
        view.stored_listings::<WriterError>(segment, 0..1, |stored, batch| {
            row = Some(Stored::Rows(stored.kind, batch));
            Ok(())
        })
    })
    .map_err(told)?;
    Ok(row)
}

/// True if some directories with listings in the shard at `place` may be traversed by more users
/// than may list them: by all those whom the last element of the shard's guard admits.
///
/// # Errors
/// Like [`read`].
pub(crate) fn hides_names(snapshot: &Snapshot, place: &[String]) -> trawl_format::Result<bool> {
    let view = view_of(snapshot.clone());
    view.hides_names(place)
        .map_err(|error| told(WriterError::from(error)))
}

fn told(error: WriterError) -> IndexError {
    match error {
        WriterError::Index(error) => error,
        error => IndexError::read_back(error),
    }
}

/// Calls `work` for each of the wanted segments, given by their shards' numbers and their ids.
fn each(
    view: &View,
    wanted: impl Iterator<Item = (usize, SegmentId)>,
    work: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let mut places: HashMap<(usize, SegmentId), usize> = HashMap::new();
    for at in 0..view.stored_segments() {
        if let Some((shard, _, info)) = view.stored_segment(at) {
            places.insert((shard, info.id), at);
        }
    }
    for (number, key) in wanted.enumerate() {
        if let Some(segment) = places.get(&key) {
            work(number, *segment)?;
        }
    }
    Ok(())
}

/// Passes the valid content of a segment to `visit`.
fn read_one(
    view: &View,
    segment: usize,
    visit: &mut dyn FnMut(Stored) -> trawl_format::Result<()>,
) -> Result<()> {
    let Some((_, shard, info)) = view.stored_segment(segment) else {
        return Ok(());
    };
    let none = Dead::default();
    let dead = shard.dead(info.id).unwrap_or(&none);
    let mut gone = Gone::of(dead, Table::Dirs);
    for rows in gone.around(info.dirs) {
        view.stored_listings::<WriterError>(segment, rows, |stored, batch| {
            match gone.has(stored.row) {
                true => Ok(()),
                false => Ok(visit(Stored::Rows(stored.kind, batch))?),
            }
        })?;
    }
    let mut gone = Gone::of(dead, Table::Xattrs);
    view.stored_values::<WriterError>(segment, |row, value| {
        if gone.has(row) {
            return Ok(());
        }
        let [dir, name, attr, value] = value.map(<[u8]>::to_vec);
        Ok(visit(Stored::Value {
            dir,
            name,
            attr,
            value,
        })?)
    })?;
    let mut gone = Gone::of(dead, Table::Issues);
    let end = info.files.get(&Table::Issues).map_or(0, |file| file.rows);
    for start in (0..end).step_by(ISSUES_AT_A_TIME) {
        let rows = start..end.min(start + ISSUES_AT_A_TIME as u64);
        for (row, issue) in rows.clone().zip(view.stored_issues(segment, rows)?) {
            if !gone.has(row) {
                visit(Stored::Issue(issue))?;
            }
        }
    }
    Ok(())
}

/// Dead rows, looked up in ascending order.
struct Gone<'d> {
    rows: &'d [Range<u64>],
}

impl<'d> Gone<'d> {
    fn of(dead: &'d Dead, table: Table) -> Gone<'d> {
        Gone {
            rows: dead.of(table),
        }
    }

    /// True if a row is dead. Rows must not decrease from call to call.
    fn has(&mut self, row: u64) -> bool {
        while let Some((first, rest)) = self.rows.split_first() {
            if row < first.end {
                return first.start <= row;
            }
            self.rows = rest;
        }
        false
    }

    /// Returns ranges that contain all valid rows of a table with `rows` rows, without long runs of
    /// dead rows.
    fn around(&self, rows: u64) -> Vec<Range<u64>> {
        let mut around = Vec::new();
        let mut start = 0;
        let passed = self.rows.iter();
        for gone in passed.filter(|gone| gone.end - gone.start >= PASSED_ROWS) {
            around.push(start..gone.start);
            start = gone.end;
        }
        around.push(start..rows);
        around.retain(|rows| rows.start < rows.end);
        around
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_is_passed_or_left_out() {
        let dead = Dead {
            dirs: vec![0..1, 5..7, 2000..5000],
            ..Dead::default()
        };
        let mut gone = Gone::of(&dead, Table::Dirs);
        assert_eq!(gone.around(6000), [0..2000, 5000..6000]);
        assert_eq!(gone.around(5000).first(), Some(&(0..2000)));
        assert_eq!(gone.around(5000).len(), 1);
        let held: Vec<u64> = (0..9).filter(|row| !gone.has(*row)).collect();
        assert_eq!(held, [1, 2, 3, 4, 7, 8]);
        assert!(!gone.has(1999) && gone.has(2000) && gone.has(4999) && !gone.has(5000));
        assert!(Gone::of(&dead, Table::Issues).around(0).is_empty());
    }
}
