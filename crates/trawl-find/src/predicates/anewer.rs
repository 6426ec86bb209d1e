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
    parse: Parse::Leaf(|args| {
        let than = args.reference("-anewer")?.mtime;
        Ok(Box::new(Newer {
            which: Which::Access,
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
                matches("-anewer here", &Spec::default().atime_ago(age_secs)),
                expected,
                "{age_secs}"
            );
        }
        assert_eq!(
            error_of("-anewer gone"),
            "‘gone’: No such file or directory"
        );
    }
}
