//! Evaluates random expressions as parsed and as optimised: the same effects
//! happen in the same order.

use std::sync::{Arc, Mutex};

use trawl_model::Column;
use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_testkit::Prng;

use crate::compare::between;
use crate::context::{Context, StartPoint, Turn};
use crate::expr::{Expr, Node};
use crate::expr_order::Level;
use crate::leaf::{Effect, Facts, Leaf};
use crate::predicate::Predicate;
use crate::predicates::{constant, name, path, perm, regex};
use crate::probe::NoProbe;
use crate::testing::{batch_of_names, world};

/// The numbers of the actions performed, in order.
type Log = Arc<Mutex<Vec<u64>>>;

/// Number of rows; each has another inode number.
const ROWS: u64 = 16;

/// A test that is true of rows whose inode number lies in a range.
#[derive(Debug)]
struct Test {
    low: u64,
    high: u64,
    facts: Facts,
}

impl Leaf for Test {
    fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
        (self.low..=self.high).contains(&row.ino())
    }

    fn filter(&self) -> Filter {
        between(Column::Ino, i128::from(self.low), i128::from(self.high))
    }

    fn facts(&self) -> Option<Facts> {
        Some(self.facts)
    }
}

/// An action that logs its number. It is true of even rows or of odd ones.
#[derive(Debug)]
struct Action {
    number: u64,
    effect: Effect,
    log: Log,
}

impl Leaf for Action {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        self.log.lock().unwrap().push(self.number);
        cx.quit |= self.effect == Effect::Quit;
        cx.pruned |= self.effect == Effect::Prune;
        (row.ino() + self.number).is_multiple_of(2)
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn facts(&self) -> Option<Facts> {
        Some(Facts::Name)
    }
}

/// Predicates of different costs.
static DEAR: [&Predicate; 5] = [
    &constant::TRUE,
    &perm::PERM,
    &name::NAME,
    &path::PATH,
    &regex::REGEX,
];

fn leaf(prng: &mut Prng, log: &Log) -> Expr {
    let predicate = DEAR[prng.below(5) as usize];
    let leaf: Box<dyn Leaf> = if prng.below(3) > 0 {
        let low = prng.below(ROWS);
        Box::new(Test {
            low,
            high: low + prng.below(ROWS),
            facts: [Facts::Name, Facts::Type, Facts::Attributes][prng.below(3) as usize],
        })
    } else {
        let effects = [
            Effect::Output,
            Effect::Prune,
            Effect::Quit,
            Effect::InOrder,
            Effect::Change,
        ];
        Box::new(Action {
            number: prng.below(1000),
            effect: effects[prng.below(5) as usize],
            log: Arc::clone(log),
        })
    };
    Expr::Leaf(Node::new(predicate, leaf))
}

fn expression(prng: &mut Prng, log: &Log, levels: u64) -> Expr {
    if levels == 0 {
        return leaf(prng, log);
    }
    let inner = |prng: &mut Prng| expression(prng, log, levels - 1);
    match prng.below(5) {
        0 => leaf(prng, log),
        1 => Expr::Not(Box::new(inner(prng))),
        kind => {
            let parts = (0..2 + prng.below(3)).map(|_| inner(prng)).collect();
            match kind {
                2 => Expr::And(parts),
                3 => Expr::Or(parts),
                _ => Expr::Comma(parts),
            }
        }
    }
}

/// The effects of an expression on a row.
#[derive(Debug, PartialEq, Eq)]
struct Done {
    value: bool,
    log: Vec<u64>,
    quit: bool,
    pruned: bool,
}

fn run(expr: &Expr, log: &Log, ino: u64) -> Done {
    let (world, start) = (world(), StartPoint::default());
    let mut batch = batch_of_names(&[b"n"]);
    batch.ino = vec![ino];
    let row = Row {
        batch: &batch,
        at: 0,
        dir: b"",
    };
    let mut cx = Context::new(&world, &start, &NoProbe);
    for known in [Facts::Name, Facts::Type, Facts::Attributes] {
        log.lock().unwrap().clear();
        let idle = expr.is_idle(&row, &mut cx, known);
        assert!(log.lock().unwrap().is_empty(), "foresight acts: {expr:?}");
        cx.turn = Turn::Mine;
        expr.eval(&row, &mut cx);
        let acted = !log.lock().unwrap().is_empty();
        assert!(!(idle && acted), "idle by {known:?}, row {ino}: {expr:?}");
        (cx.quit, cx.pruned) = (false, false);
    }
    log.lock().unwrap().clear();
    let value = expr.eval(&row, &mut cx);
    Done {
        value,
        log: std::mem::take(&mut log.lock().unwrap()),
        quit: cx.quit,
        pruned: cx.pruned,
    }
}

/// Asserts that the filter admits the row if the expression had an effect.
fn check_filter(expr: &Expr, done: &Done, ino: u64) {
    let all = [&Effect::VISIBLE[..], &[Effect::Prune]].concat();
    if done.log.is_empty() {
        return;
    }
    let filter = expr.filter_for(&all).expect("something happened");
    let admits = filter.clauses.iter().all(|c| c.admits(i128::from(ino)));
    assert!(admits, "{filter:?} leaves {ino} out: {expr:?}");
}

#[test]
fn optimised_expressions_do_the_same() {
    let seed = u64::from(trawl_sys::process::now().nanos);
    let mut happened = 0;
    for case in 0..3_000 {
        let logs = [Log::default(), Log::default()];
        let build = |log: &Log| expression(&mut Prng::new(seed + case), log, 4);
        let (naive, optimised) = (build(&logs[0]), build(&logs[1]).optimized(Level::default()));
        for ino in 0..ROWS {
            let expected = run(&naive, &logs[0], ino);
            let done = run(&optimised, &logs[1], ino);
            // After -quit, the value does not matter.
            let same = expected.value == done.value || expected.quit;
            assert!(
                same && expected.log == done.log
                    && (expected.quit, expected.pruned) == (done.quit, done.pruned),
                "seed {seed}, case {case}, row {ino}: {expected:?} {done:?}\n{naive:?}\n{optimised:?}"
            );
            check_filter(&naive, &expected, ino);
            check_filter(&optimised, &done, ino);
            happened += usize::from(!done.log.is_empty());
        }
    }
    assert!(happened > 10_000, "{happened}");
}
