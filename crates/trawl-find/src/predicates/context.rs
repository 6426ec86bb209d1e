//! `-context`: the security context matches PATTERN, which only
//! SELinux has; the index does not keep it.

use trawl_model::ColumnSet;

use crate::error::FindError;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The predicate.
pub(crate) static CONTEXT: Predicate = Predicate {
    name: "-context",
    aliases: &[],
    args: "PATTERN",
    kind: Kind::Test,
    help: "the SELinux context matches PATTERN (refused: contexts are not kept)",
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
