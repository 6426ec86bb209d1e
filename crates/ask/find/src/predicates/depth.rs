//! `-depth` and its old spelling `-d`: a directory's contents come before the
//! directory.

use trawl_model::ColumnSet;

use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-depth` predicate.
pub(crate) static DEPTH: Predicate = Predicate {
    name: "-depth",
    aliases: &[],
    args: "",
    kind: Kind::GlobalOption,
    help: "process each directory's contents before the directory itself",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Posix,
    parse: Parse::Option(|args| {
        args.settings.traversal.contents_first = true;
        args.settings.depth_was_asked = true;
        Ok(())
    }),
};

/// The `-d` predicate.
pub(crate) static D: Predicate = Predicate {
    name: "-d",
    aliases: &[],
    args: "",
    kind: Kind::GlobalOption,
    help: "do the same as -depth, for compatibility with other systems",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Option(|args| {
        args.settings.traversal.contents_first = true;
        args.settings.depth_was_asked = true;
        args.warn(
            "warning: the -d option is deprecated; please use -depth instead, because the latter \
             is a POSIX-compliant feature."
                .into(),
        );
        Ok(())
    }),
};

#[cfg(test)]
mod tests {
    use crate::testing::program;

    #[test]
    fn both_spellings_turn_the_order() {
        assert!(!program("-true").traversal.contents_first);
        assert!(program("-depth").traversal.contents_first);
        assert!(program("-d").traversal.contents_first);
        assert_eq!(program("-warn -d").warnings.len(), 1);
    }
}
