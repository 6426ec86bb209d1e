//! An entry as a JSON object, with the same keys in every command.

use trawl_model::column::REPORTED;
use trawl_model::path::display;
use trawl_model::{Column, ColumnSet, Dev, Meta, Value};
use trawl_text::json::Object;
use trawl_text::owners::Owners;

use crate::expr::Node;
use crate::predicates::json;

/// All columns that an object is made from.
pub const COLUMNS: ColumnSet =
    ColumnSet::of(&[Column::Name]).union(ColumnSet::sources_of(REPORTED));

/// Returns a node whose action prints entries as JSON, for
/// [`Program::print_with`](crate::Program::print_with).
pub fn node() -> Node {
    json::node()
}

/// Returns an entry as an object. `path` is the path as the user would name it.
/// Without `meta`, the only other key is `type`, which is `null`. An empty
/// `target` omits `link_target`. An unknown time of birth is `null`, and so is
/// the name of an owner without one.
pub fn object(path: &[u8], meta: Option<&Meta>, target: &[u8], owners: &Owners) -> Object {
    let object = Object::new().bytes("path", display(path));
    let Some(meta) = meta else {
        return object.null("type");
    };
    let add = |object, column: &Column| field(object, *column, meta, target, owners);
    REPORTED.iter().fold(object, add)
}

/// Returns a column's value in a record. Of the byte strings, records have only a link's `target`.
pub fn value<'a>(column: Column, meta: &Meta, target: &'a [u8]) -> Value<'a> {
    match column {
        Column::LinkTarget => Value::Bytes(target),
        other => meta.value(other),
    }
}

/// Adds a column's value, and what explains it.
fn field(object: Object, column: Column, meta: &Meta, target: &[u8], owners: &Owners) -> Object {
    let key = column.info().name;
    let object = match value(column, meta, target) {
        Value::Number(number) => object.number(key, number),
        Value::Time(time) => object.time(key, Some(time)),
        Value::Type(kind) => object.text(key, &char::from(kind.letter()).to_string()),
        Value::Bytes([]) => return object,
        Value::Bytes(bytes) => object.bytes(key, bytes),
        Value::Null => object.null(key),
    };
    match column {
        Column::Mode => object.text("permissions", &permissions(meta.mode)),
        Column::Uid => named(object, "user", owners.user(meta.uid).as_deref()),
        Column::Gid => named(object, "group", owners.group(meta.gid).as_deref()),
        _ => object,
    }
}

fn named(object: Object, key: &str, name: Option<&[u8]>) -> Object {
    match name {
        Some(name) => object.bytes(key, name),
        None => object.null(key),
    }
}

/// Formats permission bits in octal.
pub fn permissions(mode: u32) -> String {
    format!("{:04o}", mode & 0o7777)
}

/// Formats a device as its major and minor number.
pub fn device(device: Dev) -> String {
    format!("{}:{}", device.major, device.minor)
}
