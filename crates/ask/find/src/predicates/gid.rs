//! `-gid`: has the numeric group ID N.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::compare::Comparison;
use crate::context::Context;
use crate::leaf::Leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-gid` predicate.
pub(crate) static GID: Predicate = Predicate {
    name: "-gid",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "has numeric group ID N",
    cost: Cost::Number,
    columns: ColumnSet::of(&[Column::Gid]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| {
        let text = args.value()?;
        let wanted = Comparison::parse(text).ok_or_else(|| args.invalid(text))?;
        Ok(Box::new(Gid { wanted }))
    }),
};

#[derive(Debug)]
struct Gid {
    wanted: Comparison,
}

impl Leaf for Gid {
    fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
        self.wanted.holds(u64::from(row.gid().0))
    }

    fn filter(&self) -> Filter {
        self.wanted.filter(Column::Gid)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    #[test]
    fn numbers_are_compared() {
        for (words, expected) in [
            ("-gid 3", true),
            ("-gid +3", false),
            ("-gid -4", true),
            ("-gid +2", true),
        ] {
            let spec = Spec {
                gid: 3,
                ..Spec::default()
            };
            assert_eq!(matches(words, &spec), expected, "{words}");
        }
        assert_eq!(error_of("-gid x"), "invalid argument `x' to `-gid'");
    }
}
