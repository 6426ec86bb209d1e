//! `-nogroup`: has a numeric group ID that no group has.

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::context::Context;
use crate::leaf::Leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-nogroup` predicate.
pub(crate) static NOGROUP: Predicate = Predicate {
    name: "-nogroup",
    aliases: &[],
    args: "",
    kind: Kind::Test,
    help: "has a numeric group ID that no group has",
    cost: Cost::LookUp,
    columns: ColumnSet::of(&[Column::Gid]),
    standard: Standard::Posix,
    parse: Parse::Leaf(|_| Ok(Box::new(NoGroup))),
};

#[derive(Debug)]
struct NoGroup;

impl Leaf for NoGroup {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        cx.world.owners.group(row.gid()).is_none()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, matches};

    #[test]
    fn only_the_nameless_match() {
        for (gid, expected) in [(0, false), (3_999_999_999, true)] {
            let spec = Spec {
                gid,
                ..Spec::default()
            };
            assert_eq!(matches("-nogroup", &spec), expected, "{gid}");
        }
    }
}
