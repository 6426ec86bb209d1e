//! `-context`: has an SELinux security context that matches PATTERN. Always
//! refused, since the index does not store security contexts.

use trawl_model::ColumnSet;

use crate::error::FindError;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-context` predicate.
pub(crate) static CONTEXT: Predicate = Predicate {
    name: "-context",
    aliases: &[],
    args: "PATTERN",
    kind: Kind::Test,
    help: "has an SELinux context that matches PATTERN (refused: contexts are not stored)",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| {
        args.value()?;
        let reason = "invalid predicate -context: SELinux is not enabled.";
        Err(FindError::bad("-context", reason))
    }),
};

#[cfg(test)]
mod tests {
    use crate::testing::error_of;

    #[test]
    fn it_is_refused_in_finds_words() {
        assert_eq!(error_of("-context"), "missing argument to `-context'");
        assert!(error_of("-context x").contains("SELinux is not enabled"));
    }
}
