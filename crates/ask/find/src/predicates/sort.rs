//! `-sort`: prints the whole output in the order of columns. Output is held in
//! memory until the search has ended; with `-limit N`, only the first N rows of
//! it.

use std::collections::BinaryHeap;
use std::sync::Mutex;

use trawl_model::rows::Row;
use trawl_model::sync::lock;
use trawl_model::{ColumnSet, SortKey};

use crate::context::Context;
use crate::environment::Framing;
use crate::error::FindError;
use crate::expr::{Expr, Node};
use crate::leaf::{Effect, Leaf};
use crate::order::Order;
use crate::output::{Mark, Output};
use crate::parser::Settings;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// Number of bytes written at once.
const CHUNK_BYTES: usize = 1 << 20;

/// The `-sort` predicate.
pub(crate) static SORT: Predicate = Predicate {
    name: "-sort",
    aliases: &[],
    args: "[-]COLUMN,...",
    kind: Kind::Action,
    help: "sort all output by these columns (-COLUMN: descending), then by path, as in \
           -sort -size,name, or with score best matches of -keyword first; held in memory, with \
           -limit N only the first N",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Trawl,
    parse: Parse::Option(|args| {
        let text = args.value()?;
        match Order::parse(text) {
            Some(order) => args.settings.order = Some(order),
            None => return Err(args.invalid(text)),
        }
        Ok(())
    }),
};

/// Returns the expression so that its output is held and sorted, if `-sort` was
/// given; `framing` then writes the rows, if there is any.
///
/// # Errors
/// If the expression has an effect that cannot be put off to the end.
pub(crate) fn sorted(
    mut expr: Expr,
    settings: &mut Settings,
    framing: Option<Framing>,
) -> Result<Expr, FindError> {
    let Some(order) = settings.order.take() else {
        return Ok(expr);
    };
    let refuses = expr.has(Effect::Change) || expr.has(Effect::Quit);
    if refuses || !settings.files.is_empty() {
        let reason = "only what is printed to standard output can be sorted: leave out -quit and \
                      actions that run, change or write files";
        return Err(FindError::bad("-sort", reason));
    }
    // The limit bounds the rows that are held.
    expr.take_leaves(&super::limit::LIMIT);
    let leaf = Sort {
        order,
        most: settings.limit,
        framing,
        held: Mutex::default(),
    };
    let node = Node::new(&SORT, Box::new(leaf));
    Ok(Expr::Sorted(node, Box::new(expr)))
}

/// The output of one row.
#[derive(Debug)]
struct HeldLine {
    rank: SortKey,
    out: Output,
}

impl PartialEq for HeldLine {
    fn eq(&self, other: &HeldLine) -> bool {
        self.rank == other.rank
    }
}

impl Eq for HeldLine {}

impl PartialOrd for HeldLine {
    fn partial_cmp(&self, other: &HeldLine) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for HeldLine {
    fn cmp(&self, other: &HeldLine) -> std::cmp::Ordering {
        self.rank.cmp(&other.rank)
    }
}

#[derive(Debug)]
struct Sort {
    order: Order,
    /// The maximum number of rows held.
    most: Option<usize>,
    framing: Option<Framing>,
    /// A heap whose top is the row that comes last.
    held: Mutex<BinaryHeap<HeldLine>>,
}

impl Leaf for Sort {
    fn eval(&self, _: &Row<'_>, _: &mut Context<'_>) -> bool {
        true
    }

    fn columns(&self) -> ColumnSet {
        self.order.columns()
    }

    fn collect(&self, row: &Row<'_>, cx: &mut Context<'_>, mark: Mark) {
        let out = cx.out.split_off(mark);
        if out.is_empty() {
            return;
        }
        let rank = self.order.rank(row, cx);
        let mut held = lock(&self.held);
        held.push(HeldLine { rank, out });
        if self.most.is_some_and(|most| held.len() > most) {
            held.pop();
        }
    }

    fn finish(&self, cx: &mut Context<'_>) {
        let held = {
            let mut held = lock(&self.held);
            std::mem::take(&mut *held)
        };
        for HeldLine { rank, out } in held.into_sorted_vec() {
            match self.framing {
                Some(framing) => cx.out.bytes.extend(framing(rank, out)),
                None => cx.out.append(out),
            }
            if cx.out.bytes.len() >= CHUNK_BYTES {
                cx.flush();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, program, shape};

    #[test]
    fn only_standard_output_is_sorted() {
        for words in ["-quit", "-delete", "-exec true ;", "-fprint /dev/null"] {
            let error = error_of(&format!("-sort size {words}"));
            assert!(error.starts_with("only what is printed"), "{error}");
        }
        for order in ["", ",", "size,", "-", "colour", "size;name", "--size"] {
            let words = [b"-sort".to_vec(), order.as_bytes().to_vec()];
            let parsed = crate::parse(&words, &crate::testing::environment());
            let error = parsed.err().map(|error| error.to_string());
            assert!(error.is_some_and(|e| e.contains("-sort")), "{order}");
        }
    }

    #[test]
    fn a_limit_is_what_is_kept() {
        let program = program("-sort -size -exclude -name x -limit 3");
        let expected = "or(and(or(name) prune) sorted(and(sort true true print true)))";
        assert_eq!(shape(&program.expr), expected);
        assert!(!program.expr.needs_turns());
    }
}
