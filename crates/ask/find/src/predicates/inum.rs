//! `-inum`: has inode number N.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::compare::Comparison;
use crate::context::Context;
use crate::leaf::Leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-inum` predicate.
pub(crate) static INUM: Predicate = Predicate {
    name: "-inum",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "has inode number N",
    cost: Cost::Number,
    columns: ColumnSet::of(&[Column::Ino]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| {
        let text = args.value()?;
        let wanted = Comparison::parse(text).ok_or_else(|| args.invalid(text))?;
        Ok(Box::new(Inum { wanted }))
    }),
};

#[derive(Debug)]
struct Inum {
    wanted: Comparison,
}

impl Leaf for Inum {
    fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
        self.wanted.holds(row.ino())
    }

    fn filter(&self) -> Filter {
        self.wanted.filter(Column::Ino)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    #[test]
    fn numbers_are_compared() {
        for (words, expected) in [
            ("-inum 3", true),
            ("-inum +3", false),
            ("-inum -4", true),
            ("-inum +2", true),
        ] {
            let spec = Spec {
                ino: 3,
                ..Spec::default()
            };
            assert_eq!(matches(words, &spec), expected, "{words}");
        }
        assert_eq!(error_of("-inum x"), "invalid argument `x' to `-inum'");
    }
}
