//! An order of rows by columns (`-sort`): numbers and times compare as numbers,
//! names as bytes, and equal rows by path.

use std::cmp::Reverse;

use trawl_model::column::COLUMNS;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet, Timestamp};

use crate::context::Context;

/// A value that rows are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    /// The path as printed.
    Path,
    /// A column.
    Column(Column),
}

/// The direction of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// An order by several columns, the most significant one first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order(Vec<(Key, Direction)>);

/// The value of a column. All values of one column are of the same variant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    /// A number. An unknown one orders before all known ones.
    Number(Option<i128>),
    Bytes(Vec<u8>),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Directed {
    Up(Value),
    Down(Reverse<Value>),
}

/// The position of a row: by its values, then by its path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    values: Vec<Directed>,
    path: Vec<u8>,
}

impl Order {
    /// Parses `[-]COLUMN,...`. Returns `None` if a name is not that of a
    /// column.
    pub(crate) fn parse(text: &[u8]) -> Option<Order> {
        let parts = std::str::from_utf8(text).ok()?.split(',');
        let parts = parts.map(|part| match part.strip_prefix('-') {
            Some(name) => Some((key(name)?, Direction::Down)),
            None => Some((key(part)?, Direction::Up)),
        });
        parts.collect::<Option<Vec<_>>>().map(Order)
    }

    /// The columns that the order reads.
    pub(crate) fn columns(&self) -> ColumnSet {
        let mut columns = ColumnSet::of(&[Column::Name]);
        for (key, _) in &self.0 {
            if let Key::Column(column) = key {
                columns = columns.union(read_for(*column));
            }
        }
        columns
    }

    /// Returns the position of the row.
    pub(crate) fn rank(&self, row: &Row<'_>, cx: &mut Context<'_>) -> Rank {
        let path = cx.path(row).to_vec();
        let values = self.0.iter().map(|(key, direction)| {
            let value = match key {
                Key::Path => Value::Bytes(path.clone()),
                Key::Column(column) => value(*column, row, &path, cx),
            };
            match direction {
                Direction::Up => Directed::Up(value),
                Direction::Down => Directed::Down(Reverse(value)),
            }
        });
        let values = values.collect();
        Rank { values, path }
    }
}

fn key(name: &str) -> Option<Key> {
    if name == "path" {
        return Some(Key::Path);
    }
    let found = COLUMNS.iter().find(|info| info.name == name)?;
    Some(Key::Column(found.column))
}

/// The columns to read for a column's value.
fn read_for(column: Column) -> ColumnSet {
    match column {
        Column::Dir | Column::NameRaw => ColumnSet::of(&[Column::Name]),
        Column::Type => ColumnSet::of(&[Column::Mode]),
        Column::Atime => ColumnSet::of(&[Column::Atime, Column::AtimeNs]),
        Column::Mtime => ColumnSet::of(&[Column::Mtime, Column::MtimeNs]),
        Column::Ctime => ColumnSet::of(&[Column::Ctime, Column::CtimeNs]),
        Column::Btime | Column::BtimeNs => ColumnSet::of(&[Column::Btime, Column::BtimeNs]),
        other => ColumnSet::of(&[other]),
    }
}

fn value(column: Column, row: &Row<'_>, path: &[u8], cx: &Context<'_>) -> Value {
    let time = |time: Timestamp| number(time.as_nanos());
    match column {
        Column::Dir => {
            let slash = path.iter().rposition(|byte| *byte == b'/');
            bytes(&path[..slash.unwrap_or(0)])
        }
        Column::Name | Column::NameRaw => bytes(cx.name(row)),
        Column::Type => number(row.file_type().letter()),
        Column::Ino => number(row.ino()),
        Column::Dev => number(row.dev().as_u64()),
        Column::Mode => number(row.mode()),
        Column::Nlink => number(row.nlink()),
        Column::Uid => number(row.uid().0),
        Column::Gid => number(row.gid().0),
        Column::Rdev => number(row.rdev().as_u64()),
        Column::Size => number(row.size()),
        Column::Blocks => number(row.blocks()),
        Column::Blksize => number(row.blksize()),
        Column::Atime => time(row.atime()),
        Column::AtimeNs => number(row.atime().nanos),
        Column::Mtime => time(row.mtime()),
        Column::MtimeNs => number(row.mtime().nanos),
        Column::Ctime => time(row.ctime()),
        Column::CtimeNs => number(row.ctime().nanos),
        Column::Btime => Value::Number(row.btime().map(|time| time.as_nanos())),
        Column::BtimeNs => Value::Number(row.btime().map(|time| time.nanos.into())),
        Column::LinkTarget => bytes(row.link_target()),
        Column::XattrNames => bytes(row.xattr_names()),
        Column::Acl => bytes(row.acl()),
        Column::AclDefault => bytes(row.acl_default()),
        Column::Project => Value::Number(row.project().map(i128::from)),
        Column::Attributes => number(row.attributes()),
    }
}

fn number(number: impl Into<i128>) -> Value {
    Value::Number(Some(number.into()))
}

fn bytes(bytes: &[u8]) -> Value {
    Value::Bytes(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_can_be_sorted_by() {
        for info in COLUMNS {
            let order = Order::parse(format!("-{}", info.name).as_bytes());
            assert_eq!(
                order,
                Some(Order(vec![(Key::Column(info.column), Direction::Down)]))
            );
            let columns = order.map(|order| order.columns()).unwrap_or_default();
            assert!(columns.contains(Column::Name), "{}", info.name);
        }
        assert!(Order::parse(b"path,-size").is_some());
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        assert!(number(9u32) < number(10u32));
        assert!(number(-1i64) < number(0u32) && Value::Number(None) < number(i64::MIN));
        assert!(bytes(b"9") > bytes(b"10"));
        let down = |value| Directed::Down(Reverse(value));
        assert!(down(number(10u32)) < down(number(9u32)));
    }
}
