//! `-newer`: was modified after a named file was modified.

use crate::age::{Newer, Which};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-newer` predicate.
pub(crate) static NEWER: Predicate = Predicate {
    name: "-newer",
    aliases: &[],
    args: "FILE",
    kind: Kind::Test,
    help: "was last modified after FILE was last modified",
    cost: Cost::Number,
    columns: Which::Modification.columns(),
    standard: Standard::Posix,
    parse: Parse::Leaf(|args| Newer::than_file(args, "-newer", Which::Modification)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, ages};

    #[test]
    fn the_same_moment_is_not_newer() {
        ages::is_newer_than_here("-newer", |secs| Spec::default().mtime_ago(secs));
    }
}
