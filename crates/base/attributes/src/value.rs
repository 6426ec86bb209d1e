//! Typed values, and their form on disk: a letter for the kind, and the value as text.
//!
//! | kind | form |
//! |---|---|
//! | text | `tBach`: UTF-8 without NUL |
//! | integer | `i-5`: 64 bits with a sign |
//! | real | `r0.01`: the shortest decimal that reads back the same, finite |
//! | time | `d2026-01-02T03:04:05.5Z`: UTC, as of RFC 3339, down to nanoseconds |
//! | list | `l4:tred5:tblue`: each value with its length in bytes; at least one, none a list |
//!
//! So `setfattr -n user.trawl.artist -v tBach song` sets an attribute, and getfattr(1) shows them.

use crate::text;
use crate::{LIST_MAX, TEXT_BYTES_MAX, VALUE_BYTES_MAX};

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A finite real number.
    Real(f64),
    /// Nanoseconds since 1970.
    Time(i64),
    /// Several values, none of which is a list.
    List(Vec<Value>),
}

/// The kind of a value that is no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`Value::Text`]
    Text,
    /// [`Value::Integer`]
    Integer,
    /// [`Value::Real`]
    Real,
    /// [`Value::Time`]
    Time,
}

impl Value {
    /// Returns the kind's name.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "text",
            Value::Integer(_) => "integer",
            Value::Real(_) => "real",
            Value::Time(_) => "time",
            Value::List(_) => "list",
        }
    }

    /// Returns the values of a list, or this one.
    #[must_use]
    pub fn singles(&self) -> &[Value] {
        match self {
            Value::List(values) => values,
            single => std::slice::from_ref(single),
        }
    }

    /// Returns the form on disk, or why there is none.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, String> {
        let encoded = match self {
            Value::List(values) => list(values)?,
            single => encode_single(single)?,
        };
        match encoded.len() <= VALUE_BYTES_MAX {
            true => Ok(encoded.into_bytes()),
            false => Err(format!(
                "its form has {} bytes, and at most {VALUE_BYTES_MAX} are stored",
                encoded.len()
            )),
        }
    }

    /// Reads the form on disk.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Value> {
        if bytes.len() > VALUE_BYTES_MAX {
            return None;
        }
        let encoded = std::str::from_utf8(bytes).ok()?;
        match encoded.strip_prefix('l') {
            Some(values) => decode_list(values),
            None => decode_single(encoded),
        }
    }
}

fn list(values: &[Value]) -> Result<String, String> {
    if values.is_empty() || values.len() > LIST_MAX {
        return Err(format!("a list has 1 to {LIST_MAX} values"));
    }
    let mut encoded = String::from("l");
    for value in values {
        let value = encode_single(value)?;
        encoded += &format!("{}:{value}", value.len());
    }
    Ok(encoded)
}

fn encode_single(value: &Value) -> Result<String, String> {
    match value {
        Value::Text(text) if text.len() > TEXT_BYTES_MAX => Err(format!(
            "the text has {} bytes, and at most {TEXT_BYTES_MAX} are stored",
            text.len()
        )),
        Value::Text(text) if text.contains('\0') => Err("the text has a NUL byte".into()),
        Value::Text(text) => Ok(format!("t{text}")),
        Value::Integer(number) => Ok(format!("i{number}")),
        Value::Real(number) if !number.is_finite() => Err("the number is not finite".into()),
        Value::Real(number) => Ok(format!("r{number:?}")),
        Value::Time(time_ns) => Ok(format!("d{}", text::of_time(*time_ns))),
        Value::List(_) => Err("a list contains a list".into()),
    }
}

fn decode_list(mut rest: &str) -> Option<Value> {
    let mut values = Vec::new();
    while !rest.is_empty() {
        let (length, after) = rest.split_once(':')?;
        let is_plain = length.bytes().all(|byte| byte.is_ascii_digit());
        let length: usize = length.parse().ok().filter(|_| is_plain)?;
        if values.len() == LIST_MAX {
            return None;
        }
        values.push(decode_single(after.get(..length)?)?);
        rest = after.get(length..)?;
    }
    (!values.is_empty()).then_some(Value::List(values))
}

fn decode_single(encoded: &str) -> Option<Value> {
    let kind = encoded.chars().next()?;
    let rest = encoded.get(kind.len_utf8()..)?;
    match kind {
        't' if rest.len() > TEXT_BYTES_MAX || rest.contains('\0') => None,
        't' => Some(Value::Text(rest.to_owned())),
        'i' => rest.parse().ok().map(Value::Integer),
        'r' => text::real(rest).map(Value::Real),
        'd' => text::instant(rest).map(Value::Time),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn single() -> impl Strategy<Value = Value> {
        prop_oneof![
            "[^\0]{0,200}".prop_map(Value::Text),
            any::<i64>().prop_map(Value::Integer),
            any::<f64>()
                .prop_filter("finite", |number| number.is_finite())
                .prop_map(Value::Real),
            any::<i64>().prop_map(Value::Time),
        ]
    }

    proptest! {
        #[test]
        fn values_read_back_the_same(value in single(), more in prop::collection::vec(single(), 1..9)) {
            for value in [value, Value::List(more)] {
                let Ok(encoded) = value.encode() else {
                    // A list may be too long.
                    prop_assert!(matches!(value, Value::List(_)));
                    continue;
                };
                let decoded = Value::decode(&encoded);
                // -0 equals 0, but is another number.
                prop_assert_eq!(format!("{:?}", &decoded), format!("{:?}", Some(&value)));
            }
        }

        #[test]
        fn any_bytes_are_a_value_or_none(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Some(value) = Value::decode(&bytes) {
                prop_assert!(value.encode().is_ok());
            }
        }

        #[test]
        fn bytes_like_values_are_a_value_or_none(text in "[tirdl0-9:.eZT-]{0,24}") {
            if let Some(value) = Value::decode(text.as_bytes()) {
                prop_assert!(value.encode().is_ok());
            }
        }
    }

    #[test]
    fn forms_are_those_of_the_table() {
        let text = |text: &str| Value::Text(text.into());
        // date -u -d 2026-01-02T03:04:05Z +%s
        let time = Value::Time(1_767_323_045_500_000_000);
        for (value, form) in [
            (text("Bach"), "tBach"),
            (text(""), "t"),
            (Value::Integer(-5), "i-5"),
            (Value::Real(0.01), "r0.01"),
            (time, "d2026-01-02T03:04:05.5Z"),
            (
                Value::List(vec![text("red"), text("blue")]),
                "l4:tred5:tblue",
            ),
        ] {
            assert_eq!(value.encode().unwrap(), form.as_bytes());
            assert_eq!(Value::decode(form.as_bytes()), Some(value));
        }
    }

    #[test]
    fn hostile_bytes_are_no_value() {
        let long = format!("t{}", "x".repeat(TEXT_BYTES_MAX + 1));
        let many = format!("l{}", "1:t".repeat(LIST_MAX + 1));
        for bytes in [
            &b""[..],
            b"x5",
            b"t\0",
            b"t\xff",
            b"i",
            b"i1.5",
            b"i9223372036854775808",
            b"rnan",
            b"rinf",
            b"r1e999",
            b"d",
            b"d2026-13-01T00:00:00Z",
            b"d9999-01-01T00:00:00Z",
            b"l",
            b"l:",
            b"l1",
            b"l9:tred",
            b"l1:t1",
            b"l+1:t",
            b"l6:l4:tred",
            b"l18446744073709551616:t",
            // The length ends within a character.
            b"l2:t\xc3\xa9",
            long.as_bytes(),
            many.as_bytes(),
        ] {
            assert_eq!(
                Value::decode(bytes),
                None,
                "{}",
                String::from_utf8_lossy(bytes)
            );
        }
    }

    #[test]
    fn values_that_no_search_could_compare_are_refused() {
        let text = |length| Value::Text("x".repeat(length));
        for value in [
            text(TEXT_BYTES_MAX + 1),
            Value::Text("a\0b".into()),
            Value::Real(f64::NAN),
            Value::Real(f64::INFINITY),
            Value::List(Vec::new()),
            Value::List(vec![Value::List(vec![text(1)])]),
            Value::List(vec![text(1); LIST_MAX + 1]),
            Value::List(vec![text(TEXT_BYTES_MAX); 4]),
        ] {
            assert!(value.encode().is_err(), "{value:?}");
        }
        assert!(text(TEXT_BYTES_MAX).encode().is_ok());
    }
}
