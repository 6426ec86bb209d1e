//! An entry as a row for programs, with the same fields in every command.

use trawl_model::column::{ColumnType, REPORTED, Report};
use trawl_model::path::display;
use trawl_model::{Column, ColumnSet, Dev, Meta, Value as ColumnValue};
use trawl_report::{Field, Row, Value, fields};
use trawl_text::owners::Owners;

use crate::expr::Node;
use crate::predicates::json;

/// All columns that a row is made from.
pub const COLUMNS: ColumnSet =
    ColumnSet::of(&[Column::Name]).union(ColumnSet::sources_of(REPORTED));

/// Returns a node whose action prints entries as JSON, for
/// [`Program::print_with`](crate::Program::print_with).
pub fn node() -> Node {
    json::node()
}

/// Number of fields that explain a column: permissions, user and group.
const EXPLANATIONS: usize = 3;

/// The fields of an entry: its path, and every column that the table of columns reports, with what
/// explains it.
pub const FIELDS: [Field; 1 + REPORTED.len() + EXPLANATIONS] = {
    let mut all = [fields::PATH.always().with_null(); 1 + REPORTED.len() + EXPLANATIONS];
    let (mut at, mut next) = (0, 1);
    while at < REPORTED.len() {
        let column = REPORTED[at];
        all[next] = field(column);
        next += 1;
        if let Some(explanation) = explanation(column) {
            all[next] = explanation;
            next += 1;
        }
        at += 1;
    }
    assert!(next == all.len());
    all
};

/// Returns the field of a column.
pub const fn field(column: Column) -> Field {
    let info = column.info();
    let field = match (column, info.kind) {
        (Column::Type, _) => fields::TYPE,
        (_, ColumnType::Text) => Field::text(info.name, info.doc),
        (_, ColumnType::Bytes) => Field::bytes(info.name, info.doc),
        _ if column.nanoseconds().is_some() => Field::time(info.name, info.doc),
        (_, ColumnType::U64) => Field::integer(info.name, info.doc)
            .in_units(info.unit)
            .wide(),
        _ => Field::integer(info.name, info.doc).in_units(info.unit),
    };
    match info.report {
        Report::JsonAndCsv(_) => field,
        Report::Json(_) | Report::Never => field.without_csv(),
    }
}

/// Returns the field that stands behind a column's own and explains it.
const fn explanation(column: Column) -> Option<Field> {
    match column {
        Column::Mode => Some(fields::PERMISSIONS),
        Column::Uid => Some(fields::USER.without_raw()),
        Column::Gid => Some(fields::GROUP.without_raw()),
        _ => None,
    }
}

/// Fills a row with an entry. `path` is the path as the user would name it. Without `meta`, the only
/// other field is `type`, which is null. An empty `target` leaves out `link_target`.
pub fn fill(row: &mut Row<'_>, path: &[u8], meta: Option<&Meta>, target: &[u8], owners: &Owners) {
    row.put(&fields::PATH, display(path));
    let Some(meta) = meta else {
        row.put(&fields::TYPE, Value::Null);
        return;
    };
    for column in REPORTED {
        put(row, *column, meta, target, owners);
    }
}

/// Fills the field of a column, and the one that explains it. Of the byte strings, a row has only a
/// link's `target`.
fn put(row: &mut Row<'_>, column: Column, meta: &Meta, target: &[u8], owners: &Owners) {
    let field = field(column);
    match (column, meta.value(column)) {
        (Column::LinkTarget, _) if target.is_empty() => return,
        (Column::LinkTarget, _) => row.put(&field, target),
        (_, ColumnValue::Number(number)) => row.put(&field, number),
        (_, ColumnValue::Time(time)) => row.put(&field, time),
        (_, ColumnValue::Type(kind)) => row.put(&field, char::from(kind.letter())),
        (_, ColumnValue::Bytes(bytes)) => row.put(&field, bytes),
        (_, ColumnValue::Null) => row.put(&field, Value::Null),
    };
    match column {
        Column::Mode => row.put(&fields::PERMISSIONS, &permissions(meta.mode)),
        Column::Uid => row.put(&fields::USER, owners.user(meta.uid).as_deref()),
        Column::Gid => row.put(&fields::GROUP, owners.group(meta.gid).as_deref()),
        _ => row,
    };
}

/// Formats permission bits in octal.
pub fn permissions(mode: u32) -> String {
    format!("{:04o}", mode & 0o7777)
}

/// Formats a device as its major and minor number.
pub fn device(device: Dev) -> String {
    format!("{}:{}", device.major, device.minor)
}
