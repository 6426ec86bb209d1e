//! Values of fields.

use trawl_model::{Gid, Timestamp, Uid};
use trawl_text::json::Number;

use crate::schema::Kind;

/// A value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// The field is known to have no value.
    Null,
    /// UTF-8.
    Text(&'a str),
    /// One character of text.
    Letter(char),
    /// Any bytes.
    Bytes(&'a [u8]),
    /// A value that the caller has written in the form: JSON, or the text of a number.
    Written(&'a str),
    /// A whole number.
    Integer(i128),
    /// A number that is rounded: to the even neighbour of a half in CSV, away from 0 in JSON.
    Rounded(f64),
    /// True or false.
    Flag(bool),
    /// A moment.
    Time(Timestamp),
}

impl Value<'_> {
    /// Returns true if a field of this type may have the value.
    pub fn is_of(&self, kind: Kind) -> bool {
        match self {
            Value::Null | Value::Written(_) => true,
            Value::Text(_) | Value::Letter(_) => matches!(kind, Kind::Text),
            Value::Bytes(_) => matches!(kind, Kind::Bytes),
            Value::Integer(_) | Value::Rounded(_) => matches!(kind, Kind::Integer),
            Value::Flag(_) => matches!(kind, Kind::Flag),
            Value::Time(_) => matches!(kind, Kind::Time),
        }
    }
}

macro_rules! whole_numbers {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Value<'_> {
            fn from(value: $kind) -> Self {
                Value::Integer(value.wide())
            }
        }
    )*};
}
whole_numbers!(u8, i32, u32, u64, i64, usize, u128);

impl From<i128> for Value<'_> {
    fn from(value: i128) -> Self {
        Value::Integer(value)
    }
}

impl From<Uid> for Value<'_> {
    fn from(value: Uid) -> Self {
        Value::from(value.0)
    }
}

impl From<Gid> for Value<'_> {
    fn from(value: Gid) -> Self {
        Value::from(value.0)
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value::Flag(value)
    }
}

impl From<char> for Value<'_> {
    fn from(value: char) -> Self {
        Value::Letter(value)
    }
}

impl From<Timestamp> for Value<'_> {
    fn from(value: Timestamp) -> Self {
        Value::Time(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Text(value)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Value::Text(value)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Value::Bytes(value)
    }
}

impl<'a> From<&'a Vec<u8>> for Value<'a> {
    fn from(value: &'a Vec<u8>) -> Self {
        Value::Bytes(value)
    }
}

impl<'a, V: Into<Value<'a>>> From<Option<V>> for Value<'a> {
    fn from(value: Option<V>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}
