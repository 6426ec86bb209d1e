//! `-iregex`: like `-regex`, but ignores case.

use trawl_model::{Column, ColumnSet};
use trawl_text::glob::Case;

use super::regex;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-iregex` predicate.
pub(crate) static IREGEX: Predicate = Predicate {
    name: "-iregex",
    aliases: &[],
    args: "PATTERN",
    kind: Kind::Test,
    help: "matches as -regex does, ignoring case",
    cost: Cost::Regex,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| regex::parse(args, Case::Folded)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, matches};

    /// Rows of these tests lie in the directory `./top`.
    #[test]
    fn the_whole_path_is_matched() {
        for (words, name, expected) in [
            ("-iregex .*/A.C", "abc", true),
            ("-iregex .*/[X-Z].C", "abc", false),
        ] {
            assert_eq!(
                matches(words, &Spec::named(name)),
                expected,
                "{words} {name}"
            );
        }
    }
}
