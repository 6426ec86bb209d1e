//! `-mtime`: was last modified N days ago.

use crate::age::{Age, Which};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-mtime` predicate.
pub(crate) static MTIME: Predicate = Predicate {
    name: "-mtime",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "was last modified N days ago",
    cost: Cost::Number,
    columns: Which::Modification.columns(),
    standard: Standard::Posix,
    parse: Parse::Leaf(|args| Age::in_days(args, Which::Modification)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, ages};

    #[test]
    fn ages_are_rounded_down() {
        ages::are_rounded_down("-mtime", |secs| Spec::default().mtime_ago(secs));
    }
}
