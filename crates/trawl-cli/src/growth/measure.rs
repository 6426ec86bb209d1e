//! What one snapshot says of a tree's size, by key.

use std::collections::BTreeMap;

use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::{Row, RowBatch};
use trawl_model::{FileType, Timestamp, path};
use trawl_query::{Count, Index, QueryError, Request, SeenLinks, Start, StatsRequest};

use super::By;
use crate::scope::row_of;
use std::ops::ControlFlow;

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
    let mut measured = Measured::new();
    let (mut seen, row) = (SeenLinks::new(), row_of(start));
    let mut rest = Count {
        entries: 1,
        size_bytes: row.size(),
        blocks: row.blocks(),
    };
    let mut inner: Vec<(Vec<u8>, RowBatch)> = Vec::new();
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
    index.walk(
        start,
        &request,
        |listing, out: &mut Vec<(Vec<u8>, RowBatch)>| {
            let row = |at| Row {
                batch: listing.batch,
                at,
                dir: listing.dir.path,
            };
            let rows = listing.range.clone().map(row);
            out.extend(rows.map(|row| (row.path(), row.alone())));
        },
        |rows| {
            for (path, batch) in rows {
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
            ControlFlow::Continue(())
        },
    )?;
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

fn groups(index: &Index, start: &Start, by: By) -> Result<Measured, QueryError> {
    let request = StatsRequest {
        // No age is asked for.
        now: Timestamp::default(),
        threads: None,
        cancel: crate::live::cancel(),
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
