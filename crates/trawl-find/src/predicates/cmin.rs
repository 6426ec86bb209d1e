//! `-cmin`: had its status last changed N minutes ago.

use crate::age::{Age, Which};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-cmin` predicate.
pub(crate) static CMIN: Predicate = Predicate {
    name: "-cmin",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "had its status last changed N minutes ago",
    cost: Cost::Number,
    columns: Which::Change.columns(),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| Age::in_minutes(args, Which::Change)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, ages};

    #[test]
    fn ages_are_rounded_up() {
        ages::are_rounded_up("-cmin", |secs| Spec::default().ctime_ago(secs));
    }
}
