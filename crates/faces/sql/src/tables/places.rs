//! `sources` and `snapshots`: the indexed trees, the times of their snapshots, and their sums.

use std::sync::Arc;

use trawl_model::escape::escape;
use trawl_model::path;
use trawl_model::rows::Row;
use trawl_query::{SnapshotInfo, View};

use super::{Job, Kind, Rows, TableColumn, Take, Values, column, nanoseconds, nullable};
use crate::catalog::Edition;
use crate::error::Result;

/// Returns the columns of `sources`.
pub(super) fn source_columns() -> Vec<TableColumn> {
    vec![
        column("source", Kind::Text, "Root of the indexed tree"),
        column(
            "id",
            Kind::Text,
            "Id of the source, which names its directory in the index",
        ),
        column("added", Kind::Time, "When it was added to the index"),
        nullable("snapshot", Kind::Text, "Id of the current snapshot"),
        nullable(
            "as_of",
            Kind::Time,
            "When the scan of the current snapshot began",
        ),
        column("snapshots", Kind::I64, "Number of retained snapshots"),
    ]
}

/// Returns the columns of `snapshots`.
pub(super) fn snapshot_columns() -> Vec<TableColumn> {
    vec![
        column("source", Kind::Text, "Root of the indexed tree"),
        column("snapshot", Kind::Text, "Id of the snapshot"),
        column("as_of", Kind::Time, "When the scan began"),
        column("finished", Kind::Time, "When the scan ended"),
        column(
            "is_current",
            Kind::Text,
            "`yes` for the current snapshot, else `no`",
        ),
        column("version", Kind::Text, "Version of trawl that wrote it"),
        column("entries", Kind::I64, "Entries that this user may see"),
        column("files", Kind::I64, "Regular files among them"),
        column("dirs", Kind::I64, "Directories among them"),
        column("symlinks", Kind::I64, "Symbolic links among them"),
        column("size", Kind::I64, "Sum of their sizes, bytes"),
        column(
            "blocks",
            Kind::I64,
            "Sum of their allocated space, units of 512 bytes",
        ),
        column("issues", Kind::I64, "Paths that could not be read"),
    ]
}

/// Produces the rows of `sources`.
pub(super) fn sources(job: &Job<'_>, take: Take<'_>) -> Result<()> {
    let mut rows = Rows::new(&source_columns(), job.columns);
    for source in job.index().sources() {
        rows.len += 1;
        let kept = source.snapshots()?;
        let current = kept.last();
        for (at, values) in &mut rows.columns {
            match (values, *at) {
                (Values::Text(texts), 0) => texts.push(root(source.root()).as_bytes()),
                (Values::Text(texts), 1) => texts.push(source.id().to_string().as_bytes()),
                (Values::Time(times), 2) => times.push(Some(nanoseconds(source.info().created))),
                (Values::Text(texts), _) => match current {
                    Some(info) => texts.push(info.id.to_string().as_bytes()),
                    None => texts.push_null(),
                },
                (Values::Time(times), _) => times.push(current.map(|i| nanoseconds(i.started))),
                (Values::I64(numbers), _) => numbers.push(i64::try_from(kept.len()).ok()),
                _ => {}
            }
        }
    }
    let _ = take(rows.finish()?);
    Ok(())
}

/// Produces the rows of `snapshots`.
pub(super) fn snapshots(job: &Job<'_>, take: Take<'_>) -> Result<()> {
    let mut rows = Rows::new(&snapshot_columns(), job.columns);
    let needs_sums = job.columns.iter().any(|at| *at >= 6);
    for edition in job.editions {
        let view = match needs_sums {
            true => job.catalog.view(edition)?,
            false => None,
        };
        let totals = match &view {
            Some(view) => sums(job, view)?,
            None if needs_sums => continue,
            None => [0; 7],
        };
        rows.len += 1;
        add(&mut rows, edition, &totals);
    }
    let _ = take(rows.finish()?);
    Ok(())
}

fn add(rows: &mut Rows, edition: &Edition, totals: &[u64; 7]) {
    let info: &SnapshotInfo = &edition.info;
    for (at, values) in &mut rows.columns {
        match (values, *at) {
            (Values::Text(texts), 0) => texts.push(root(&info.root).as_bytes()),
            (Values::Text(texts), 1) => texts.push(info.id.to_string().as_bytes()),
            (Values::Time(times), 2) => times.push(Some(nanoseconds(info.started))),
            (Values::Time(times), _) => times.push(Some(nanoseconds(info.finished))),
            (Values::Text(texts), 4) => texts.push(match edition.is_current {
                true => b"yes",
                false => b"no",
            }),
            (Values::Text(texts), _) => texts.push(escape(info.version.as_bytes()).as_bytes()),
            (Values::I64(numbers), at) => {
                let number = totals.get(at.wrapping_sub(6)).copied().unwrap_or_default();
                numbers.push(Some(i64::try_from(number).unwrap_or(i64::MAX)));
            }
            _ => {}
        }
    }
}

/// Returns the entries, files, directories, links, bytes, blocks and issues that this user may see.
fn sums(job: &Job<'_>, view: &Arc<View>) -> Result<[u64; 7]> {
    let Some(start) = job.catalog.start(view, view.root())? else {
        return Ok([0; 7]);
    };
    let below = job.index().totals(&start)?.sums;
    // The totals below the root do not include its own row.
    let own = Row {
        batch: &start.row,
        at: 0,
        dir: b"",
    };
    let shards = view.shards().iter();
    let issues = shards.fold(0u64, |sum, shard| {
        sum.wrapping_add(shard.manifest.totals.issues)
    });
    Ok([
        below.entries().wrapping_add(1),
        below.files.wrapping_add(u64::from(!start.is_dir)),
        below.dirs.wrapping_add(u64::from(start.is_dir)),
        below.symlinks,
        below.size_bytes.wrapping_add(own.size()),
        below.blocks.wrapping_add(own.blocks()),
        issues,
    ])
}

fn root(path: &[u8]) -> String {
    escape(path::display(path)).into_owned()
}
