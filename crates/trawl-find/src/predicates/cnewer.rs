//! `-cnewer`: had its status last changed after a named file was modified.

use crate::age::{Newer, Which};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-cnewer` predicate.
pub(crate) static CNEWER: Predicate = Predicate {
    name: "-cnewer",
    aliases: &[],
    args: "FILE",
    kind: Kind::Test,
    help: "had its status last changed after FILE was last modified",
    cost: Cost::Number,
    columns: Which::Change.columns(),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| Newer::than_file(args, "-cnewer", Which::Change)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, ages};

    #[test]
    fn the_same_moment_is_not_newer() {
        ages::is_newer_than_here("-cnewer", |secs| Spec::default().ctime_ago(secs));
    }
}
