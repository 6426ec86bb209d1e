//! The part of an index that a question is about.

use trawl_model::filter::{Clause, Filter};

use crate::definition::{Definition, Kind};
use crate::key::{limits, push_key};

/// Smallest and largest key that a row within some clauses can have. Keys are compared by their
/// first bytes: a key that begins with the largest lies within.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub(crate) low: Vec<u8>,
    pub(crate) high: Vec<u8>,
}

impl Bounds {
    /// Returns the bounds that a filter sets on the keys of an index; `None` if it says nothing
    /// that this index can use. An ordered index uses single values of its first attributes, and
    /// then a range of the next one; a hashed one needs single values of all.
    pub fn of(definition: &Definition, filter: &Filter) -> Option<Bounds> {
        let mut bounds = Bounds {
            low: Vec::new(),
            high: Vec::new(),
        };
        for column in definition.attributes() {
            let is_it = |clause: &&Clause| clause.column == *column;
            let Some(clause) = filter.clauses.iter().find(is_it) else {
                break;
            };
            let (least, most) = limits(*column);
            // Where no value can lie, the column's own pages rule everything out.
            let (low, high) = clause.within(least, most)?;
            push_key(&mut bounds.low, *column, low);
            push_key(&mut bounds.high, *column, high);
            if low != high {
                break;
            }
        }
        let whole = definition.attributes().len() * crate::key::VALUE_BYTES;
        let is_single = bounds.low == bounds.high && bounds.low.len() == whole;
        match definition.kind() {
            Kind::Ordered => (!bounds.low.is_empty()).then_some(bounds),
            // An index over something else has no columns.
            Kind::Hashed => (is_single && whole > 0).then_some(bounds),
            Kind::Inverted | Kind::Graph => None,
        }
    }

    /// Returns true if a key lies before the bounds.
    pub(crate) fn is_before(&self, key: &[u8]) -> bool {
        key < &self.low[..]
    }

    /// Returns true if a key lies behind the bounds.
    pub(crate) fn is_behind(&self, key: &[u8]) -> bool {
        let shared = key.len().min(self.high.len());
        key[..shared] > self.high[..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::Column;

    fn filter(clauses: &[(Column, i128, i128)]) -> Filter {
        let mut filter = Filter::default();
        for (column, low, high) in clauses {
            filter.add(Clause {
                column: *column,
                low: *low,
                high: *high,
            });
        }
        filter
    }

    #[test]
    fn an_ordered_index_uses_values_and_then_a_range() {
        let index = Definition::new("a", Kind::Ordered, &["uid", "size", "mtime"]).unwrap();
        let of = |clauses: &[(Column, i128, i128)]| Bounds::of(&index, &filter(clauses));
        assert_eq!(of(&[(Column::Size, 1, 1)]), None);
        let both = of(&[(Column::Uid, 5, 5), (Column::Size, 7, i128::MAX)]).unwrap();
        assert_eq!(both.low, [5u64.to_be_bytes(), 7u64.to_be_bytes()].concat());
        assert_eq!(both.high, [5u64.to_be_bytes(), [0xff; 8]].concat());
        let range = of(&[(Column::Uid, 5, 6), (Column::Size, 7, 7)]).unwrap();
        assert_eq!(range.high, 6u64.to_be_bytes());
        let in_it = [6u64.to_be_bytes(), [0xff; 8], [0xff; 8]].concat();
        assert!(!range.is_before(&in_it) && !range.is_behind(&in_it));
        assert!(range.is_behind(&7u64.to_be_bytes()));
        assert!(range.is_before(&4u64.to_be_bytes()));
        assert_eq!(of(&[(Column::Uid, 9, 8)]), None);
    }

    #[test]
    fn a_hashed_index_needs_single_values_of_all() {
        let index = Definition::new("a", Kind::Hashed, &["uid", "gid"]).unwrap();
        let of = |clauses: &[(Column, i128, i128)]| Bounds::of(&index, &filter(clauses)).is_some();
        assert!(of(&[(Column::Gid, 1, 1), (Column::Uid, 0, 0)]));
        assert!(!of(&[(Column::Uid, 0, 0)]));
        assert!(!of(&[(Column::Uid, 0, 0), (Column::Gid, 0, 1)]));
    }

    #[test]
    fn an_index_over_something_else_says_nothing_of_columns() {
        for (kind, on) in [
            (Kind::Ordered, "attr:artist"),
            (Kind::Hashed, "attr:artist"),
            (Kind::Inverted, "attr:artist"),
            (Kind::Ordered, "xattr:user.artist"),
            (Kind::Hashed, "xattr:user.artist"),
            (Kind::Graph, "relation:includes"),
        ] {
            let index = Definition::new("a", kind, &[on]).unwrap();
            assert_eq!(Bounds::of(&index, &filter(&[])), None);
            assert_eq!(Bounds::of(&index, &filter(&[(Column::Size, 1, 1)])), None);
        }
    }
}
