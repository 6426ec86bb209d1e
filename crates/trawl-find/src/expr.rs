//! The expression: leaves joined by and, or, not and comma.

use trawl_model::ColumnSet;
use trawl_model::filter::Filter;
use trawl_model::rows::Row;

use crate::context::Context;
use crate::leaf::{Effect, Leaf};
use crate::predicate::{Cost, Predicate};

/// A leaf and the predicate that it came from.
#[derive(Debug)]
pub struct Node {
    /// Its row in the registry.
    pub predicate: &'static Predicate,
    /// What is run.
    pub leaf: Box<dyn Leaf>,
}

/// An expression, evaluated from left to right and only as far as needed.
#[derive(Debug)]
pub enum Expr {
    /// A test or an action.
    Leaf(Node),
    /// True if its part is false.
    Not(Box<Expr>),
    /// True if all parts are.
    And(Vec<Expr>),
    /// True if a part is.
    Or(Vec<Expr>),
    /// Evaluates all parts; the last one's value counts.
    Comma(Vec<Expr>),
}

impl Expr {
    /// Whether the expression is true of the row. Its actions are carried
    /// out in the context; after `-quit` nothing more is evaluated.
    pub fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        match self {
            Expr::Leaf(node) => node.leaf.eval(row, cx),
            Expr::Not(inner) => !inner.eval(row, cx),
            Expr::And(parts) => parts.iter().all(|part| part.eval(row, cx) && !cx.quit),
            Expr::Or(parts) => parts.iter().any(|part| part.eval(row, cx) || cx.quit),
            Expr::Comma(parts) => {
                let mut value = false;
                for part in parts {
                    value = part.eval(row, cx);
                    if cx.quit {
                        return false;
                    }
                }
                value
            }
        }
    }

    /// Visits every leaf.
    pub fn leaves<'e>(&'e self, visit: &mut dyn FnMut(&'e Node)) {
        match self {
            Expr::Leaf(node) => visit(node),
            Expr::Not(inner) => inner.leaves(visit),
            Expr::And(parts) | Expr::Or(parts) | Expr::Comma(parts) => {
                parts.iter().for_each(|part| part.leaves(visit));
            }
        }
    }

    /// The columns that some leaf reads.
    pub fn columns(&self) -> ColumnSet {
        let mut columns = ColumnSet::EMPTY;
        self.leaves(&mut |node| {
            columns = columns
                .union(node.predicate.columns)
                .union(node.leaf.columns());
        });
        columns
    }

    /// True if some leaf has this effect.
    pub fn has(&self, effect: Effect) -> bool {
        let mut found = false;
        self.leaves(&mut |node| found |= node.leaf.effect() == effect);
        found
    }

    /// True if some leaf asks whether directories are empty.
    pub fn needs_empty_directories(&self) -> bool {
        let mut found = false;
        self.leaves(&mut |node| found |= node.leaf.needs_empty_directories());
        found
    }

    /// What rows fulfil of which the expression is true.
    fn filter_if_true(&self) -> Filter {
        match self {
            Expr::Leaf(node) => node.leaf.filter(),
            Expr::Not(_) => Filter::default(),
            Expr::And(parts) => parts
                .iter()
                .fold(Filter::default(), |f, part| f.and(&part.filter_if_true())),
            Expr::Or(parts) => {
                let filters = parts.iter().map(Expr::filter_if_true);
                filters.reduce(|a, b| a.or(&b)).unwrap_or_default()
            }
            Expr::Comma(parts) => parts.last().map(Expr::filter_if_true).unwrap_or_default(),
        }
    }

    /// What rows fulfil on which one of `effects` may happen; `None` if none
    /// ever does. Rows that do not fulfil it need not be read.
    pub fn filter_for(&self, effects: &[Effect]) -> Option<Filter> {
        match self {
            Expr::Leaf(node) => effects.contains(&node.leaf.effect()).then(Filter::default),
            Expr::Not(inner) => inner.filter_for(effects),
            Expr::And(parts) => {
                // A part is reached only where those before it were true.
                let mut reached = Filter::default();
                let mut found: Option<Filter> = None;
                for part in parts {
                    if let Some(filter) = part.filter_for(effects) {
                        let here = reached.clone().and(&filter);
                        found = Some(found.map_or(here.clone(), |f| f.or(&here)));
                    }
                    reached = reached.and(&part.filter_if_true());
                }
                found
            }
            Expr::Or(parts) | Expr::Comma(parts) => {
                let filters = parts.iter().filter_map(|part| part.filter_for(effects));
                filters.reduce(|a, b| a.or(&b))
            }
        }
    }

    /// The most that evaluating it costs, if it is only true or false;
    /// `None` if it does something.
    fn pure_cost(&self) -> Option<Cost> {
        let mut cost = Some(Cost::Free);
        self.leaves(&mut |node| {
            cost = match node.leaf.effect() {
                Effect::None => cost.map(|c| c.max(node.predicate.cost)),
                _ => None,
            };
        });
        cost
    }

    /// The same expression with cheap tests before dear ones. Nothing moves
    /// across a part that does something, so what happens is the same.
    #[must_use]
    pub fn optimized(self) -> Expr {
        let each = |parts: Vec<Expr>| parts.into_iter().map(Expr::optimized).collect();
        match self {
            Expr::Leaf(node) => Expr::Leaf(node),
            Expr::Not(inner) => Expr::Not(Box::new(inner.optimized())),
            Expr::And(parts) => Expr::And(cheap_first(each(parts))),
            Expr::Or(parts) => Expr::Or(cheap_first(each(parts))),
            Expr::Comma(parts) => Expr::Comma(each(parts)),
        }
    }
}

/// Sorts each run of pure parts by cost, keeping the order of equals.
fn cheap_first(mut parts: Vec<Expr>) -> Vec<Expr> {
    let runs = parts.chunk_by_mut(|a, b| a.pure_cost().is_some() && b.pure_cost().is_some());
    for run in runs {
        run.sort_by_key(Expr::pure_cost);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{expression, filter_of};
    use trawl_model::Column;

    #[test]
    fn cheap_tests_come_first_and_actions_stay() {
        let order = |words: &str| {
            let mut names = Vec::new();
            expression(words)
                .optimized()
                .leaves(&mut |node| names.push(node.predicate.name));
            names.join(" ")
        };
        assert_eq!(
            order("-regex x -name a -size 1 -print"),
            "-size -name -regex -print"
        );
        assert_eq!(order("-regex x -print -size 1"), "-regex -print -size");
        assert_eq!(
            order("-path x -o ( -regex y -links 1 ) -o -uid 3 -print"),
            "-path -links -regex -uid -print"
        );
    }

    #[test]
    fn filters_hold_where_something_happens() {
        let sizes = |words: &str| {
            let clause = |f: Filter| f.clauses.into_iter().find(|c| c.column == Column::Size);
            filter_of(words).map(|f| clause(f).map(|c| (c.low, c.high)))
        };
        assert_eq!(sizes("-size 2c -print"), Some(Some((2, 2))));
        assert_eq!(sizes("-size 2c -o -print"), Some(None));
        assert_eq!(
            sizes("-size 2c -print -o -size 5c -print"),
            Some(Some((2, 5)))
        );
        assert_eq!(sizes("! -size 2c -print"), Some(None));
        assert_eq!(sizes("-size 2c -print , -print"), Some(None));
        assert_eq!(
            sizes("-size +1c -size -4c ( -true -o -false ) -print0"),
            Some(Some((2, 3)))
        );
        assert_eq!(sizes("-size 2c -prune"), Some(Some((2, 2))));
    }
}
