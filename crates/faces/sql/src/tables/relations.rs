//! `relations`: one row for each relation that a regular file has to another ([`trawl_relations`]).
//!
//! "Guarded at both ends": a row of the index names the file, and both files are looked at now, as the
//! asking user. Only forward relations are rows, so each relation is one; relations that others have
//! to a file are found by its path in the column `other`. A file that cannot be read is among the
//! remarks on the answer.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use trawl_cli::sql::Relater;
use trawl_find::resolve::is_recorded;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::escape::escape;
use trawl_model::path;
use trawl_model::rows::Row;
use trawl_query::SnapshotInfo;
use trawl_relations::Kind as RelationKind;
use trawl_relations::related::Related;

use super::files::each_file;
use super::{
    EDITION_COLUMNS, Job, Kind, Rows, TableColumn, Take, Target, Values, column, fill_edition,
    nullable,
};
use crate::contents::not_of_now;
use crate::error::{Result, SqlError};

/// Index of the first column about the snapshot.
const EDITION: usize = 9;

/// The stored columns that tell regular files.
const COLUMNS: ColumnSet = ColumnSet::of(&[Column::Name, Column::Mode]);

/// Returns the columns.
pub(super) fn columns() -> Vec<TableColumn> {
    let raw = |name| {
        let doc = "The path's bytes, only where they are not UTF-8";
        nullable(name, Kind::Bytes, doc)
    };
    let mut columns = vec![
        column("path", Kind::Text, "Absolute path of the file"),
        raw("path_raw"),
        column("dir", Kind::Text, "The directory that holds the file"),
        column("name", Kind::Text, "The file's name"),
        column(
            "kind",
            Kind::Text,
            "`opened-with`, `built-from`, `includes`, `links-to`, `derived`, or a kind that a hook reports",
        ),
        column(
            "other",
            Kind::Text,
            "Absolute path of the file to which it has the relation",
        ),
        raw("other_raw"),
        column(
            "weight",
            Kind::F64,
            "How strong the relation is, from 0 to 1",
        ),
        column(
            "is_replaced",
            Kind::Text,
            "`yes` if another file has taken the path `other` since programs taught the relation, else `no`",
        ),
    ];
    columns.extend(EDITION_COLUMNS);
    columns
}

/// Produces the rows.
pub(super) fn produce(job: &Job<'_>, take: Take<'_>) -> Result<()> {
    // A name that is no kind has no rows.
    let kinds = job.names.map(|names| {
        let kinds = names.iter().map(|name| RelationKind::from_name(name));
        kinds.filter_map(|kind| kind.ok()).collect::<Vec<_>>()
    });
    if kinds.as_ref().is_some_and(Vec::is_empty) {
        return Ok(());
    }
    let contents = Arc::clone(job.catalog.contents());
    let reader = Reader {
        job,
        table: columns(),
        relater: Relater::new(contents, kinds.unwrap_or_default()).map_err(SqlError::Relating)?,
    };
    let add = |target: &Target, _: &Row<'_>, path: &[u8], out: &mut Option<Rows>| {
        reader.add(target, path, out);
    };
    each_file(job, COLUMNS, &add, take)
}

/// Looks for relations of files.
struct Reader<'j> {
    job: &'j Job<'j>,
    table: Vec<TableColumn>,
    relater: Relater,
}

impl Reader<'_> {
    /// Adds the relations of a file.
    fn add(&self, target: &Target, stored: &[u8], out: &mut Option<Rows>) {
        let (catalog, view) = (self.job.catalog, &target.start.view);
        if catalog.is_past() || is_recorded(view) {
            return not_of_now(catalog, stored);
        }
        let shown = path::display(stored);
        let answer = match self.relater.of(Path::new(OsStr::from_bytes(shown))) {
            Ok(answer) => answer,
            Err(why) => return catalog.unread(stored, why),
        };
        for issue in answer.issues {
            // What could not be looked at is this file, or nothing.
            let prefix = format!("{}: ", trawl_text::words::shown(shown));
            let why = issue.strip_prefix(&prefix).unwrap_or(&issue);
            catalog.unread(stored, why.to_owned());
        }
        for related in &answer.related {
            let rows = out.get_or_insert_with(|| Rows::new(&self.table, self.job.columns));
            rows.room();
            fill(rows, stored, related, view.info());
        }
    }
}

fn fill(rows: &mut Rows, stored: &[u8], related: &Related, info: &SnapshotInfo) {
    rows.len += 1;
    let other = related.edge.path.as_os_str().as_bytes();
    for (at, values) in &mut rows.columns {
        match (values, *at) {
            (Values::Text(texts), at @ 0..EDITION) => {
                texts.push(text(stored, related, at).as_bytes());
            }
            (Values::Bytes(bytes), at) => {
                let raw = if at == 1 {
                    path::display(stored)
                } else {
                    other
                };
                match std::str::from_utf8(raw) {
                    Ok(_) => bytes.push_null(),
                    Err(_) => bytes.push(raw),
                }
            }
            (Values::F64(numbers), _) => numbers.push(Some(related.edge.weight)),
            (values, at) => fill_edition(values, at - EDITION, info, 1),
        }
    }
}

fn text(stored: &[u8], related: &Related, column: usize) -> String {
    let (dir, name) = path::split(stored).unwrap_or_default();
    match column {
        0 => escape(path::display(stored)).into_owned(),
        2 => escape(dir).into_owned(),
        3 => escape(name).into_owned(),
        4 => related.edge.kind.name().to_owned(),
        5 => escape(related.edge.path.as_os_str().as_bytes()).into_owned(),
        _ if related.is_replaced => "yes".into(),
        _ => "no".into(),
    }
}
