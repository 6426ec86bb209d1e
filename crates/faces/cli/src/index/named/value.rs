//! Values of attributes as users write and read them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use trawl_answers::named::Span;
use trawl_indices::{Definition, Kind};
use trawl_keywords::ValueTest;
use trawl_model::Timestamp;
use trawl_model::column::Column;
use trawl_session::now;
use trawl_text::date;
use trawl_text::time_style::full_iso;
use trawl_text::zone::Zone;

use crate::duplicates::size;

/// Separates the ends of a range.
const TO: &str = "..";

/// Ends of the values of one attribute, inclusive.
pub(super) type Range = (i128, i128);

/// Parses ranges, separated by commas, of the first of these attributes.
pub(super) fn ranges(text: &str, columns: &[Column]) -> Result<Vec<Range>, String> {
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > columns.len() {
        let count = columns.len();
        return Err(format!("`{text}`: the index has {count} attributes"));
    }
    let pairs = parts.iter().zip(columns);
    pairs.map(|(part, column)| range(part, *column)).collect()
}

/// Returns what is wanted of an index over an extended attribute. One that is hashed has single values.
pub(super) fn span(text: Option<&OsStr>, of: &Definition) -> Span {
    let Some(text) = text.map(OsStr::as_bytes) else {
        return Span::default();
    };
    let end = |text: &[u8]| (!text.is_empty()).then(|| text.to_vec());
    let to = TO.as_bytes();
    let at = text.windows(to.len()).position(|two| two == to);
    match at.filter(|_| of.has_order()) {
        Some(at) => Span {
            low: end(&text[..at]),
            high: end(&text[at + to.len()..]),
        },
        None => Span {
            low: Some(text.to_vec()),
            high: Some(text.to_vec()),
        },
    }
}

/// Parses what is wanted of an index over an attribute of contents.
pub(super) fn test(text: Option<&str>, of: &Definition) -> Result<ValueTest, String> {
    let name = of.content().unwrap_or_default();
    let Some(text) = text else {
        return Ok(ValueTest::all(name));
    };
    if text.trim().is_empty() {
        return Err("the value is empty: leave it out to see all".into());
    }
    match of.kind() {
        Kind::Ordered => Ok(ValueTest::range(name, text)),
        Kind::Hashed if text.contains(TO) => {
            let name = of.name();
            Err(format!(
                "`{text}`: the index {name} is hashed, and so has single values only"
            ))
        }
        Kind::Hashed => Ok(ValueTest::value(name, text)),
        Kind::Inverted => Ok(ValueTest::word(name, text)),
        Kind::Graph => Err(format!(
            "the index {} is a graph, which has files",
            of.name()
        )),
    }
}

fn range(text: &str, column: Column) -> Result<Range, String> {
    let Some((low, high)) = text.split_once(TO) else {
        return value(text, column);
    };
    let end = |text: &str, open: i128, at: fn(Range) -> i128| match text {
        "" => Ok(open),
        text => value(text, column).map(at),
    };
    Ok((
        end(low, i128::MIN, |(first, _)| first)?,
        end(high, i128::MAX, |(_, last)| last)?,
    ))
}

/// Parses one value; a day is all of its seconds.
fn value(text: &str, column: Column) -> Result<Range, String> {
    let single = |value: i128| (value, value);
    match column {
        Column::Mtime | Column::Atime | Column::Ctime => time(text),
        Column::Mode => u32::from_str_radix(text, 8)
            .map(|mode| single(mode.into()))
            .map_err(|_| format!("`{text}` is no mode: use octal digits, such as 100644")),
        Column::Size => size(text)
            .map(|bytes| single(bytes.into()))
            .map_err(|why| format!("`{text}` is no size: {why}")),
        _ => (text.parse::<u64>())
            .map(|number| single(number.into()))
            .map_err(|_| format!("`{text}` is no number")),
    }
}

fn time(text: &str) -> Result<Range, String> {
    let seconds = text.strip_prefix('@').and_then(|text| text.parse().ok());
    if let Some(seconds) = seconds {
        let seconds: i64 = seconds;
        return Ok((seconds.into(), seconds.into()));
    }
    let parsed = date::parse(text.as_bytes(), now(), &Zone::local());
    let first = parsed.ok_or_else(|| {
        format!("`{text}` is no time: use a date as date(1) reads it, or @ and seconds since 1970")
    })?;
    let is_day = !text.contains([':', ' ']) && text.starts_with(|c: char| c.is_ascii_digit());
    let last = match is_day {
        true => first.secs.saturating_add(24 * 60 * 60 - 1),
        false => first.secs,
    };
    Ok((first.secs.into(), last.into()))
}

/// Returns a value as text for people.
pub(super) fn shown(value: i128, column: Column) -> String {
    match column {
        Column::Mtime | Column::Atime | Column::Ctime => {
            let secs = i64::try_from(value).unwrap_or_default();
            let mut text = String::new();
            full_iso(&mut text, Timestamp { secs, nanos: 0 }, &Zone::local());
            // Values are whole seconds.
            match text.split_once('.') {
                Some((text, _)) => text.to_owned(),
                None => text,
            }
        }
        Column::Mode => format!("{value:o}"),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        let read = |text| ranges(text, &[Column::Size, Column::Uid]);
        assert_eq!(read("5"), Ok(vec![(5, 5)]));
        assert_eq!(read("1K..2M"), Ok(vec![(1024, 2 << 20)]));
        assert_eq!(read("..3,7"), Ok(vec![(i128::MIN, 3), (7, 7)]));
        assert_eq!(read("3..,..7"), Ok(vec![(3, i128::MAX), (i128::MIN, 7)]));
        assert!(read("a").is_err() && read("1,2,3").is_err() && read("").is_err());
        assert_eq!(
            ranges("100644", &[Column::Mode]),
            Ok(vec![(0o100644, 0o100644)])
        );
        assert_eq!(ranges("@5..@9", &[Column::Mtime]), Ok(vec![(5, 9)]));
    }

    #[test]
    fn values_of_extended_attributes_are_bytes() {
        let of = |kind, text: &str| {
            let index = Definition::new("a", kind, &["xattr:user.a"]).unwrap();
            let found = span(Some(OsStr::new(text)), &index);
            let ends = [found.low, found.high].map(|end| String::from_utf8(end?).ok());
            ends.map(Option::unwrap_or_default)
        };
        assert_eq!(of(Kind::Ordered, "a..b"), ["a", "b"]);
        assert_eq!(of(Kind::Ordered, "a.."), ["a", ""]);
        assert_eq!(of(Kind::Ordered, "..b"), ["", "b"]);
        assert_eq!(of(Kind::Ordered, "a.b"), ["a.b", "a.b"]);
        assert_eq!(of(Kind::Hashed, "a..b"), ["a..b", "a..b"]);
        let empty = Definition::new("a", Kind::Hashed, &["xattr:user.a"]).unwrap();
        let none = span(Some(OsStr::new("")), &empty);
        assert_eq!((none.low, none.high), (Some(vec![]), Some(vec![])));
        assert_eq!(span(None, &empty), Span::default());
    }

    #[test]
    fn a_day_is_all_of_it() {
        let (first, last) = ranges("2024-05-01", &[Column::Mtime]).unwrap()[0];
        assert_eq!(last - first, 86_399);
        let (first, last) = ranges("2024-05-01 12:30", &[Column::Mtime]).unwrap()[0];
        assert_eq!(first, last);
    }
}
