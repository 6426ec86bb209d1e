//! `issues`: paths that could not be read, and directories that this user may not list.

use trawl_model::escape::escape;
use trawl_model::{Issue, path};
use trawl_query::SnapshotInfo;

use super::{
    EDITION_COLUMNS, Job, Kind, Rows, TableColumn, Take, Values, column, fill_edition, nullable,
};
use crate::error::Result;

/// Index of the first column about the snapshot.
const EDITION: usize = 6;

/// Returns the columns.
pub(super) fn columns() -> Vec<TableColumn> {
    let mut columns = vec![
        column("path", Kind::Text, "Absolute path that could not be read"),
        nullable(
            "path_raw",
            Kind::Bytes,
            "The path's bytes, only where they are not UTF-8",
        ),
        column(
            "op",
            Kind::Text,
            "The failed operation: opendir, readdir, stat, readlink, …",
        ),
        column(
            "errno",
            Kind::I32,
            "The kernel's error number; 0 where none applies",
        ),
        nullable("error", Kind::Text, "The error in words"),
        nullable(
            "detail",
            Kind::Text,
            "Further details, such as the line of a trace",
        ),
    ];
    columns.extend(EDITION_COLUMNS);
    columns
}

/// Produces the rows.
pub(super) fn produce(job: &Job<'_>, take: Take<'_>) -> Result<()> {
    let table = columns();
    for target in job.targets {
        let issues = job
            .index()
            .issues(&target.start, target.reach.max_depth())?;
        let mut rows = Rows::new(&table, job.columns);
        for issue in issues.iter().filter(|issue| !target.skips(&issue.path)) {
            fill(&mut rows, issue, target.start.view.info());
            if rows.is_full() {
                let full = std::mem::replace(&mut rows, Rows::new(&table, job.columns));
                if take(full.finish()?).is_break() {
                    return Ok(());
                }
            }
        }
        if rows.len > 0 && take(rows.finish()?).is_break() {
            return Ok(());
        }
    }
    Ok(())
}

fn fill(rows: &mut Rows, issue: &Issue, info: &SnapshotInfo) {
    rows.len += 1;
    for (at, values) in &mut rows.columns {
        match (values, *at) {
            (Values::Text(texts), 0) => texts.push(escape(path::display(&issue.path)).as_bytes()),
            (Values::Bytes(bytes), _) => match std::str::from_utf8(&issue.path) {
                Ok(_) => bytes.push_null(),
                Err(_) => bytes.push(&issue.path),
            },
            (Values::Text(texts), 2) => texts.push(issue.op.as_str().as_bytes()),
            (Values::I32(numbers), _) => numbers.push(issue.errno.0),
            (Values::Text(texts), 4) => texts.push_or_null(words(issue.errno.0).as_bytes()),
            (Values::Text(texts), 5) => texts.push_or_null(issue.detail.as_bytes()),
            (values, at) => fill_edition(values, at - EDITION, info, 1),
        }
    }
}

/// Returns the system's message for an error number.
fn words(errno: i32) -> String {
    if errno == 0 {
        return String::new();
    }
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_lowercase()
}
