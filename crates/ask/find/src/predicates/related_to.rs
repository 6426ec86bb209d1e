//! `-related-to`: is related to a named file.

use trawl_model::{Column, ColumnSet};

use super::group_of::Among;
use crate::error::FindError;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-related-to` predicate.
pub(crate) static RELATED_TO: Predicate = Predicate {
    name: "-related-to",
    aliases: &[],
    args: "FILE",
    kind: Kind::Test,
    help: "is related to FILE as `trawl related FILE` shows: built from, opened with, includes, …",
    cost: Cost::Path,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Trawl,
    parse: Parse::Leaf(|args| {
        let file = args.value()?;
        let related = args.env.grouping.related_to(file);
        let related = related.map_err(|why| FindError::bad("-related-to", why))?;
        Ok(Box::new(Among::new(related)))
    }),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    /// `/w/top/name` is related to `here`.
    #[test]
    fn names_and_directories_must_agree() {
        for (name, expected) in [("name", true), ("other", false)] {
            let spec = Spec::named(name);
            assert_eq!(matches("-related-to here", &spec), expected, "{name}");
        }
        assert_eq!(error_of("-related-to gone"), "there is no file gone");
    }
}
