//! `xattrs`: one row for each extended attribute that the user may know of.

use std::ops::ControlFlow;

use trawl_model::escape::escape;
use trawl_model::path;
use trawl_query::{Attribute, AttributeRequest, SnapshotInfo};

use super::{
    EDITION_COLUMNS, Job, Kind, Reach, Rows, TableColumn, Take, Target, Values, column,
    fill_edition, nullable,
};
use crate::error::Result;

/// Index of the first column about the snapshot.
const EDITION: usize = 7;

/// Returns the columns.
pub(super) fn columns() -> Vec<TableColumn> {
    let mut columns = vec![
        column("path", Kind::Text, "Absolute path of the entry"),
        nullable(
            "path_raw",
            Kind::Bytes,
            "The path's bytes, only where they are not UTF-8",
        ),
        column("dir", Kind::Text, "The directory that holds the entry"),
        column("name", Kind::Text, "The entry's name"),
        column(
            "attr",
            Kind::Text,
            "The attribute's full name, such as `user.comment`",
        ),
        nullable(
            "value",
            Kind::Bytes,
            "Its value, if the user may read it and it was read",
        ),
        nullable(
            "text",
            Kind::Text,
            "The value as text; escaped where it is not UTF-8",
        ),
    ];
    columns.extend(EDITION_COLUMNS);
    columns
}

/// Produces the rows.
pub(super) fn produce(job: &Job<'_>, take: Take<'_>) -> Result<()> {
    let mut out = Out {
        table: columns(),
        rows: None,
        job,
        take,
    };
    for target in job.targets {
        if target_rows(job, target, &mut out)?.is_break() {
            return Ok(());
        }
    }
    out.flush().map(|_| ())
}

fn target_rows(job: &Job<'_>, target: &Target, out: &mut Out<'_, '_>) -> Result<ControlFlow<()>> {
    let (start, info) = (&target.start, target.start.view.info());
    if target.reach.has_own() && !target.skips(&start.path) {
        for attribute in job.index().attributes(start)? {
            if out.add(&start.path, &attribute, info)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }
    if target.reach == Reach::Itself {
        return Ok(ControlFlow::Continue(()));
    }
    let request = AttributeRequest {
        max_depth: target.reach.max_depth(),
        cancel: Some(job.cancel),
        ..AttributeRequest::default()
    };
    let mut flow = Ok(ControlFlow::Continue(()));
    job.index().attributes_below(start, &request, |entry| {
        let of_others = target.skips(&entry.path);
        for attribute in entry.attributes.iter().filter(|_| !of_others) {
            flow = out.add(&entry.path, attribute, info);
            if !matches!(flow, Ok(ControlFlow::Continue(()))) {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })?;
    flow
}

/// Collected rows, and their receiver.
struct Out<'j, 't> {
    table: Vec<TableColumn>,
    rows: Option<Rows>,
    job: &'j Job<'j>,
    take: Take<'t>,
}

impl Out<'_, '_> {
    fn add(
        &mut self,
        path: &[u8],
        attribute: &Attribute,
        info: &SnapshotInfo,
    ) -> Result<ControlFlow<()>> {
        let fresh = || Rows::new(&self.table, self.job.columns);
        let rows = self.rows.get_or_insert_with(fresh);
        fill(rows, path, attribute, info);
        match rows.is_full() {
            true => self.flush(),
            false => Ok(ControlFlow::Continue(())),
        }
    }

    fn flush(&mut self) -> Result<ControlFlow<()>> {
        match self.rows.take() {
            Some(rows) => Ok((self.take)(rows.finish()?)),
            None => Ok(ControlFlow::Continue(())),
        }
    }
}

fn fill(rows: &mut Rows, path: &[u8], attribute: &Attribute, info: &SnapshotInfo) {
    rows.len += 1;
    let (dir, name) = path::split(path).unwrap_or_default();
    let value = attribute.value.as_deref();
    for (at, values) in &mut rows.columns {
        match (values, *at) {
            (Values::Text(texts), 0) => texts.push(escape(path::display(path)).as_bytes()),
            (Values::Bytes(bytes), 1) => match std::str::from_utf8(path) {
                Ok(_) => bytes.push_null(),
                Err(_) => bytes.push(path),
            },
            (Values::Text(texts), 2) => texts.push(escape(dir).as_bytes()),
            (Values::Text(texts), 3) => texts.push(escape(name).as_bytes()),
            (Values::Text(texts), 4) => texts.push(escape(&attribute.name).as_bytes()),
            (Values::Bytes(bytes), _) => match value {
                Some(value) => bytes.push(value),
                None => bytes.push_null(),
            },
            (Values::Text(texts), 6) => match value {
                Some(value) => texts.push(escape(value).as_bytes()),
                None => texts.push_null(),
            },
            (values, at) => fill_edition(values, at - EDITION, info, 1),
        }
    }
}
