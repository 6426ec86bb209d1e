//! `-amin`: was last accessed N minutes ago.

use crate::age::{Age, Which};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-amin` predicate.
pub(crate) static AMIN: Predicate = Predicate {
    name: "-amin",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "was last accessed N minutes ago",
    cost: Cost::Number,
    columns: Which::Access.columns(),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| Age::in_minutes(args, Which::Access)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, ages};

    #[test]
    fn ages_are_rounded_up() {
        ages::are_rounded_up("-amin", |secs| Spec::default().atime_ago(secs));
    }
}
