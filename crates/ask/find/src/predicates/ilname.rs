//! `-ilname`: like `-lname`, but ignores case.

use trawl_model::{Column, ColumnSet};
use trawl_text::glob::Case;

use super::lname;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-ilname` predicate.
pub(crate) static ILNAME: Predicate = Predicate {
    name: "-ilname",
    aliases: &[],
    args: "PATTERN",
    kind: Kind::Test,
    help: "matches as -lname does, ignoring case",
    cost: Cost::Name,
    columns: ColumnSet::of(&[Column::Mode, Column::LinkTarget]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| lname::parse(args, Case::Folded)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, matches};

    #[test]
    fn targets_are_matched() {
        let link = Spec {
            mode: 0o120_777,
            target: "thing",
            ..Spec::default()
        };
        for (words, expected) in [("-ilname T*", true), ("-ilname x*", false)] {
            assert_eq!(matches(words, &link), expected, "{words}");
        }
        assert!(
            !matches("-ilname *", &Spec::default()),
            "only links have targets"
        );
    }
}
