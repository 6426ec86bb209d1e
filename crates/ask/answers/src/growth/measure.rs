//! Sizes of a tree in one snapshot, by key.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::{Row, RowBatch};
use trawl_model::{FileType, path};
use trawl_query::{
    Count, Index, Listing, QueryError, Request, SeenLinks, Start, StatsRequest, Trait,
};

use trawl_session::Session;

use super::By;

/// Sizes by key. By total the key is empty. By directory it is the path of each subdirectory, or
/// that of the start for the entries beside them. By owner it is a user id, by extension the
/// extension.
pub type Measured = BTreeMap<Vec<u8>, Count>;

/// Measures the tree below `start`.
pub(crate) fn measure(
    session: &Session<'_>,
    start: &Start,
    by: By,
) -> Result<Measured, QueryError> {
    Ok(match by {
        By::Total => Measured::from([(Vec::new(), whole(session.index(), start)?)]),
        By::Dir => directories(session, start)?,
        By::Owner | By::Ext => groups(session, start, by)?,
    })
}

/// Counts as du does, from running sums: `start` and everything below it, each object once.
fn whole(index: &Index, start: &Start) -> Result<Count, QueryError> {
    let row = start.own_row();
    let totals = index.totals(start)?;
    let less = |all: u64, repeated: u64| all.wrapping_sub(repeated);
    Ok(Count {
        entries: less(totals.sums.entries(), totals.repeats.entries) + 1,
        size_bytes: less(totals.sums.size_bytes, totals.repeats.size_bytes)
            .wrapping_add(row.size()),
        blocks: less(totals.sums.blocks, totals.repeats.blocks).wrapping_add(row.blocks()),
    })
}

/// Measures each directory in `start`, and the rest of `start`.
fn directories(session: &Session<'_>, start: &Start) -> Result<Measured, QueryError> {
    let row = start.own_row();
    let mut rest = Count {
        entries: 1,
        size_bytes: row.size(),
        blocks: row.blocks(),
    };
    let (mut seen, mut measured) = (SeenLinks::new(), Measured::new());
    let mut inner = Vec::new();
    for (path, batch) in children(session, start)? {
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
        measured.insert(path, whole(session.index(), &inner)?);
    }
    Ok(measured)
}

/// Returns the paths and rows of the entries directly in `start`.
fn children(session: &Session<'_>, start: &Start) -> Result<Vec<(Vec<u8>, RowBatch)>, QueryError> {
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
        cancel: session.cancel(),
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
    session.index().walk(start, &request, work, |rows| {
        all.extend(rows);
        ControlFlow::Continue(())
    })?;
    Ok(all)
}

fn groups(session: &Session<'_>, start: &Start, by: By) -> Result<Measured, QueryError> {
    let kind = match by {
        By::Owner => Trait::Owner,
        _ => Trait::Extension,
    };
    let request = StatsRequest {
        traits: &[kind],
        cancel: session.cancel(),
        ..StatsRequest::default()
    };
    let stats = session.index().stats(start, &request)?;
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
                // A name cannot contain a slash.
                measured.insert(b"/".to_vec(), stats.other_extensions);
            }
            measured
        }
    })
}

/// Returns the name in a directory's key.
pub fn base(key: &[u8]) -> &[u8] {
    path::split(key).map_or(key, |(_, name)| name)
}
