//! `-atime`: was last accessed N days ago.

use crate::age::{Age, Which};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-atime` predicate.
pub(crate) static ATIME: Predicate = Predicate {
    name: "-atime",
    aliases: &[],
    args: "N",
    kind: Kind::Test,
    help: "was last accessed N days ago",
    cost: Cost::Number,
    columns: Which::Access.columns(),
    standard: Standard::Posix,
    parse: Parse::Leaf(|args| Age::in_days(args, Which::Access)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, ages};

    #[test]
    fn ages_are_rounded_down() {
        ages::are_rounded_down("-atime", |secs| Spec::default().atime_ago(secs));
    }
}
