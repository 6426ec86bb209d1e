//! Rows for programs: the same columns as JSON objects and as CSV lines.

use trawl_find::record;
use trawl_model::column::{ColumnType, REPORTED, Report};
use trawl_model::path::display;
use trawl_model::{Column, Meta, Value};
use trawl_text::owners::Owners;

use crate::csv::Line;
use crate::ls::item::Item;
use trawl_text::json::Object;

/// Format of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
    /// Comma-separated values below a header.
    Csv,
}

impl Form {
    /// Returns the format that the options ask for; clap allows only one of them to be set.
    pub(crate) fn new(json: bool, csv: bool) -> Form {
        match (json, csv) {
            (true, _) => Form::Json,
            (_, true) => Form::Csv,
            _ => Form::Text,
        }
    }
}

/// Columns of the lines of [`csv`] behind the path.
fn columns() -> impl Iterator<Item = Column> {
    let all = REPORTED.iter().copied();
    all.filter(|column| matches!(column.info().report, Report::JsonAndCsv(_)))
}

/// Returns the names of a column's fields: its own, and that of what explains it.
fn names(column: Column) -> Vec<String> {
    let name = column.info().name;
    let beside = match (column, column.info().kind) {
        (Column::Mode, _) => "permissions".to_owned(),
        (Column::Uid, _) => "user".to_owned(),
        (Column::Gid, _) => "group".to_owned(),
        (_, ColumnType::Bytes) => format!("{name}_raw"),
        _ => return vec![name.to_owned()],
    };
    vec![name.to_owned(), beside]
}

/// Returns the header of the lines of [`csv`].
pub(crate) fn csv_header() -> String {
    let names: Vec<String> = columns().flat_map(names).collect();
    format!("path,path_raw,{}\n", names.join(","))
}

/// Returns an item as a JSON object; `path` is spelled as the user would spell it.
pub(crate) fn json(path: &[u8], item: &Item, owners: &Owners) -> Object {
    record::object(path, item.meta.as_ref(), &item.target, owners)
}

/// Returns an item as a line below [`csv_header`].
pub(crate) fn csv(path: &[u8], item: &Item, owners: &Owners) -> Vec<u8> {
    let line = Line::new().path(display(path));
    let Some(meta) = &item.meta else {
        let fields = columns().flat_map(names);
        return fields.fold(line, |line, _| line.field("")).close();
    };
    let add = |line, column| field(line, column, meta, &item.target, owners);
    columns().fold(line, add).close()
}

/// Adds the fields of a column.
fn field(line: Line, column: Column, meta: &Meta, target: &[u8], owners: &Owners) -> Line {
    let line = match record::value(column, meta, target) {
        Value::Number(number) => line.value(number),
        Value::Time(time) => line.time(Some(time)),
        Value::Type(kind) => line.value(char::from(kind.letter())),
        Value::Bytes(bytes) => return line.path(bytes),
        Value::Null => line.field(""),
    };
    match column {
        Column::Mode => line.value(record::permissions(meta.mode)),
        Column::Uid => line.field(owners.user(meta.uid).as_deref().unwrap_or_default()),
        Column::Gid => line.field(owners.group(meta.gid).as_deref().unwrap_or_default()),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_the_documented_one() {
        assert_eq!(
            csv_header(),
            "path,path_raw,type,size,blocks,mode,permissions,nlink,uid,user,gid,group,ino,dev,rdev,\
             atime,mtime,ctime,btime,link_target,link_target_raw\n"
        );
    }

    #[test]
    fn lines_have_as_many_fields_as_the_header() {
        let fields = |line: &[u8]| line.iter().filter(|b| **b == b',').count();
        let known = Item {
            meta: Some(Meta::default()),
            ..Item::unknown(b"a")
        };
        for item in [Item::unknown(b"a"), known] {
            let line = csv(b"/a", &item, &Owners::default());
            assert_eq!(fields(&line), fields(csv_header().as_bytes()), "{item:?}");
            let text = json(b"/a", &item, &Owners::default()).close();
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(value["path"], "/a");
        }
    }
}
