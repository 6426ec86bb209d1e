//! `-mmin`: was last modified N minutes ago.

use crate::age::{Age, Which};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-mmin` predicate.
pub(crate) static MMIN: Predicate = Predicate {
    name: "-mmin",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "was last modified N minutes ago",
    cost: Cost::Number,
    columns: Which::Modification.columns(),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| Age::in_minutes(args, Which::Modification)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, ages};

    #[test]
    fn ages_are_rounded_up() {
        ages::are_rounded_up("-mmin", |secs| Spec::default().mtime_ago(secs));
    }
}
