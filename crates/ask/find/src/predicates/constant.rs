//! `-true` and `-false`.

use trawl_model::ColumnSet;
use trawl_model::filter::Filter;
use trawl_model::rows::Row;

use crate::compare::between;
use crate::context::Context;
use crate::expr::Node;
use crate::leaf::Leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The predicate that is true of every entry.
pub(crate) static TRUE: Predicate = Predicate {
    name: "-true",
    aliases: &[],
    args: "",
    kind: Kind::Test,
    help: "is always true",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Leaf(|_| Ok(always())),
};

/// The predicate that is true of no entry.
pub(crate) static FALSE: Predicate = Predicate {
    name: "-false",
    aliases: &[],
    args: "",
    kind: Kind::Test,
    help: "is always false",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Leaf(|_| Ok(Box::new(Never))),
};

#[derive(Debug)]
struct Always;

#[derive(Debug)]
struct Never;

/// The leaf for a word that has no value of its own.
pub(crate) fn node() -> Node {
    Node::new(&TRUE, always())
}

impl Leaf for Always {
    fn eval(&self, _: &Row<'_>, _: &mut Context<'_>) -> bool {
        true
    }
}

impl Leaf for Never {
    fn eval(&self, _: &Row<'_>, _: &mut Context<'_>) -> bool {
        false
    }

    /// A condition that no row fulfils.
    fn filter(&self) -> Filter {
        between(trawl_model::Column::Nlink, 1, 0)
    }
}

/// A leaf that is always true, as options are.
pub(crate) fn always() -> Box<dyn Leaf> {
    Box::new(Always)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, matches};

    #[test]
    fn constants_are_constant() {
        let row = Spec::default();
        assert!(matches("-true", &row) && !matches("-false", &row));
        assert!(matches("-false -o -true", &row) && !matches("-true , -false", &row));
    }
}
