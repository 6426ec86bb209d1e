//! `-ipath`: like `-path`, but ignores case.

use trawl_model::{Column, ColumnSet};
use trawl_text::glob::Case;

use super::path;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-ipath` predicate.
pub(crate) static IPATH: Predicate = Predicate {
    name: "-ipath",
    aliases: &["-iwholename"],
    args: "PATTERN",
    kind: Kind::Test,
    help: "matches as -path does, ignoring case",
    cost: Cost::Path,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| path::parse(args, Case::Folded)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, matches};

    /// Rows of these tests lie in the directory `./top`.
    #[test]
    fn the_whole_path_is_matched() {
        for (words, name, expected) in [
            ("-ipath */ABC", "abc", true),
            ("-iwholename ./T*", "abc", true),
            ("-ipath abc", "abc", false),
        ] {
            assert_eq!(
                matches(words, &Spec::named(name)),
                expected,
                "{words} {name}"
            );
        }
    }
}
