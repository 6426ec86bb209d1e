//! Numeric arguments of find: `N`, `+N` for more than N, `-N` for less.

use trawl_model::Column;
use trawl_model::filter::{Clause, Filter};

/// How a value must relate to the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// `-N`
    Less,
    /// `N`
    Equal,
    /// `+N`
    Greater,
}

/// A number and the relation to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Comparison {
    /// The relation.
    pub relation: Relation,
    /// The number.
    pub number: u64,
}

/// Splits the sign off an argument.
pub fn split_relation(text: &[u8]) -> (Relation, &[u8]) {
    match text {
        [b'+', rest @ ..] => (Relation::Greater, rest),
        [b'-', rest @ ..] => (Relation::Less, rest),
        _ => (Relation::Equal, text),
    }
}

/// Parses a decimal number as strtoumax(3) does: blanks and a plus sign may
/// precede it, nothing may follow. Returns `None` if it is invalid or too
/// large.
pub fn parse_number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text.trim_ascii_start()).ok()?;
    // `u64::from_str` accepts the plus sign.
    text.parse().ok()
}

impl Comparison {
    /// Parses `N`, `+N` or `-N`.
    pub fn parse(text: &[u8]) -> Option<Comparison> {
        let (relation, rest) = split_relation(text);
        let number = parse_number(rest)?;
        Some(Comparison { relation, number })
    }

    /// Returns whether `value` has the relation to the number.
    pub fn holds(&self, value: u64) -> bool {
        match self.relation {
            Relation::Less => value < self.number,
            Relation::Equal => value == self.number,
            Relation::Greater => value > self.number,
        }
    }

    /// A condition that every row fulfils whose `column` has the relation to
    /// the number.
    pub fn filter(&self, column: Column) -> Filter {
        let number = i128::from(self.number);
        let (low, high) = match self.relation {
            Relation::Less => (0, number - 1),
            Relation::Equal => (number, number),
            Relation::Greater => (number + 1, i128::from(u64::MAX)),
        };
        between(column, low, high)
    }
}

/// A filter of one clause: `column` lies from `low` to `high`, inclusive.
pub fn between(column: Column, low: i128, high: i128) -> Filter {
    Filter {
        clauses: vec![Clause { column, low, high }],
        ..Filter::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_find_reads_them() {
        for (text, expected) in [
            ("5", Some((Relation::Equal, 5))),
            ("+5", Some((Relation::Greater, 5))),
            ("-5", Some((Relation::Less, 5))),
            (" 5", Some((Relation::Equal, 5))),
            ("+-5", None),
            ("5x", None),
            ("", None),
            ("+", None),
            ("99999999999999999999", None),
        ] {
            let read = Comparison::parse(text.as_bytes()).map(|c| (c.relation, c.number));
            assert_eq!(read, expected, "{text:?}");
        }
    }

    #[test]
    fn filters_admit_what_holds() {
        for relation in [Relation::Less, Relation::Equal, Relation::Greater] {
            for number in [0, 1, 7, u64::MAX] {
                let comparison = Comparison { relation, number };
                let filter = comparison.filter(Column::Nlink);
                for value in [0, 1, 2, 6, 7, 8, u64::MAX - 1, u64::MAX] {
                    let admitted = filter.clauses[0].admits(i128::from(value));
                    assert_eq!(admitted, comparison.holds(value), "{comparison:?} {value}");
                }
            }
        }
    }
}
