//! The expression: leaves joined by and, or, not and comma.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::context::{Context, Stop, Turn};
use crate::expr_order::{Level, Part};
use crate::leaf::{Effect, Facts, Leaf};
use crate::predicate::{Cost, Predicate};
use crate::predicates::constant;

/// A leaf, with the predicate that it came from.
#[derive(Debug)]
pub struct Node {
    /// Its row in the registry.
    pub predicate: &'static Predicate,
    /// The leaf itself.
    pub leaf: Box<dyn Leaf>,
    /// The leaf's effect.
    pub effect: Effect,
    /// The facts that must be known before it is evaluated.
    facts: Facts,
    /// Estimated fraction of entries that it is true of, from 0 to 1.
    likelihood: f32,
}

impl Node {
    /// Creates a node for a leaf of this predicate.
    pub fn new(predicate: &'static Predicate, leaf: Box<dyn Leaf>) -> Node {
        let columns = predicate.columns.union(leaf.columns());
        let rest = columns.minus(NAME_ONLY);
        let by_columns = if rest.is_empty() {
            Facts::Name
        } else if rest.minus(NUMBER_ONLY).is_empty() {
            Facts::Number
        } else {
            Facts::Attributes
        };
        Node {
            predicate,
            effect: leaf.effect(),
            facts: leaf.facts().unwrap_or(by_columns),
            likelihood: 1.0,
            leaf,
        }
    }

    /// Returns the node with an estimate of how often it is true.
    pub(crate) fn guessed(self, likelihood: f32) -> Node {
        Node { likelihood, ..self }
    }

    /// Estimated fraction of entries that it is true of, from 0 to 1.
    pub(crate) fn likelihood(&self) -> f32 {
        self.likelihood
    }

    /// The facts that must be known before it is evaluated.
    pub(crate) fn facts(&self) -> Facts {
        self.facts
    }

    #[inline]
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        let waits = match cx.turn {
            Turn::Mine => false,
            Turn::Any => self.effect.needs_turn(),
            Turn::Scout => !matches!(self.effect, Effect::None | Effect::Prune),
        };
        if waits {
            cx.deferred = Some(Stop {
                leaf: std::ptr::from_ref(self).addr(),
                effect: self.effect,
            });
            return false;
        }
        match cx.looked(row, self.facts) {
            Some(batch) => {
                let row = Row {
                    batch: &batch,
                    at: 0,
                    dir: row.dir,
                };
                self.leaf.eval(&row, cx)
            }
            // No test of attributes is true of an entry that cannot be looked
            // at.
            None => self.facts <= cx.known && self.leaf.eval(row, cx),
        }
    }
}

/// The columns that a directory reports without a look at the entry.
const NAME_ONLY: ColumnSet = ColumnSet::of(&[Column::Name]);
const NUMBER_ONLY: ColumnSet = ColumnSet::of(&[Column::Ino]);

/// The knowledge about an expression before all facts of the row are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Foresight {
    /// It has this value, and evaluation has no effect.
    Value(bool),
    /// The value is unknown, but evaluation has no effect.
    Open,
    /// Evaluation may have an effect.
    Acts,
}

/// An expression, evaluated from left to right and only as far as necessary.
#[derive(Debug)]
pub enum Expr {
    /// A test or an action.
    Leaf(Node),
    /// True if its part is false.
    Not(Box<Expr>),
    /// True if all parts are true.
    And(Vec<Expr>),
    /// True if one part is true.
    Or(Vec<Expr>),
    /// Evaluates all parts, and has the value of the last one.
    Comma(Vec<Expr>),
    /// Another expression, whose output the leaf holds until the search has
    /// ended.
    Sorted(Node, Box<Expr>),
}

impl Expr {
    /// Returns whether the expression is true of the row. Its actions are
    /// performed in the context. Nothing is evaluated after `-quit`.
    pub fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        match self {
            Expr::Leaf(node) => node.eval(row, cx),
            Expr::Not(inner) => !inner.eval(row, cx),
            Expr::And(parts) => parts
                .iter()
                .all(|part| part.eval(row, cx) && !cx.is_halted()),
            Expr::Or(parts) => parts
                .iter()
                .any(|part| part.eval(row, cx) || cx.is_halted()),
            Expr::Comma(parts) => {
                let mut value = false;
                for part in parts {
                    value = part.eval(row, cx);
                    if cx.is_halted() {
                        return false;
                    }
                }
                value
            }
            Expr::Sorted(node, inner) => {
                let mark = cx.out.mark();
                let value = inner.eval(row, cx);
                if !cx.is_trial {
                    node.leaf.collect(row, cx, mark);
                }
                value
            }
        }
    }

    /// The facts that must be known of an entry to evaluate every leaf.
    pub fn facts(&self) -> Facts {
        let mut facts = Facts::Name;
        self.leaves(&mut |node| facts = facts.max(node.facts));
        facts
    }

    /// Returns true if, by the `known` facts of this row, evaluation has no
    /// effect: the other facts need not be looked up.
    pub fn is_idle(&self, row: &Row<'_>, cx: &mut Context<'_>, known: Facts) -> bool {
        matches!(self.foresee(row, cx, known), Foresight::Value(_))
    }

    fn foresee(&self, row: &Row<'_>, cx: &mut Context<'_>, known: Facts) -> Foresight {
        match self {
            Expr::Leaf(node) if node.effect != Effect::None => Foresight::Acts,
            // It may report an error even if a later test is false.
            Expr::Leaf(node) if node.predicate.cost == Cost::Look => Foresight::Acts,
            Expr::Leaf(node) if node.facts > known => Foresight::Open,
            Expr::Leaf(node) => Foresight::Value(node.leaf.eval(row, cx)),
            Expr::Not(inner) => match inner.foresee(row, cx, known) {
                Foresight::Value(value) => Foresight::Value(!value),
                other => other,
            },
            Expr::And(parts) => foresee_until(parts, row, cx, known, Settles::IfFalse),
            Expr::Or(parts) => foresee_until(parts, row, cx, known, Settles::IfTrue),
            Expr::Comma(parts) => {
                let mut last = Foresight::Open;
                for part in parts {
                    last = part.foresee(row, cx, known);
                    if last == Foresight::Acts {
                        break;
                    }
                }
                last
            }
            Expr::Sorted(_, inner) => inner.foresee(row, cx, known),
        }
    }

    /// Calls `visit` for every leaf.
    pub fn leaves<'e>(&'e self, visit: &mut dyn FnMut(&'e Node)) {
        match self {
            Expr::Leaf(node) => visit(node),
            Expr::Not(inner) => inner.leaves(visit),
            Expr::Sorted(node, inner) => {
                visit(node);
                inner.leaves(visit);
            }
            Expr::And(parts) | Expr::Or(parts) | Expr::Comma(parts) => {
                parts.iter().for_each(|part| part.leaves(visit));
            }
        }
    }

    /// Returns the first leaf of this name.
    pub(crate) fn find_leaf(&mut self, name: &str) -> Option<&mut Node> {
        match self {
            Expr::Leaf(node) => (node.predicate.name == name).then_some(node),
            Expr::Not(inner) | Expr::Sorted(_, inner) => inner.find_leaf(name),
            Expr::And(parts) | Expr::Or(parts) | Expr::Comma(parts) => {
                parts.iter_mut().find_map(|part| part.find_leaf(name))
            }
        }
    }

    /// Removes the leaves of a predicate, and puts leaves that are always true
    /// in their place.
    pub(crate) fn take_leaves(&mut self, predicate: &Predicate) -> Vec<Node> {
        let mut taken = Vec::new();
        while let Some(node) = self.find_leaf(predicate.name) {
            taken.push(std::mem::replace(node, constant::node()));
        }
        taken
    }

    /// The columns that its leaves read.
    pub fn columns(&self) -> ColumnSet {
        let mut columns = ColumnSet::EMPTY;
        self.leaves(&mut |node| {
            columns = columns
                .union(node.predicate.columns)
                .union(node.leaf.columns());
        });
        columns
    }

    /// Returns true if some leaf has this effect.
    pub fn has(&self, effect: Effect) -> bool {
        let mut found = false;
        self.leaves(&mut |node| found |= node.effect == effect);
        found
    }

    /// Returns true if some leaf suppresses the default `-print`.
    pub fn acts(&self) -> bool {
        let mut found = false;
        self.leaves(&mut |node| found |= node.leaf.replaces_print());
        found
    }

    /// The byte after each path, if the expression does nothing but print the
    /// path of every row.
    pub(crate) fn path_end(&self) -> Option<u8> {
        match self {
            Expr::Leaf(node) => node.leaf.path_end(),
            Expr::And(parts) | Expr::Or(parts) | Expr::Comma(parts) => match &parts[..] {
                [only] => only.path_end(),
                _ => None,
            },
            Expr::Not(_) | Expr::Sorted(..) => None,
        }
    }

    /// Returns true if some leaf has to be evaluated in its turn.
    pub fn needs_turns(&self) -> bool {
        self.has(Effect::InOrder) || self.has(Effect::Change)
    }

    /// Returns true if some leaf may ask where a symbolic link leads.
    pub(crate) fn follows_links(&self) -> bool {
        let mut found = false;
        self.leaves(&mut |node| found |= node.leaf.follows_links());
        found
    }

    /// Returns true if some leaf tests whether directories are empty.
    pub fn needs_empty_directories(&self) -> bool {
        let mut found = false;
        self.leaves(&mut |node| found |= node.leaf.needs_empty_directories());
        found
    }

    /// A condition that every row fulfils that the expression is true of.
    pub(crate) fn filter_if_true(&self) -> Filter {
        match self {
            Expr::Leaf(node) => node.leaf.filter(),
            Expr::Not(_) => Filter::default(),
            Expr::Sorted(_, inner) => inner.filter_if_true(),
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

    /// A condition that every row fulfils for which one of `effects` may occur;
    /// `None` if none ever does. Rows that do not fulfil it need not be read.
    pub fn filter_for(&self, effects: &[Effect]) -> Option<Filter> {
        match self {
            Expr::Leaf(node) if effects.contains(&node.effect) => Some(Filter::default()),
            // Messages are visible wherever output is.
            Expr::Leaf(node) if effects.contains(&Effect::Output) => node.leaf.complains_of(),
            Expr::Leaf(_) => None,
            Expr::Not(inner) | Expr::Sorted(_, inner) => inner.filter_for(effects),
            Expr::And(parts) => {
                // A part is reached only if all parts before it were true.
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

    /// Returns an equivalent expression with cheap tests before expensive ones.
    /// Nothing moves across a part that has an effect, so all effects stay the
    /// same.
    #[must_use]
    pub fn optimized(self, level: Level) -> Expr {
        Part::of(self, level).expr
    }
}

/// The value of a part that settles the value of its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settles {
    IfTrue,
    IfFalse,
}

/// Foresees a list. A part settles the list even if an earlier part is open,
/// since that one has no effect and need not be evaluated first. A part that
/// may have an effect ends the list.
fn foresee_until(
    parts: &[Expr],
    row: &Row<'_>,
    cx: &mut Context<'_>,
    known: Facts,
    settles: Settles,
) -> Foresight {
    let settling = settles == Settles::IfTrue;
    let mut all = Foresight::Value(!settling);
    for part in parts {
        match part.foresee(row, cx, known) {
            Foresight::Value(value) if value == settling => return Foresight::Value(settling),
            Foresight::Value(_) => {}
            Foresight::Open => all = Foresight::Open,
            Foresight::Acts => return Foresight::Acts,
        }
    }
    all
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
            expression(words).leaves(&mut |node| names.push(node.predicate.name));
            names.join(" ")
        };
        assert_eq!(
            order("-regex x -name a -size 1 -print"),
            "-name -regex -size -print"
        );
        assert_eq!(order("-regex x -print -size 1"), "-regex -print -size");
        assert_eq!(
            order("-path x -o ( -regex y -links 1 ) -o -uid 3 -print"),
            "-path -regex -links -uid -print"
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
