//! `-xdev`: stays on the file system of each start point.

use trawl_model::ColumnSet;

use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-xdev` predicate.
pub(crate) static XDEV: Predicate = Predicate {
    name: "-xdev",
    aliases: &["-mount"],
    args: "",
    kind: Kind::GlobalOption,
    help: "do not descend into directories on other file systems",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Posix,
    parse: Parse::Option(|args| {
        args.settings.traversal.one_file_system = true;
        Ok(())
    }),
};

#[cfg(test)]
mod tests {
    use crate::testing::program;

    #[test]
    fn both_spellings_are_taken() {
        assert!(!program("-true").traversal.one_file_system);
        assert!(program("-xdev").traversal.one_file_system);
        assert!(program("-mount").traversal.one_file_system);
    }
}
