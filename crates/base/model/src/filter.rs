//! Necessary conditions on columns, which let a reader skip data.
//!
//! A [`Filter`] never decides whether a row matches. It states conditions that
//! every matching row fulfils, so that a reader may skip pages and rows that
//! cannot match. Rows that pass still have to be tested by the query itself.

use std::sync::Arc;

use crate::column::Column;
use crate::need::Need;
use crate::regions::Regions;

/// A condition on one column: a closed interval that contains the value of
/// every matching row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clause {
    /// A numeric column (not text or bytes).
    pub column: Column,
    /// Smallest possible value, inclusive.
    pub low: i128,
    /// Largest possible value, inclusive.
    pub high: i128,
}

impl Clause {
    /// Returns the condition that only rows of directories fulfil.
    pub const fn directories() -> Clause {
        Clause {
            column: Column::Mode,
            low: 0o040_000,
            high: 0o047_777,
        }
    }

    /// Returns true if some value in `min..=max` fulfils the clause.
    pub const fn overlaps(&self, min: i128, max: i128) -> bool {
        self.low <= max && min <= self.high
    }

    /// Returns the part of `least..=most` that fulfils the clause; `None` if it
    /// is empty.
    pub fn within(&self, least: i128, most: i128) -> Option<(i128, i128)> {
        let (low, high) = (self.low.max(least), self.high.min(most));
        (low <= high).then_some((low, high))
    }

    /// Returns true if `value` fulfils the clause.
    pub const fn admits(&self, value: i128) -> bool {
        self.low <= value && value <= self.high
    }
}

/// A conjunction of clauses, a need and directories. Without any, every row may match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Clauses that must all hold. No column occurs twice.
    pub clauses: Vec<Clause>,
    /// Literals that the path must contain.
    pub need: Need,
    /// Directories, as stored, that contain every matching row; `None` if nothing is known.
    pub dirs: Option<Arc<Regions>>,
}

impl Filter {
    /// Returns a filter with this need and no clauses.
    pub fn of_need(need: Need) -> Filter {
        Filter {
            need,
            ..Filter::default()
        }
    }

    /// Adds a clause that rows must also fulfil.
    pub fn add(&mut self, clause: Clause) {
        match self.clauses.iter_mut().find(|c| c.column == clause.column) {
            Some(known) => {
                known.low = known.low.max(clause.low);
                known.high = known.high.min(clause.high);
            }
            None => self.clauses.push(clause),
        }
    }

    /// Returns the filter that rows must pass if they fulfil both filters.
    #[must_use]
    pub fn and(mut self, other: &Filter) -> Filter {
        for clause in &other.clauses {
            self.add(*clause);
        }
        self.need = self.need.and(other.need.clone());
        // Either says enough.
        self.dirs = self.dirs.or_else(|| other.dirs.clone());
        self
    }

    /// Returns the filter that rows must pass if they fulfil at least one of
    /// both filters: for each column that both constrain, the smallest interval
    /// that covers both clauses.
    #[must_use]
    pub fn or(&self, other: &Filter) -> Filter {
        let widened = self.clauses.iter().filter_map(|a| {
            let b = other.clauses.iter().find(|b| b.column == a.column)?;
            Some(Clause {
                column: a.column,
                low: a.low.min(b.low),
                high: a.high.max(b.high),
            })
        });
        Filter {
            clauses: widened.collect(),
            need: self.need.clone().or(other.need.clone()),
            dirs: self
                .dirs
                .as_ref()
                .zip(other.dirs.as_ref())
                .map(|(one, two)| {
                    let mut both = Regions::clone(one);
                    both.add_all(two);
                    Arc::new(both)
                }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_filter() -> impl Strategy<Value = Filter> {
        proptest::collection::vec((0usize..2, -5i128..5, 0i128..6), 0..4).prop_map(|list| {
            let mut filter = Filter::default();
            for (which, low, width) in list {
                let column = [Column::Size, Column::Mtime][which];
                filter.add(Clause {
                    column,
                    low,
                    high: low + width,
                });
            }
            filter
        })
    }

    fn admits(filter: &Filter, size: i128, mtime: i128) -> bool {
        filter.clauses.iter().all(|c| {
            c.admits(if c.column == Column::Size {
                size
            } else {
                mtime
            })
        })
    }

    proptest! {
        #[test]
        fn combining_never_loses_a_row(a in any_filter(), b in any_filter(), size in -9i128..12, mtime in -9i128..12) {
            let (in_a, in_b) = (admits(&a, size, mtime), admits(&b, size, mtime));
            prop_assert_eq!(admits(&a.clone().and(&b), size, mtime), in_a && in_b);
            prop_assert!(admits(&a.or(&b), size, mtime) || !(in_a || in_b));
        }
    }
}
