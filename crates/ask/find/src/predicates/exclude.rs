//! `-exclude`: leaves entries that match out of the search, and everything
//! below them. [`crate::parser`]'s `grammar` reads its operand.
//!
//! A search evaluates exclusions before anything else, including for entries
//! nearer than `-mindepth` and for directories that `-depth` puts off.

use trawl_model::ColumnSet;

use super::prune;
use crate::expr::Expr;
use crate::predicate::{Cost, Kind, Operator, Parse, Predicate, Standard};

/// The `-exclude` predicate.
pub(crate) static EXCLUDE: Predicate = Predicate {
    name: "-exclude",
    aliases: &[],
    args: "EXPR",
    kind: Kind::Operator,
    help: "leave out entries that match EXPR and everything below them, wherever this stands; always true",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Bfs,
    parse: Parse::Operator(Operator::Exclude),
};

/// An expression that is true of entries that match one of `excluded`, and
/// prunes them.
pub(crate) fn exclusion(excluded: Vec<Expr>) -> Expr {
    Expr::And(vec![Expr::Or(excluded), Expr::Leaf(prune::node())])
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, program, run_on};

    #[test]
    fn what_it_matches_is_neither_printed_nor_gone_into() {
        let directory = Spec {
            mode: 0o040_755,
            ..Spec::named("d")
        };
        for (words, prints) in [
            ("-exclude -name d", false),
            ("-true -o -exclude -name d", false),
            ("-print -exclude ( -size 1 -o -name d )", false),
            ("-exclude ! -name d", true),
            ("-false -o -exclude -name x", true),
            ("-exclude -name x -name d", true),
            ("! -exclude -name x", false),
        ] {
            let run = run_on(words, &directory);
            assert_eq!(!run.printed.is_empty(), prints, "{words}");
            assert_eq!(
                run.pruned,
                words.ends_with("-name d )") || words.ends_with("-exclude -name d"),
                "{words}"
            );
        }
        assert!(program("-exclude -name d").prints_by_default);
    }

    #[test]
    fn nothing_happens_behind_it() {
        for (words, expected) in [
            ("-exclude", "expected an expression after '-exclude'"),
            ("-exclude -print", "-print is not supported within -exclude"),
            (
                "-exclude ( -name x -prune )",
                "-prune is not supported within -exclude",
            ),
            (
                "-exclude ! -exclude -true",
                "-exclude is not supported within -exclude",
            ),
            (
                "-exclude -o -true",
                "invalid expression; you have used a binary operator '-o' with nothing before it.",
            ),
        ] {
            assert_eq!(error_of(words), expected, "{words}");
        }
    }
}
