//! `-nouser`: has a numeric user ID that no user has.

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::context::Context;
use crate::leaf::Leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-nouser` predicate.
pub(crate) static NOUSER: Predicate = Predicate {
    name: "-nouser",
    aliases: &[],
    args: "",
    kind: Kind::Test,
    help: "has a numeric user ID that no user has",
    cost: Cost::LookUp,
    columns: ColumnSet::of(&[Column::Uid]),
    standard: Standard::Posix,
    parse: Parse::Leaf(|_| Ok(Box::new(NoUser))),
};

#[derive(Debug)]
struct NoUser;

impl Leaf for NoUser {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        cx.world.owners.user(row.uid()).is_none()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, matches};

    #[test]
    fn only_the_nameless_match() {
        for (uid, expected) in [(0, false), (3_999_999_999, true)] {
            let spec = Spec {
                uid,
                ..Spec::default()
            };
            assert_eq!(matches("-nouser", &spec), expected, "{uid}");
        }
    }
}
