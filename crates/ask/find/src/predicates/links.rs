//! `-links`: has N hard links.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::compare::Comparison;
use crate::context::Context;
use crate::leaf::Leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-links` predicate.
pub(crate) static LINKS: Predicate = Predicate {
    name: "-links",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "has N hard links",
    cost: Cost::Number,
    columns: ColumnSet::of(&[Column::Nlink]),
    standard: Standard::Posix,
    parse: Parse::Leaf(|args| {
        let text = args.value()?;
        let wanted = Comparison::parse(text).ok_or_else(|| args.invalid(text))?;
        Ok(Box::new(Links { wanted }))
    }),
};

#[derive(Debug)]
struct Links {
    wanted: Comparison,
}

impl Leaf for Links {
    fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
        self.wanted.holds(u64::from(row.nlink()))
    }

    fn filter(&self) -> Filter {
        self.wanted.filter(Column::Nlink)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    #[test]
    fn numbers_are_compared() {
        for (words, expected) in [
            ("-links 3", true),
            ("-links +3", false),
            ("-links -4", true),
            ("-links +2", true),
        ] {
            let spec = Spec {
                nlink: 3,
                ..Spec::default()
            };
            assert_eq!(matches(words, &spec), expected, "{words}");
        }
        assert_eq!(error_of("-links x"), "invalid argument `x' to `-links'");
    }
}
