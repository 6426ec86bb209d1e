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
    parse: Parse::Leaf(|args| {
        let than = args.reference("-newer")?.mtime;
        Ok(Box::new(Newer {
            which: Which::Modification,
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
                matches("-newer here", &Spec::default().mtime_ago(age_secs)),
                expected,
                "{age_secs}"
            );
        }
        assert_eq!(error_of("-newer gone"), "‘gone’: No such file or directory");
    }
}
