//! `attributes`: one row for each value of each named attribute of a file's content.
//!
//! An attribute is what a hook found, or what a program set. Files are read now, as the asking user.
//! If conditions name attributes, files that an index of contents knows to have none of them are left
//! out unread. A file that cannot be read is among the remarks on the answer.

use trawl_find::questions::identity;
use trawl_find::resolve::is_recorded;
use trawl_grams::DocId;
use trawl_keywords::{Asked, Document, Look, Value};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::escape::escape;
use trawl_model::path;
use trawl_model::rows::Row;
use trawl_query::SnapshotInfo;

use super::files::each_file;
use super::{
    EDITION_COLUMNS, Job, Kind, Rows, TableColumn, Take, Target, Values, column, fill_edition,
    nullable,
};
use crate::contents::{document_now, exists, not_of_now};
use crate::error::Result;

/// Index of the first column about the snapshot.
const EDITION: usize = 9;

/// The stored columns that identify a document.
const COLUMNS: ColumnSet = ColumnSet::of(&[
    Column::Name,
    Column::Mode,
    Column::Dev,
    Column::Ino,
    Column::Size,
    Column::Mtime,
    Column::MtimeNs,
    Column::Ctime,
    Column::CtimeNs,
]);

/// Returns the columns.
pub(super) fn columns() -> Vec<TableColumn> {
    let mut columns = vec![
        column("path", Kind::Text, "Absolute path of the file"),
        nullable(
            "path_raw",
            Kind::Bytes,
            "The path's bytes, only where they are not UTF-8",
        ),
        column("dir", Kind::Text, "The directory that holds the file"),
        column("name", Kind::Text, "The file's name"),
        column("attr", Kind::Text, "The attribute's name, such as `artist`"),
        column(
            "kind",
            Kind::Text,
            "The value's type: `text`, `integer`, `real` or `time`",
        ),
        column("text", Kind::Text, "The value as text"),
        nullable(
            "number",
            Kind::F64,
            "The value of an integer or a real number",
        ),
        nullable("time", Kind::Time, "The value of a time"),
    ];
    columns.extend(EDITION_COLUMNS);
    columns
}

/// Produces the rows.
pub(super) fn produce(job: &Job<'_>, take: Take<'_>) -> Result<()> {
    let asked: Option<Vec<Asked>> = job
        .names
        .map(|names| names.iter().map(|name| Asked::new(exists(name))).collect());
    let reader = Reader {
        job,
        table: columns(),
        asked,
    };
    let add = |target: &Target, row: &Row<'_>, path: &[u8], out: &mut Option<Rows>| {
        reader.add(target, row, path, out);
    };
    each_file(job, COLUMNS, &add, take)
}

/// Reads the attributes of files.
struct Reader<'j> {
    job: &'j Job<'j>,
    table: Vec<TableColumn>,
    /// Whether the attributes exist that conditions name; `None` if they name none.
    asked: Option<Vec<Asked>>,
}

impl Reader<'_> {
    /// Adds the attributes of a file.
    fn add(&self, target: &Target, row: &Row<'_>, path: &[u8], out: &mut Option<Rows>) {
        let (dir, name) = path::split(path).unwrap_or_default();
        let (catalog, view) = (self.job.catalog, &target.start.view);
        let id = catalog.contents().id(&identity(row), name);
        if self.is_known_to_lack(id, path) {
            return;
        }
        if catalog.is_past() || is_recorded(view) {
            return not_of_now(catalog, path);
        }
        let Some(document) = document_now(catalog, path) else {
            return;
        };
        self.note_gaps(id, path, &document);
        let rows = out.get_or_insert_with(|| Rows::new(&self.table, self.job.columns));
        for (attribute, value) in document.values() {
            rows.room();
            let found = Found {
                path,
                dir,
                name,
                attribute: &attribute,
                value: &value,
            };
            fill(rows, &found, view.info());
        }
    }

    /// Notes that values may be missing, where conditions do not exclude them.
    fn note_gaps(&self, id: DocId, path: &[u8], document: &Document) {
        let catalog = self.job.catalog;
        let gap = match &self.asked {
            None => document.gaps.attributes,
            Some(asked) => {
                asked
                    .iter()
                    .find_map(|one| match one.judge(catalog.contents(), id, document) {
                        Look::Undecided(gap) => Some(gap),
                        _ => None,
                    })
            }
        };
        if let Some(gap) = gap {
            catalog.unread(path, gap.reason().into());
        }
    }

    /// Returns whether an index of contents knows that a file has none of the attributes that
    /// conditions name.
    fn is_known_to_lack(&self, id: DocId, path: &[u8]) -> bool {
        let Some(asked) = &self.asked else {
            return false;
        };
        let catalog = self.job.catalog;
        for one in asked {
            match one.look(catalog.contents(), id) {
                Look::Differs => {}
                Look::Undecided(gap) => catalog.unread(path, gap.reason().into()),
                Look::Matches | Look::Unread => return false,
            }
        }
        true
    }
}

/// A value of a file.
struct Found<'f> {
    path: &'f [u8],
    dir: &'f [u8],
    name: &'f [u8],
    attribute: &'f str,
    value: &'f Value,
}

fn fill(rows: &mut Rows, found: &Found<'_>, info: &SnapshotInfo) {
    rows.len += 1;
    for (at, values) in &mut rows.columns {
        match (values, *at) {
            (Values::Text(texts), at @ 0..EDITION) => texts.push(text(found, at).as_bytes()),
            (Values::Bytes(bytes), _) => match std::str::from_utf8(found.path) {
                Ok(_) => bytes.push_null(),
                Err(_) => bytes.push(found.path),
            },
            (Values::F64(numbers), _) => numbers.push(match found.value {
                Value::Integer(number) => Some(*number as f64),
                Value::Real(number) => Some(*number),
                _ => None,
            }),
            (Values::Time(times), 8) => times.push(match found.value {
                Value::Time(time_ns) => Some(*time_ns),
                _ => None,
            }),
            (values, at) => fill_edition(values, at - EDITION, info, 1),
        }
    }
}

fn text(found: &Found<'_>, column: usize) -> String {
    match column {
        0 => escape(path::display(found.path)).into_owned(),
        2 => escape(found.dir).into_owned(),
        3 => escape(found.name).into_owned(),
        4 => found.attribute.to_owned(),
        5 => kind(found.value).to_owned(),
        _ => found.value.to_string(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Text(_) => "text",
        Value::Integer(_) => "integer",
        Value::Real(_) => "real",
        Value::Time(_) => "time",
        Value::List(_) => "list",
    }
}
