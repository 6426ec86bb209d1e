//! Conditions on attributes, and the terms that attributes become.
//!
//! A term is the attribute's name in lower case, a NUL, a letter for the type, and the value such
//! that the order of terms is that of values. A condition is a set of ranges of terms: packs and
//! documents that were just read are tested with the same ranges.

use std::ops::Range;

use crate::document::{Document, Single, Value};
use crate::error::{KeywordsError, Result};

/// The relation of an attribute to the value of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// The attribute exists.
    Exists,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Longer operators come first.
const RELATIONS: [(&str, Relation); 6] = [
    ("!=", Relation::NotEqual),
    ("<=", Relation::LessOrEqual),
    (">=", Relation::GreaterOrEqual),
    ("=", Relation::Equal),
    ("<", Relation::Less),
    (">", Relation::Greater),
];

const TEXT: u8 = b't';
const NUMBER: u8 = b'n';
const TIME: u8 = b'd';

/// A condition on an attribute, such as `artist=Bach`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeTest {
    name: String,
    /// Whether the condition names one value.
    is_equality: bool,
    /// A document matches if it has a term in one of these ranges,
    wanted: Vec<Range<Vec<u8>>>,
    /// and none in one of these.
    unwanted: Vec<Range<Vec<u8>>>,
}

impl AttributeTest {
    /// Parses `NAME`, or `NAME OPERATOR VALUE` with one of `= != < <= > >=`.
    ///
    /// # Errors
    /// [`KeywordsError::Condition`] with the position of the mistake.
    pub fn parse(text: &str) -> Result<AttributeTest> {
        let at = text.find(['=', '<', '>', '!']).unwrap_or(text.len());
        let (name, rest) = text.split_at(at);
        let error = |offset: usize, problem, remedy| KeywordsError::Condition {
            condition: text.into(),
            position: text.get(..offset).unwrap_or(text).chars().count() + 1,
            problem,
            remedy,
        };
        if name.trim().is_empty() {
            let remedy = "write a condition such as artist=Bach";
            return Err(error(0, "a name is missing", remedy));
        }
        if rest.is_empty() {
            return Ok(AttributeTest::new(name, Relation::Exists, ""));
        }
        let found = RELATIONS
            .iter()
            .find_map(|(word, relation)| Some((*relation, rest.strip_prefix(word)?)));
        let Some((relation, value)) = found else {
            let remedy = "write one of = != < <= > >=";
            return Err(error(at, "there is no operator", remedy));
        };
        if value.trim().is_empty() {
            let remedy = "write a value, or only the name to ask whether the attribute exists";
            return Err(error(text.len(), "a value is missing", remedy));
        }
        Ok(AttributeTest::new(name, relation, value))
    }

    fn new(name: &str, relation: Relation, value: &str) -> AttributeTest {
        let name = name.trim();
        let exists = whole(name, 0, u8::MAX);
        let wanted = match relation {
            Relation::Exists => vec![exists],
            Relation::NotEqual => {
                let unwanted = ranges(name, Relation::Equal, value.trim());
                return AttributeTest {
                    name: name.to_owned(),
                    is_equality: false,
                    wanted: vec![exists],
                    unwanted,
                };
            }
            other => ranges(name, other, value.trim()),
        };
        AttributeTest {
            name: name.to_owned(),
            is_equality: relation == Relation::Equal,
            wanted,
            unwanted: Vec::new(),
        }
    }

    /// Returns the name of the attribute, as it was written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the condition is that the attribute has one given value.
    pub fn is_equality(&self) -> bool {
        self.is_equality
    }

    /// Returns the condition that the attribute exists.
    pub fn exists(name: &str) -> AttributeTest {
        AttributeTest::new(name, Relation::Exists, "")
    }

    /// Returns whether a document matches.
    pub fn matches(&self, document: &Document) -> bool {
        let terms = terms_of(document);
        let has = |ranges: &[Range<Vec<u8>>]| {
            ranges
                .iter()
                .any(|range| terms.iter().any(|term| range.contains(term)))
        };
        has(&self.wanted) && !has(&self.unwanted)
    }

    pub(crate) fn wanted(&self) -> &[Range<Vec<u8>>] {
        &self.wanted
    }

    pub(crate) fn unwanted(&self) -> &[Range<Vec<u8>>] {
        &self.unwanted
    }

    /// Returns whether more attributes cannot make a match none.
    pub(crate) fn is_monotone(&self) -> bool {
        self.unwanted.is_empty()
    }
}

/// Returns whether two names are those of the same attribute.
pub fn is_same_name(one: &str, other: &str) -> bool {
    folded(one.trim()) == folded(other.trim())
}

/// Returns the terms of a document's attributes, without order.
pub(crate) fn terms_of(document: &Document) -> Vec<Vec<u8>> {
    let mut terms = Vec::new();
    document.each_value(&mut |name, value| {
        let (kind, value) = match value {
            Single::Text(text) => (TEXT, folded(text).into_bytes()),
            Single::Integer(number) => (NUMBER, integer_key(number).to_vec()),
            Single::Real(number) if number.is_nan() => return,
            Single::Real(number) => (NUMBER, real_key(number).to_vec()),
            Single::Time(time) => (TIME, time_key(time).to_vec()),
        };
        terms.push(term(name, kind, &value));
    });
    terms
}

/// Text without regard to case. NUL bytes separate the parts of a term.
fn folded(text: &str) -> String {
    text.to_lowercase().replace('\0', "")
}

fn term(name: &str, kind: u8, value: &[u8]) -> Vec<u8> {
    [folded(name).as_bytes(), &[0, kind], value].concat()
}

/// Returns the range of all terms with this name and a kind of these.
fn whole(name: &str, first: u8, last: u8) -> Range<Vec<u8>> {
    let end = |kind: u8| [folded(name).as_bytes(), &[0, kind]].concat();
    end(first)..end(last)
}

/// Returns how the terms of an attribute begin.
pub(crate) fn begin_of(name: &str) -> Vec<u8> {
    [folded(name.trim()).as_bytes(), &[0]].concat()
}

/// Returns the ranges of terms that equal a value.
pub(crate) fn equal(name: &str, value: &str) -> Vec<Range<Vec<u8>>> {
    ranges(name.trim(), Relation::Equal, value.trim())
}

/// Returns the ranges of terms that are a value or greater.
pub(crate) fn at_least(name: &str, value: &str) -> Vec<Range<Vec<u8>>> {
    ranges(name.trim(), Relation::GreaterOrEqual, value.trim())
}

/// Returns the ranges of terms that are a value or less.
pub(crate) fn at_most(name: &str, value: &str) -> Vec<Range<Vec<u8>>> {
    ranges(name.trim(), Relation::LessOrEqual, value.trim())
}

/// Returns the value that the bytes of a term behind the name stand for; `None` if they are not those
/// of a value.
pub(crate) fn value_of(term: &[u8]) -> Option<Value> {
    let (kind, value) = term.split_first()?;
    Some(match *kind {
        TEXT => Value::Text(std::str::from_utf8(value).ok()?.to_owned()),
        NUMBER => number_of(value.try_into().ok()?)?,
        TIME => {
            let bits = u64::from_be_bytes(value.try_into().ok()?);
            Value::Time((bits ^ 1 << 63) as i64)
        }
        _ => return None,
    })
}

/// Returns the number of a key. A real without a fraction is an integer: they are equal.
fn number_of(key: [u8; 10]) -> Option<Value> {
    let (nearest, rest) = key.split_at(8);
    let ordered = u64::from_be_bytes(nearest.try_into().ok()?);
    let bits = match ordered >> 63 {
        1 => ordered & !(1 << 63),
        _ => !ordered,
    };
    let nearest = f64::from_bits(bits);
    let rest = (u16::from_be_bytes(rest.try_into().ok()?) ^ 0x8000) as i16;
    let is_whole = nearest.fract() == 0.0;
    let whole = is_whole.then_some((nearest as i128).saturating_add(rest.into()));
    let integer = whole.and_then(|whole| i64::try_from(whole).ok());
    Some(integer.map_or(Value::Real(nearest), Value::Integer))
}

/// Returns the ranges of terms with this relation to a value, which may be several kinds of value.
/// Numbers and times are ordered as such only, not as text.
fn ranges(name: &str, relation: Relation, value: &str) -> Vec<Range<Vec<u8>>> {
    let mut kinds: Vec<(u8, Vec<u8>, Vec<u8>)> = Vec::new();
    if let Some(key) = number(value) {
        kinds.push((NUMBER, key.clone(), [&key[..], &[0]].concat()));
    }
    if let Some((first, behind)) = times(value) {
        kinds.push((TIME, time_key(first).to_vec(), time_key(behind).to_vec()));
    }
    if relation == Relation::Equal || kinds.is_empty() {
        let text = folded(value).into_bytes();
        kinds.push((TEXT, text.clone(), [&text[..], &[0]].concat()));
    }
    let of_kind = |(kind, first, behind): (u8, Vec<u8>, Vec<u8>)| {
        let all = whole(name, kind, kind + 1);
        let (first, behind) = (term(name, kind, &first), term(name, kind, &behind));
        match relation {
            Relation::Less => all.start..first,
            Relation::LessOrEqual => all.start..behind,
            Relation::Greater => behind..all.end,
            Relation::GreaterOrEqual => first..all.end,
            _ => first..behind,
        }
    };
    kinds.into_iter().map(of_kind).collect()
}

/// Returns the key of a number, whose order is that of numbers: the nearest real, and how much the
/// number is greater.
fn integer_key(number: i64) -> [u8; 10] {
    let nearest = number as f64;
    let rest = i128::from(number) - nearest as i128;
    key(nearest, rest as i16)
}

fn real_key(number: f64) -> [u8; 10] {
    key(number, 0)
}

fn key(nearest: f64, rest: i16) -> [u8; 10] {
    // -0 equals 0.
    let bits = (nearest + 0.0).to_bits();
    let ordered = match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    };
    let mut key = [0; 10];
    key[..8].copy_from_slice(&ordered.to_be_bytes());
    key[8..].copy_from_slice(&(rest as u16 ^ 0x8000).to_be_bytes());
    key
}

fn time_key(time_ns: i64) -> [u8; 8] {
    (time_ns as u64 ^ 1 << 63).to_be_bytes()
}

fn number(text: &str) -> Option<Vec<u8>> {
    if let Ok(number) = text.parse::<i64>() {
        return Some(integer_key(number).to_vec());
    }
    let is_number = text.bytes().any(|byte| byte.is_ascii_digit());
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|one| is_number && !one.is_nan())?;
    Some(real_key(number).to_vec())
}

/// Returns the nanoseconds since 1970 that `YYYY-MM-DD[ HH:MM[:SS]]`, in UTC, stands for: a day, a
/// minute or a second.
fn times(text: &str) -> Option<(i64, i64)> {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time.strip_suffix('Z').unwrap_or(time))),
        None => (text, None),
    };
    let mut parts = date.splitn(3, '-').map(digits);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let mut first = days(year, month, day)?.checked_mul(86_400)?;
    let mut length = 86_400;
    if let Some(time) = time {
        let parts: Option<Vec<i64>> = time.split(':').map(digits).collect();
        let (hour, minute, second, unit) = match parts?[..] {
            [hour, minute] => (hour, minute, 0, 60),
            [hour, minute, second] => (hour, minute, second, 1),
            _ => return None,
        };
        if hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        first = first.checked_add(hour * 3600 + minute * 60 + second)?;
        length = unit;
    }
    let behind = first.checked_add(length)?;
    Some((
        first.checked_mul(1_000_000_000)?,
        behind.checked_mul(1_000_000_000)?,
    ))
}

fn digits(text: &str) -> Option<i64> {
    let is_number = (1..=4).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Returns the number of days from 1970-01-01 to a date.
///
/// Source: <https://howardhinnant.github.io/date_algorithms.html#days_from_civil>
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Value;
    use proptest::prelude::*;

    fn holds(condition: &str, value: Value) -> bool {
        let document = Document {
            attributes: vec![("Name".into(), value)],
            ..Document::default()
        };
        AttributeTest::parse(condition).unwrap().matches(&document)
    }

    #[test]
    fn values_are_compared_by_their_kind() {
        let text = |text: &str| Value::Text(text.into());
        let list = || Value::List(vec![text("one"), Value::List(vec![Value::Integer(2)])]);
        // 2024-02-29 12:34:56 UTC: date -u -d '2024-02-29 12:34:56' +%s
        let time = || Value::Time(1_709_210_096_500_000_000);
        for (condition, value, expected) in [
            ("name", text(""), true),
            ("other", text(""), false),
            ("nam", text(""), false),
            ("NAME=bach", text("Bach"), true),
            ("name = Bach ", text("Bach"), true),
            ("name=bac", text("Bach"), false),
            ("name!=bach", text("Bach"), false),
            ("name!=x", text("Bach"), true),
            ("other!=x", text("Bach"), false),
            ("name<c", text("Bach"), true),
            ("name>c", text("Bach"), false),
            ("name<0.01", Value::Real(0.001), true),
            ("name<0.01", Value::Real(0.01), false),
            ("name<=0.01", Value::Real(0.01), true),
            ("name<0.01", text("0.001"), false),
            ("name=0.01", text("0.01"), true),
            ("name=2", Value::Real(2.0), true),
            ("name=2.0", Value::Integer(2), true),
            ("name>1e3", Value::Integer(1001), true),
            ("name=0", Value::Real(-0.0), true),
            ("name=2", list(), true),
            ("name=one", list(), true),
            ("name!=one", list(), false),
            ("name=2024-02-29", time(), true),
            ("name=2024-02-28", time(), false),
            ("name=2024-02-29T12:34", time(), true),
            ("name=2024-02-29 12:34:56", time(), true),
            ("name=2024-02-29 12:34:57", time(), false),
            ("name>2024-02-29", time(), false),
            ("name>=2024-02-29", time(), true),
            ("name>2024-02-28", time(), true),
            ("name<2024-03-01", time(), true),
            ("name<=1970-01-01", time(), false),
            ("name>1969-12-31", Value::Time(-1), false),
            ("name>=1969-12-31", Value::Time(-1), true),
            ("name", Value::Real(f64::NAN), false),
        ] {
            assert_eq!(
                holds(condition, value.clone()),
                expected,
                "{condition} {value:?}"
            );
        }
    }

    #[test]
    fn mistakes_have_a_place_and_a_remedy() {
        for (text, place) in [("", 1), ("=x", 1), ("a=", 3), ("\u{e4}!x", 2), (" <3", 1)] {
            match AttributeTest::parse(text) {
                Err(KeywordsError::Condition { position, .. }) => assert_eq!(position, place),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    proptest! {
        /// The oracle compares numbers as rationals: an integer, and a real as integer and rest.
        #[test]
        fn numbers_are_ordered_exactly(a in any::<i64>(), near in -3i64..3, b in any::<f64>()) {
            let c = a.saturating_add(near);
            prop_assert_eq!(integer_key(a).cmp(&integer_key(c)), a.cmp(&c));
            let whole = (a as f64) as i128;
            prop_assert_eq!(integer_key(a).cmp(&real_key(a as f64)), i128::from(a).cmp(&whole));
            if !b.is_nan() {
                let d = a as f64;
                prop_assert_eq!(real_key(b).cmp(&real_key(d)), b.partial_cmp(&d).unwrap());
            }
        }
    }
}
