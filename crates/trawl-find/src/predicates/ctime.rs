//! `-ctime`: had its status last changed N days ago.

use crate::age::{Age, Which};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-ctime` predicate.
pub(crate) static CTIME: Predicate = Predicate {
    name: "-ctime",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "had its status last changed N days ago",
    cost: Cost::Number,
    columns: Which::Change.columns(),
    standard: Standard::Posix,
    parse: Parse::Leaf(|args| Age::in_days(args, Which::Change)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, ages};

    #[test]
    fn ages_are_rounded_down() {
        ages::are_rounded_down("-ctime", |secs| Spec::default().ctime_ago(secs));
    }
}
