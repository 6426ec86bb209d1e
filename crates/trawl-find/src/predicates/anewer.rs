//! `-anewer`: was last accessed after a named file was modified.

use crate::age::{Newer, Which};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-anewer` predicate.
pub(crate) static ANEWER: Predicate = Predicate {
    name: "-anewer",
    aliases: &[],
    args: "FILE",
    kind: Kind::Test,
    help: "was last accessed after FILE was last modified",
    cost: Cost::Number,
    columns: Which::Access.columns(),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| Newer::than_file(args, "-anewer", Which::Access)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, ages};

    #[test]
    fn the_same_moment_is_not_newer() {
        ages::is_newer_than_here("-anewer", |secs| Spec::default().atime_ago(secs));
    }
}
