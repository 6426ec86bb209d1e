//! `-iname`: like `-name`, but ignores case.

use trawl_model::{Column, ColumnSet};
use trawl_text::glob::Case;

use super::name;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-iname` predicate.
pub(crate) static INAME: Predicate = Predicate {
    name: "-iname",
    aliases: &[],
    args: "PATTERN",
    kind: Kind::Test,
    help: "matches as -name does, ignoring case",
    cost: Cost::Name,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| name::parse(args, Case::Folded)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, matches};

    #[test]
    fn the_last_component_is_matched() {
        for (words, name, expected) in [
            ("-iname a*", "abc", true),
            ("-iname a*", "Abc", true),
            ("-iname b*", "Abc", false),
        ] {
            assert_eq!(
                matches(words, &Spec::named(name)),
                expected,
                "{words} {name}"
            );
        }
    }
}
