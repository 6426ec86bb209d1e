//! An order of rows by columns (`-sort`): numbers and times compare as numbers,
//! names as bytes, and equal rows by path. The best score comes first.

use trawl_model::column::COLUMNS;
use trawl_model::rows::Row;
use trawl_model::sort_key::Direction;
use trawl_model::{Column, ColumnSet, SortKey};

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

/// An order by several columns, the most significant one first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order(Vec<(Key, Direction)>);

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

    /// Returns the position of the row: by its values, then by its path.
    pub(crate) fn rank(&self, row: &Row<'_>, cx: &mut Context<'_>) -> SortKey {
        let path = cx.path(row).to_vec();
        let mut rank = SortKey::default();
        for (key, direction) in &self.0 {
            rank = match key {
                Key::Path => rank.text(&path, *direction),
                // Scores are not negative: their bits are ordered as they are.
                Key::Score => number(rank, questions::score(row, cx).to_bits(), *direction),
                Key::Column(column) => with(rank, *column, *direction, row, &path, cx),
            };
        }
        rank.text(&path, Direction::Up)
    }
}

fn key(name: &str) -> Option<Key> {
    if name == "path" {
        return Some(Key::Path);
    }
    let found = COLUMNS.iter().find(|info| info.name == name)?;
    Some(Key::Column(found.column))
}

/// Returns the rank with the value of a column behind it. All values of one column are of the same
/// kind.
fn with(
    rank: SortKey,
    column: Column,
    direction: Direction,
    row: &Row<'_>,
    path: &[u8],
    cx: &Context<'_>,
) -> SortKey {
    match column {
        Column::Dir => {
            let slash = path.iter().rposition(|byte| *byte == b'/');
            rank.text(&path[..slash.unwrap_or(0)], direction)
        }
        Column::Name | Column::NameRaw => rank.text(cx.name(row), direction),
        other => match row.value(other) {
            trawl_model::Value::Null => rank.number(None, direction),
            trawl_model::Value::Number(one) => number(rank, one, direction),
            trawl_model::Value::Time(time) => number(rank, time.as_nanos(), direction),
            trawl_model::Value::Type(kind) => number(rank, kind.letter(), direction),
            trawl_model::Value::Bytes(text) => rank.text(text, direction),
        },
    }
}

fn number(rank: SortKey, number: impl Into<i128>, direction: Direction) -> SortKey {
    rank.number(Some(number.into()), direction)
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
        let up = |value: i64| number(SortKey::default(), value, Direction::Up);
        let down = |value: i64| number(SortKey::default(), value, Direction::Down);
        assert!(up(9) < up(10) && up(-1) < up(0) && down(10) < down(9));
        assert!(SortKey::default().number(None, Direction::Up) < up(i64::MIN));
    }
}
