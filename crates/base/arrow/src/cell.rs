//! A value that waits for its batch.

use trawl_model::Timestamp;
use trawl_report::Value;

/// A value, its own copy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Text(String),
    Bytes(Vec<u8>),
    Integer(i128),
    Flag(bool),
    Time(Timestamp),
    /// Fields of an object, elements of a list, or members, each a key and a text.
    Parts(Vec<Cell>),
}

impl Cell {
    /// Returns a copy of a value.
    pub(crate) fn of(value: Value<'_>) -> Cell {
        match value {
            Value::Null => Cell::Null,
            Value::Text(text) | Value::Written(text) => Cell::Text(text.into()),
            Value::Letter(letter) => Cell::Text(letter.into()),
            Value::Bytes(bytes) => Cell::Bytes(bytes.into()),
            Value::Integer(number) => Cell::Integer(number),
            // As in JSON: away from 0. The cast saturates, and such a sum does not fit anyway.
            Value::Rounded(number) => Cell::Integer(number.round() as i128),
            Value::Flag(flag) => Cell::Flag(flag),
            Value::Time(time) => Cell::Time(time),
        }
    }

    /// Returns the parts of an object or list.
    pub(crate) fn parts(&self) -> Option<&[Cell]> {
        match self {
            Cell::Parts(parts) => Some(parts),
            _ => None,
        }
    }
}
