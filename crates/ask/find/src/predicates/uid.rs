//! `-uid`: has the numeric user ID N.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::compare::Comparison;
use crate::context::Context;
use crate::leaf::Leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-uid` predicate.
pub(crate) static UID: Predicate = Predicate {
    name: "-uid",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "has numeric user ID N",
    cost: Cost::Number,
    columns: ColumnSet::of(&[Column::Uid]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| {
        let text = args.value()?;
        let wanted = Comparison::parse(text).ok_or_else(|| args.invalid(text))?;
        Ok(Box::new(Uid { wanted }))
    }),
};

#[derive(Debug)]
struct Uid {
    wanted: Comparison,
}

impl Leaf for Uid {
    fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
        self.wanted.holds(u64::from(row.uid().0))
    }

    fn filter(&self) -> Filter {
        self.wanted.filter(Column::Uid)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    #[test]
    fn numbers_are_compared() {
        for (words, expected) in [
            ("-uid 3", true),
            ("-uid +3", false),
            ("-uid -4", true),
            ("-uid +2", true),
        ] {
            let spec = Spec {
                uid: 3,
                ..Spec::default()
            };
            assert_eq!(matches(words, &spec), expected, "{words}");
        }
        assert_eq!(error_of("-uid x"), "invalid argument `x' to `-uid'");
    }
}
