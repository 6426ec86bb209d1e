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
    parse: Parse::Leaf(|args| {
        let than = args.reference("-cnewer")?.mtime;
        Ok(Box::new(Newer {
            which: Which::Change,
            than,
        }))
    }),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    /// `here` was last modified 100 seconds ago.
    #[test]
    fn the_same_moment_is_not_newer() {
        for (age_secs, expected) in [(99, true), (100, false), (101, false)] {
            assert_eq!(
                matches("-cnewer here", &Spec::default().ctime_ago(age_secs)),
                expected,
                "{age_secs}"
            );
        }
        assert_eq!(
            error_of("-cnewer gone"),
            "‘gone’: No such file or directory"
        );
    }
}
