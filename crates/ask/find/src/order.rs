//! An order of rows by columns (`-sort`): numbers and times compare as numbers,
//! names as bytes, and equal rows by path. The best score comes first.

use std::cmp::Reverse;

use trawl_model::column::COLUMNS;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::context::Context;
use crate::questions;

/// A value that rows are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    /// The path as printed.
    Path,
    /// How well the content matches: the best first.
    Score,
    /// A column.
    Column(Column),
}

const SCORE: &str = "score";

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
            Some(SCORE) => Some((Key::Score, Direction::Up)),
            Some(name) => Some((key(name)?, Direction::Down)),
            None if part == SCORE => Some((Key::Score, Direction::Down)),
            None => Some((key(part)?, Direction::Up)),
        });
        parts.collect::<Option<Vec<_>>>().map(Order)
    }

    /// The columns that the order reads.
    pub(crate) fn columns(&self) -> ColumnSet {
        let mut columns = ColumnSet::of(&[Column::Name]);
        for (key, _) in &self.0 {
            columns = columns.union(match key {
                Key::Path => ColumnSet::EMPTY,
                Key::Score => questions::COLUMNS,
                Key::Column(column) => column.sources(),
            });
        }
        columns
    }

    /// Returns the position of the row.
    pub(crate) fn rank(&self, row: &Row<'_>, cx: &mut Context<'_>) -> Rank {
        let path = cx.path(row).to_vec();
        let values = self.0.iter().map(|(key, direction)| {
            let value = match key {
                Key::Path => Value::Bytes(path.clone()),
                // Scores are not negative: their bits are ordered as they are.
                Key::Score => number(questions::score(row, cx).to_bits()),
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

fn value(column: Column, row: &Row<'_>, path: &[u8], cx: &Context<'_>) -> Value {
    match column {
        Column::Dir => {
            let slash = path.iter().rposition(|byte| *byte == b'/');
            bytes(&path[..slash.unwrap_or(0)])
        }
        Column::Name | Column::NameRaw => bytes(cx.name(row)),
        other => match row.value(other) {
            trawl_model::Value::Null => Value::Number(None),
            trawl_model::Value::Number(one) => number(one),
            trawl_model::Value::Time(time) => number(time.as_nanos()),
            trawl_model::Value::Type(kind) => number(kind.letter()),
            trawl_model::Value::Bytes(text) => bytes(text),
        },
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
