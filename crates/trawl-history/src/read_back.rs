//! Reading segments of an older snapshot for the writer of a new one that
//! shares them: see [`trawl_index::ReadBack`].

use std::collections::HashMap;

use trawl_index::revision::Stored;
use trawl_index::{IndexError, ReadBack, SegmentId, Snapshot, Table};
use trawl_query::View;

use crate::error::{HistoryError, Result};
use crate::view_of;

/// Issues that are read at a time.
const ISSUES_AT_A_TIME: usize = 4096;

/// Reads segments with the reader that answers questions, so that all that is
/// read is checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct SegmentReader;

impl ReadBack for SegmentReader {
    fn read(
        &mut self,
        snapshot: Snapshot,
        wanted: &[(usize, SegmentId)],
        visit: &mut dyn FnMut(usize, Stored) -> trawl_index::Result<()>,
    ) -> trawl_index::Result<()> {
        let view = view_of(snapshot);
        read_all(&view, wanted, visit).map_err(|error| match error {
            HistoryError::Index(error) => error,
            HistoryError::Query(error) => IndexError::read_back(error),
        })
    }
}

fn read_all(
    view: &View,
    wanted: &[(usize, SegmentId)],
    visit: &mut dyn FnMut(usize, Stored) -> trawl_index::Result<()>,
) -> Result<()> {
    let mut places: HashMap<(usize, SegmentId), usize> = HashMap::new();
    for at in 0..view.stored_segments() {
        if let Some((shard, _, info)) = view.stored_segment(at) {
            places.insert((shard, info.id), at);
        }
    }
    for (number, key) in wanted.iter().enumerate() {
        if let Some(segment) = places.get(key) {
            read_one(view, *segment, &mut |stored| visit(number, stored))?;
        }
    }
    Ok(())
}

fn read_one(
    view: &View,
    segment: usize,
    visit: &mut dyn FnMut(Stored) -> trawl_index::Result<()>,
) -> Result<()> {
    let Some((_, _, info)) = view.stored_segment(segment) else {
        return Ok(());
    };
    view.stored_listings::<HistoryError>(segment, 0..info.dirs, |stored, batch| {
        Ok(visit(Stored::Rows(stored.kind, batch))?)
    })?;
    view.stored_values::<HistoryError>(segment, |_, value| {
        let [dir, name, attr, value] = value.map(<[u8]>::to_vec);
        Ok(visit(Stored::Value {
            dir,
            name,
            attr,
            value,
        })?)
    })?;
    let end = info.files.get(&Table::Issues).map_or(0, |file| file.rows);
    for start in (0..end).step_by(ISSUES_AT_A_TIME) {
        let rows = start..end.min(start + ISSUES_AT_A_TIME as u64);
        for issue in view.stored_issues(segment, rows)? {
            visit(Stored::Issue(issue))?;
        }
    }
    Ok(())
}
