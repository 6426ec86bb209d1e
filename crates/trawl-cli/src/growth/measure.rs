//! What one snapshot says of a tree's size, by key.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::{Row, RowBatch};
use trawl_model::{FileType, path};
use trawl_query::{
    Count, Index, Listing, QueryError, Request, SeenLinks, Start, StatsRequest, Trait,
};

use super::By;
use crate::scope::row_of;

/// Sizes by key. By total the key is empty; by directory it is the path of
/// each, and that of the start for what lies beside them; by owner an id.
pub(super) type Measured = BTreeMap<Vec<u8>, Count>;

/// Measures what is below `start`.
pub(super) fn measure(index: &Index, start: &Start, by: By) -> Result<Measured, QueryError> {
    Ok(match by {
        By::Total => Measured::from([(Vec::new(), whole(index, start)?)]),
        By::Dir => directories(index, start)?,
        By::Owner | By::Ext => groups(index, start, by)?,
    })
}

/// As du counts, from running sums: everything below and itself, each object
/// once.
fn whole(index: &Index, start: &Start) -> Result<Count, QueryError> {
    let row = row_of(start);
    let totals = index.totals(start)?;
    let less = |all: u64, repeated: u64| all.wrapping_sub(repeated);
    Ok(Count {
        entries: less(totals.sums.entries(), totals.repeats.entries) + 1,
        size_bytes: less(totals.sums.size_bytes, totals.repeats.size_bytes)
            .wrapping_add(row.size()),
        blocks: less(totals.sums.blocks, totals.repeats.blocks).wrapping_add(row.blocks()),
    })
}

/// Each directory in `start`, and the rest of it.
fn directories(index: &Index, start: &Start) -> Result<Measured, QueryError> {
    let row = row_of(start);
    let mut rest = Count {
        entries: 1,
        size_bytes: row.size(),
        blocks: row.blocks(),
    };
    let (mut seen, mut measured) = (SeenLinks::new(), Measured::new());
    let mut inner = Vec::new();
    for (path, batch) in children(index, start)? {
        let row = Row {
            batch: &batch,
            at: 0,
            dir: b"",
        };
        if row.file_type() == FileType::Directory {
            inner.push((path, batch));
        } else if row.nlink() < 2 || seen.is_first(row.dev().as_u64(), row.ino()) {
            rest.entries += 1;
            rest.size_bytes = rest.size_bytes.wrapping_add(row.size());
            rest.blocks = rest.blocks.wrapping_add(row.blocks());
        }
    }
    measured.insert(start.path.clone(), rest);
    for (path, row) in inner {
        let inner = Start {
            view: start.view.clone(),
            path: path.clone(),
            row,
            is_dir: true,
        };
        measured.insert(path, whole(index, &inner)?);
    }
    Ok(measured)
}

/// What is right below `start`: paths and rows.
fn children(index: &Index, start: &Start) -> Result<Vec<(Vec<u8>, RowBatch)>, QueryError> {
    let request = Request {
        columns: ColumnSet::of(&[
            Column::Name,
            Column::Mode,
            Column::Size,
            Column::Blocks,
            Column::Nlink,
            Column::Dev,
            Column::Ino,
        ]),
        max_depth: Some(1),
        cancel: crate::live::cancel(),
        ..Request::default()
    };
    let mut all = Vec::new();
    let work = |listing: &Listing<'_>, out: &mut Vec<(Vec<u8>, RowBatch)>| {
        let row = |at| Row {
            batch: listing.batch,
            at,
            dir: listing.dir.path,
        };
        let rows = listing.range.clone().map(row);
        out.extend(rows.map(|row| (row.path(), row.alone())));
    };
    index.walk(start, &request, work, |rows| {
        all.extend(rows);
        ControlFlow::Continue(())
    })?;
    Ok(all)
}

fn groups(index: &Index, start: &Start, by: By) -> Result<Measured, QueryError> {
    let kind = match by {
        By::Owner => Trait::Owner,
        _ => Trait::Extension,
    };
    let request = StatsRequest {
        traits: &[kind],
        cancel: crate::live::cancel(),
        ..StatsRequest::default()
    };
    let stats = index.stats(start, &request)?;
    Ok(match by {
        By::Owner => {
            let owners = stats.owners.into_iter();
            owners
                .map(|(uid, count)| (uid.0.to_string().into_bytes(), count))
                .collect()
        }
        _ => {
            let mut measured: Measured = stats.extensions.into_iter().collect();
            if stats.other_extensions.entries > 0 {
                // No name holds a slash.
                measured.insert(b"/".to_vec(), stats.other_extensions);
            }
            measured
        }
    })
}

/// What of a key people see of a directory.
pub(super) fn base(key: &[u8]) -> &[u8] {
    path::split(key).map_or(key, |(_, name)| name)
}
