//! The values of one attribute, in their order: what named indices over contents show.
//!
//! Values come from the terms of packs and from those of documents that were just read, so both are
//! the same values in the same order: times, numbers, texts. Texts are in lower case.

use std::fmt;
use std::ops::Range;

use crate::attribute::{self, AttributeTest, terms_of};
use crate::document::{Document, Value};
use crate::words::words_of;

/// Separates the ends of a range.
const TO: &str = "..";

/// A value of an attribute, as packs know it. The order is that of values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttributeValue {
    /// The term behind the name: a letter for the kind, and the value.
    term: Vec<u8>,
}

impl AttributeValue {
    /// Returns the value; `None` if the bytes are not those of a value.
    fn value(&self) -> Option<Value> {
        attribute::value_of(&self.term)
    }
}

impl fmt::Display for AttributeValue {
    /// Writes the value as `trawl attr` does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value() {
            Some(value) => value.fmt(f),
            None => Ok(()),
        }
    }
}

/// Which values of an attribute are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueTest {
    /// The name in lower case, and a NUL.
    begin: Vec<u8>,
    /// Where the terms lie.
    ranges: Vec<Range<Vec<u8>>>,
    /// What they must have besides.
    wording: Option<Wording>,
}

/// A value, or words of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wording {
    /// A text passes if it has these words, one after the other.
    words: Vec<String>,
    /// Any value passes whose term is in one of these ranges.
    whole: Vec<Range<Vec<u8>>>,
}

impl ValueTest {
    /// Returns the test that every value of the attribute passes.
    pub fn all(name: &str) -> ValueTest {
        ValueTest {
            begin: attribute::begin_of(name),
            ranges: AttributeTest::exists(name).wanted().to_vec(),
            wording: None,
        }
    }

    /// Returns the test for one value, as that of `-attr NAME=VALUE`.
    pub fn value(name: &str, value: &str) -> ValueTest {
        ValueTest {
            ranges: attribute::equal(name, value),
            ..ValueTest::all(name)
        }
    }

    /// Returns the test for a value, or for `MIN..MAX`, where a missing end is open. As for `-attr`,
    /// numbers and times are compared with their kind only.
    pub fn range(name: &str, text: &str) -> ValueTest {
        let Some((low, high)) = text.split_once(TO) else {
            return ValueTest::value(name, text);
        };
        let mut ranges = ValueTest::all(name).ranges;
        if !low.trim().is_empty() {
            ranges = both(&ranges, &attribute::at_least(name, low));
        }
        if !high.trim().is_empty() {
            ranges = both(&ranges, &attribute::at_most(name, high));
        }
        ValueTest {
            ranges,
            ..ValueTest::all(name)
        }
    }

    /// Returns the test for one value, or for texts that have these words, one after the other.
    pub fn word(name: &str, text: &str) -> ValueTest {
        ValueTest {
            wording: Some(Wording {
                words: words_of(text),
                whole: attribute::equal(name, text),
            }),
            ..ValueTest::all(name)
        }
    }

    /// Returns where the terms of values that pass lie, perhaps with others.
    pub(crate) fn ranges(&self) -> &[Range<Vec<u8>>] {
        &self.ranges
    }

    /// Returns the value of a term within the ranges; `None` if it does not pass.
    pub(crate) fn pass(&self, term: &[u8]) -> Option<AttributeValue> {
        let rest = term.strip_prefix(&self.begin[..])?;
        let value = AttributeValue {
            term: rest.to_vec(),
        };
        let Some(Wording { words, whole }) = &self.wording else {
            return Some(value);
        };
        if whole.iter().any(|range| is_in(range, term)) {
            return Some(value);
        }
        let Some(Value::Text(text)) = value.value() else {
            return None;
        };
        let has = words_of(&text);
        let found = !words.is_empty() && has.windows(words.len()).any(|some| some == words);
        found.then_some(value)
    }

    /// Returns the values of a document that pass, each once, in order.
    pub fn of_document(&self, document: &Document) -> Vec<AttributeValue> {
        let terms = terms_of(document).into_iter();
        let within = terms.filter(|term| self.ranges.iter().any(|range| is_in(range, term)));
        let mut values: Vec<_> = within.filter_map(|term| self.pass(&term)).collect();
        values.sort_unstable();
        values.dedup();
        values
    }
}

fn is_in(range: &Range<Vec<u8>>, term: &[u8]) -> bool {
    *range.start <= *term && *term < *range.end
}

/// Returns what lies in both.
fn both(one: &[Range<Vec<u8>>], other: &[Range<Vec<u8>>]) -> Vec<Range<Vec<u8>>> {
    let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
    let parts = pairs.map(|(a, b)| {
        let start = (&a.start).max(&b.start);
        let end = (&a.end).min(&b.end);
        start.clone()..end.clone()
    });
    parts.filter(|range| range.start < range.end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn document(values: Vec<Value>) -> Document {
        Document {
            attributes: vec![("Name".into(), Value::List(values)), other()],
            ..Document::default()
        }
    }

    fn other() -> (String, Value) {
        ("names".into(), Value::Integer(7))
    }

    fn shown(test: &ValueTest, values: &[Value]) -> Vec<String> {
        let found = test.of_document(&document(values.to_vec()));
        found.iter().map(AttributeValue::to_string).collect()
    }

    #[test]
    fn values_have_their_order_and_are_shown() {
        let text = |text: &str| Value::Text(text.into());
        let values = [
            text("Bach"),
            Value::Integer(10),
            Value::Real(0.5),
            Value::Integer(-3),
            Value::Integer(i64::MAX),
            Value::Time(1_709_210_096_500_000_000),
            text("adagio"),
            Value::Integer(10),
        ];
        let all = [
            "2024-02-29T12:34:56.5Z",
            "-3",
            "0.5",
            "10",
            "9223372036854775807",
            "adagio",
            "bach",
        ];
        assert_eq!(shown(&ValueTest::all("name"), &values), all);
        for (range, expected) in [
            ("0..10", &all[2..4]),
            ("0..", &all[2..5]),
            ("..0", &all[1..2]),
            ("10..0", &[]),
            ("10", &all[3..4]),
            ("a..b", &all[5..6]),
            ("b..", &all[6..]),
            ("2024-02-29..", &all[..1]),
            ("..2024-02-28", &[]),
            ("..", &all),
        ] {
            let test = ValueTest::range("NAME", range);
            assert_eq!(shown(&test, &values), expected, "{range}");
        }
        assert!(shown(&ValueTest::all("nam"), &values).is_empty());
    }

    #[test]
    fn words_of_texts_and_values_of_lists_are_found() {
        let values = [
            Value::Text("The Goldberg Variations".into()),
            Value::Text("red".into()),
            Value::Integer(5),
        ];
        for (word, expected) in [
            ("goldberg", &["the goldberg variations"][..]),
            ("Goldberg-Variations", &["the goldberg variations"]),
            ("variations goldberg", &[]),
            ("gold", &[]),
            ("RED", &["red"]),
            ("5", &["5"]),
            ("", &[]),
            ("--", &[]),
        ] {
            assert_eq!(shown(&ValueTest::word("name", word), &values), expected);
        }
    }

    proptest! {
        /// The oracle is the test of `-attr`, which has tests of its own.
        #[test]
        fn a_range_is_two_conditions(
            numbers in proptest::collection::vec(-5i64..5, 0..6), low in -6i64..6, high in -6i64..6
        ) {
            let values: Vec<Value> = numbers.iter().map(|one| Value::Integer(*one)).collect();
            let test = ValueTest::range("name", &format!("{low}..{high}"));
            let mut naive: Vec<i64> = numbers;
            naive.retain(|one| low <= *one && *one <= high);
            naive.sort_unstable();
            naive.dedup();
            let naive: Vec<String> = naive.iter().map(i64::to_string).collect();
            prop_assert_eq!(shown(&test, &values), naive);
        }

        #[test]
        fn numbers_are_shown_as_they_were(number in any::<i64>(), real in any::<f64>()) {
            let test = ValueTest::all("name");
            prop_assert_eq!(shown(&test, &[Value::Integer(number)]), [number.to_string()]);
            if real.is_finite() {
                let shown = shown(&test, &[Value::Real(real)]);
                prop_assert_eq!(shown[0].parse::<f64>().unwrap(), real + 0.0);
            }
        }

        #[test]
        fn any_term_does_no_harm(term in proptest::collection::vec(any::<u8>(), 0..30)) {
            let test = ValueTest::word("name", "a");
            let whole = [&attribute::begin_of("name")[..], &term].concat();
            for bytes in [&term, &whole] {
                if let Some(value) = test.pass(bytes) {
                    let _ = value.to_string();
                }
            }
            let _ = ValueTest::all("name").pass(&whole).map(|value| value.to_string());
        }
    }
}
