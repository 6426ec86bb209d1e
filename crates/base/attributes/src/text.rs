//! Values as people read and write them.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use crate::error::AttributeError;
use crate::value::{Kind, Value};

impl Value {
    /// Reads a value of a certain kind. Times are as of RFC 3339; `YYYY-MM-DD` and
    /// `YYYY-MM-DD HH:MM[:SS]` are in UTC.
    ///
    /// # Errors
    /// [`AttributeError::Value`] if the text is no value of that kind. `name` is the attribute's.
    pub fn parse(name: &str, kind: Kind, text: &str) -> Result<Value, AttributeError> {
        let (value, expected) = match kind {
            Kind::Text => (Some(Value::Text(text.into())), ""),
            Kind::Integer => (
                text.parse().ok().map(Value::Integer),
                "an integer between -2^63 and 2^63-1",
            ),
            Kind::Real => (real(text).map(Value::Real), "a finite number such as 0.01"),
            Kind::Time => (
                instant(text).map(Value::Time),
                "a time such as 2026-01-02T03:04:05Z, between 1678 and 2262",
            ),
        };
        value.ok_or_else(|| AttributeError::Value {
            name: name.into(),
            why: format!("`{}' is not {expected}", text.escape_debug()),
        })
    }

    /// Reads a value of the kind that it looks like: an integer, a number with a point or an
    /// exponent, a date or time, or else text.
    #[must_use]
    pub fn of_text(text: &str) -> Value {
        let is_plain = text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
            && text.ends_with(|c: char| c.is_ascii_digit() || c == 'Z');
        // 007 and 1e5x are names and numbers of something, which must not change.
        let number = text.parse().ok().map(Value::Integer);
        let number = number.filter(|number| number.to_string() == text);
        let real = || {
            real(text)
                .filter(|_| text.contains(['.', 'e', 'E']))
                .map(Value::Real)
        };
        let found = is_plain
            .then(|| {
                number
                    .or_else(real)
                    .or_else(|| instant(text).map(Value::Time))
            })
            .flatten();
        found.unwrap_or_else(|| Value::Text(text.into()))
    }
}

impl fmt::Display for Value {
    /// Writes the value as [`Value::parse`] reads it; those of a list with `, ` between them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Real(number) => write!(f, "{number:?}"),
            Value::Time(time_ns) => f.write_str(&of_time(*time_ns)),
            Value::List(values) => {
                for (at, value) in values.iter().enumerate() {
                    let separator = if at == 0 { "" } else { ", " };
                    write!(f, "{separator}{value}")?;
                }
                Ok(())
            }
        }
    }
}

/// Reads a finite number.
pub(crate) fn real(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Formats nanoseconds since 1970 as of RFC 3339, without zeros at the end of the fraction.
pub(crate) fn of_time(time_ns: i64) -> String {
    match Timestamp::from_nanosecond(time_ns.into()) {
        Ok(time) => time.to_string(),
        // Cannot happen: jiff's years reach from -9999 to 9999.
        Err(_) => time_ns.to_string(),
    }
}

/// Reads a time as nanoseconds since 1970.
pub(crate) fn instant(text: &str) -> Option<i64> {
    let time = match text.parse::<Timestamp>() {
        Ok(time) => time,
        Err(_) => civil(text)?.to_zoned(TimeZone::UTC).ok()?.timestamp(),
    };
    i64::try_from(time.as_nanosecond()).ok()
}

/// Reads a date or a time without a zone.
fn civil(text: &str) -> Option<DateTime> {
    let is_date = text.len() == "YYYY-MM-DD".len();
    match is_date {
        true => text.parse::<Date>().ok().map(DateTime::from),
        false => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_what_the_text_looks_like() {
        for (text, kind) in [
            ("5", "integer"),
            ("-5", "integer"),
            ("007", "text"),
            ("+5", "text"),
            ("9223372036854775808", "text"),
            ("0.01", "real"),
            ("1e-3", "real"),
            ("1e", "text"),
            ("1e999", "text"),
            ("inf", "text"),
            ("NaN", "text"),
            ("2026-01-02", "time"),
            ("2026-01-02 03:04", "time"),
            ("2026-01-02T03:04:05Z", "time"),
            ("2026-13-02", "text"),
            ("1.2.3", "text"),
            ("", "text"),
            ("Bach", "text"),
            ("-", "text"),
        ] {
            assert_eq!(Value::of_text(text).kind(), kind, "{text}");
        }
    }

    #[test]
    fn times_are_utc_unless_they_say_otherwise() {
        // date -u -d TEXT +%s
        for (text, secs) in [
            ("2026-01-02", 1_767_312_000),
            ("2026-01-02 03:04", 1_767_323_040),
            ("2026-01-02T03:04:05", 1_767_323_045),
            ("2026-01-02T03:04:05Z", 1_767_323_045),
            ("2026-01-02T03:04:05+02:00", 1_767_315_845),
            ("1969-12-31T23:59:59Z", -1),
        ] {
            let value = Value::parse("n", Kind::Time, text).unwrap();
            assert_eq!(value, Value::Time(secs * 1_000_000_000), "{text}");
        }
        for text in ["", "tomorrow", "2026-02-30", "0001-01-01"] {
            let error = Value::parse("n", Kind::Time, text).unwrap_err();
            assert!(error.to_string().contains("is not a time"), "{error}");
        }
    }

    #[test]
    fn what_is_shown_is_read_again() {
        for value in [
            Value::Integer(i64::MIN),
            Value::Real(1e300),
            Value::Real(-0.1),
            Value::Time(-1),
        ] {
            assert_eq!(Value::of_text(&value.to_string()), value);
        }
    }
}
