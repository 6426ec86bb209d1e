//! Visits the regular files that a table's rows are made from by reading contents.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;

use trawl_model::FileType;
use trawl_model::column::ColumnSet;
use trawl_model::rows::Row;
use trawl_query::{Listing, Request};

use super::entries::without_skipped;
use super::{Job, Rows, Take, Target};
use crate::error::Result;

/// Calls `add` with each regular file that the targets reach and the filter leaves, on all cores, and
/// passes on the rows that it makes. `add` gets the file's row, with these columns, and its path.
pub(super) fn each_file(
    job: &Job<'_>,
    columns: ColumnSet,
    add: &(impl Fn(&Target, &Row<'_>, &[u8], &mut Option<Rows>) + Sync),
    take: Take<'_>,
) -> Result<()> {
    for target in job.targets {
        if below(job, target, columns, add, take)?.is_break() {
            break;
        }
    }
    Ok(())
}

fn below(
    job: &Job<'_>,
    target: &Target,
    columns: ColumnSet,
    add: &(impl Fn(&Target, &Row<'_>, &[u8], &mut Option<Rows>) + Sync),
    take: Take<'_>,
) -> Result<ControlFlow<()>> {
    let start = &target.start;
    let visit = |row: &Row<'_>, path: &[u8], out: &mut Option<Rows>| {
        if row.file_type() == FileType::Regular && !job.cancel.load(Relaxed) {
            add(target, row, path, out);
        }
    };
    let mut last = Ok(ControlFlow::Continue(()));
    if target.reach.has_own() && !target.skips(&start.path) {
        let mut out = None;
        visit(&start.own_row(), &start.path, &mut out);
        last = give(out, take);
    }
    let max_depth = target.reach.max_depth();
    if max_depth == Some(0) || !matches!(last, Ok(ControlFlow::Continue(()))) {
        return last;
    }
    let request = Request {
        columns,
        filter: job.filter.clone(),
        max_depth,
        skip: target.skip.clone(),
        threads: Some(job.threads),
        cancel: Some(job.cancel),
        ..Request::default()
    };
    let work = |listing: &Listing<'_>, out: &mut Option<Rows>| {
        for at in without_skipped(target, listing).into_iter().flatten() {
            let row = Row {
                batch: listing.batch,
                at,
                dir: listing.dir.path,
            };
            visit(&row, &row.path(), out);
        }
    };
    job.index().walk(start, &request, work, |rows| {
        last = give(rows, take);
        *last.as_ref().unwrap_or(&ControlFlow::Break(()))
    })?;
    last
}

fn give(rows: Option<Rows>, take: Take<'_>) -> Result<ControlFlow<()>> {
    match rows {
        Some(rows) => super::entries::give(rows, take),
        None => Ok(ControlFlow::Continue(())),
    }
}
