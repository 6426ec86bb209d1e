//! A find expression as a test of rows, for questions other than searches: it
//! selects the entries that count.
//!
//! Only tests of rows and paths are admitted: no actions, no output, no
//! pruning, and no tests that need a look-up beforehand.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{ColumnSet, path};
use trawl_query::{Index, RowTest, Start};

use super::probe::IndexProbe;
use super::rest;
use crate::context::{Context, StartPoint, World};
use crate::environment::Environment;
use crate::error::FindError;
use crate::expr::Expr;
use crate::leaf::Effect;
use crate::parser::{Parsed, Program, parse};
use crate::predicate::Cost;
use crate::predicates::constant;
use crate::traversal::{Follow, Traversal};

/// An expression that selects entries.
pub struct Sieve {
    program: Program,
    world: World,
    words: Vec<Vec<u8>>,
}

/// A sieve for the entries at and below a start.
pub struct SieveAt<'s> {
    sieve: &'s Sieve,
    probe: IndexProbe<'s>,
    point: StartPoint,
}

impl Sieve {
    /// Parses an expression without start points.
    ///
    /// # Errors
    /// If GNU find refuses the words, or if the expression does anything but
    /// test entries.
    pub fn new(words: &[Vec<u8>], env: &Environment) -> Result<Sieve, FindError> {
        let all = [&[b".".to_vec()], words].concat();
        let mut program = match parse(&all, env)? {
            Parsed::Search(program) => *program,
            _ => return Err(unfit("help is not a test")),
        };
        let is_word = |word: &&Vec<u8>| matches!(&word[..], b"-exclude" | b"-files0-from");
        if words.iter().any(|word| is_word(&word)) {
            return Err(unfit("-exclude and -files0-from cannot be used"));
        }
        if !program.print_with(constant::node()) {
            return Err(unfit("it may not print or act"));
        }
        let Traversal {
            follow,
            one_file_system,
            contents_first,
            ..
        } = &program.traversal;
        if *follow != Follow::Never || *one_file_system || *contents_first {
            return Err(unfit(
                "of the options, only -mindepth and -maxdepth can be used",
            ));
        }
        check(&program.expr)?;
        Ok(Sieve {
            program,
            world: World::new(env),
            words: words.to_vec(),
        })
    }

    /// Returns the sieve for the entries at and below a start.
    pub fn at<'s>(&'s self, index: &'s Index, start: &Start, spelled: &[u8]) -> SieveAt<'s> {
        SieveAt {
            sieve: self,
            probe: IndexProbe::new(index, &self.world, &start.view),
            point: StartPoint {
                spelled: spelled.to_vec(),
                stored: start.path.clone(),
            },
        }
    }

    /// Returns true if the expression tests types, so that entries other than
    /// files may be meant.
    pub fn asks_for_type(&self) -> bool {
        let asks = |word: &Vec<u8>| matches!(&word[..], b"-type" | b"-xtype");
        self.words.iter().any(asks)
    }
}

fn unfit(why: &str) -> FindError {
    FindError::Grammar {
        reason: format!("the expression only tests entries here: {why}"),
    }
}

fn check(expr: &Expr) -> Result<(), FindError> {
    let mut acts = false;
    let mut looks_up = expr.needs_empty_directories();
    expr.leaves(&mut |node| {
        acts |= node.effect != Effect::None;
        looks_up |= node.leaf.attribute_test().is_some();
        looks_up |= node.predicate.cost == Cost::Content;
    });
    if acts || matches!(expr, Expr::Sorted(..)) {
        return Err(unfit("it may not print, sort, act or prune"));
    }
    if looks_up {
        return Err(unfit(
            "-empty, contents and values of attributes cannot be asked for",
        ));
    }
    Ok(())
}

impl RowTest for SieveAt<'_> {
    fn columns(&self) -> ColumnSet {
        self.sieve.program.expr.columns()
    }

    fn filter(&self) -> Filter {
        self.sieve.program.expr.filter_if_true()
    }

    fn depths(&self) -> (usize, Option<usize>) {
        let traversal = &self.sieve.program.traversal;
        let farthest = (traversal.max_depth != usize::MAX).then_some(traversal.max_depth);
        (traversal.min_depth, farthest)
    }

    fn admits(&self, row: &Row<'_>, depth: usize) -> bool {
        let mut cx = Context::new(&self.sieve.world, &self.point, &self.probe);
        if depth > 0 {
            let levels = path::depth(row.dir).saturating_sub(path::depth(&self.point.stored));
            cx.enter_below(&[rest(row.dir, &self.point.stored), b""], levels);
            cx.next_row();
        }
        self.sieve.program.expr.eval(row, &mut cx)
    }
}
