//! The expression: leaves joined by and, or, not and comma.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::context::{Context, Stop, Turn};
use crate::expr_order::Part;
use crate::leaf::{Effect, Facts, Leaf};
use crate::predicate::{Cost, Predicate};
use crate::predicates::constant;

/// A leaf and the predicate that it came from.
#[derive(Debug)]
pub struct Node {
    /// Its row in the registry.
    pub predicate: &'static Predicate,
    /// What is run.
    pub leaf: Box<dyn Leaf>,
    /// What it does.
    pub effect: Effect,
    /// What has to be known before it is run.
    facts: Facts,
    /// How often it is true, as far as can be guessed: from 0 to 1.
    likelihood: f32,
}

impl Node {
    /// A leaf that came from this predicate.
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

    /// The same, with a guess how often it is true.
    pub(crate) fn guessed(self, likelihood: f32) -> Node {
        Node { likelihood, ..self }
    }

    /// How often it is true, as far as can be guessed.
    pub(crate) fn likelihood(&self) -> f32 {
        self.likelihood
    }

    /// What has to be known before it is run.
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
            // Of what could not be looked at, no test of its attributes is true.
            None => self.facts <= cx.known && self.leaf.eval(row, cx),
        }
    }
}

/// What a directory says of an entry without a look at it.
const NAME_ONLY: ColumnSet = ColumnSet::of(&[Column::Name]);
const NUMBER_ONLY: ColumnSet = ColumnSet::of(&[Column::Ino]);

/// What is known of an expression before all of the row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Foresight {
    /// This, and nothing happens on the way.
    Value(bool),
    /// Nothing yet, but nothing happens on the way either.
    Open,
    /// Something may happen.
    Acts,
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
    /// Its part, whose output the leaf holds until the search has ended.
    Sorted(Node, Box<Expr>),
}

impl Expr {
    /// Whether the expression is true of the row. Its actions are carried
    /// out in the context; after `-quit` nothing more is evaluated.
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

    /// What has to be known of an entry for every leaf to be run.
    pub fn facts(&self) -> Facts {
        let mut facts = Facts::Name;
        self.leaves(&mut |node| facts = facts.max(node.facts));
        facts
    }

    /// True if nothing can happen on this row, as far as the `known` facts of
    /// it tell: the rest need not be looked up.
    pub fn is_idle(&self, row: &Row<'_>, cx: &mut Context<'_>, known: Facts) -> bool {
        matches!(self.foresee(row, cx, known), Foresight::Value(_))
    }

    fn foresee(&self, row: &Row<'_>, cx: &mut Context<'_>, known: Facts) -> Foresight {
        match self {
            Expr::Leaf(node) if node.effect != Effect::None => Foresight::Acts,
            // It may complain even if a later test is false.
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

    /// Visits every leaf.
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

    /// The first leaf of this name.
    pub(crate) fn find_leaf(&mut self, name: &str) -> Option<&mut Node> {
        match self {
            Expr::Leaf(node) => (node.predicate.name == name).then_some(node),
            Expr::Not(inner) | Expr::Sorted(_, inner) => inner.find_leaf(name),
            Expr::And(parts) | Expr::Or(parts) | Expr::Comma(parts) => {
                parts.iter_mut().find_map(|part| part.find_leaf(name))
            }
        }
    }

    /// Takes out the leaves of a predicate; they are true from now on.
    pub(crate) fn take_leaves(&mut self, predicate: &Predicate) -> Vec<Node> {
        let mut taken = Vec::new();
        while let Some(node) = self.find_leaf(predicate.name) {
            taken.push(std::mem::replace(node, constant::node()));
        }
        taken
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
        self.leaves(&mut |node| found |= node.effect == effect);
        found
    }

    /// True if some leaf takes the place of the default `-print`.
    pub fn acts(&self) -> bool {
        let mut found = false;
        self.leaves(&mut |node| found |= node.leaf.replaces_print());
        found
    }

    /// What ends each path, if printing the path of every row is all that is
    /// done.
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

    /// True if some leaf needs its turn.
    pub fn needs_turns(&self) -> bool {
        self.has(Effect::InOrder) || self.has(Effect::Change)
    }

    /// True if some leaf asks whether directories are empty.
    pub fn needs_empty_directories(&self) -> bool {
        let mut found = false;
        self.leaves(&mut |node| found |= node.leaf.needs_empty_directories());
        found
    }

    /// What rows fulfil of which the expression is true.
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

    /// What rows fulfil on which one of `effects` may happen; `None` if none
    /// ever does. Rows that do not fulfil it need not be read.
    pub fn filter_for(&self, effects: &[Effect]) -> Option<Filter> {
        match self {
            Expr::Leaf(node) if effects.contains(&node.effect) => Some(Filter::default()),
            // Complaints can be seen wherever output can.
            Expr::Leaf(node) if effects.contains(&Effect::Output) => node.leaf.complains_of(),
            Expr::Leaf(_) => None,
            Expr::Not(inner) | Expr::Sorted(_, inner) => inner.filter_for(effects),
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

    /// The same expression with cheap tests before dear ones. Nothing moves
    /// across a part that does something, so what happens is the same.
    #[must_use]
    pub fn optimized(self) -> Expr {
        Part::of(self).expr
    }
}

/// The value that settles a list of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settles {
    IfTrue,
    IfFalse,
}

/// A part that settles the list does so although one before it is open: that
/// one does nothing, and may as well be run later. A part that acts ends it.
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
