//! `-follow`: the old spelling of `-L`.

use trawl_model::ColumnSet;

use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};
use crate::traversal::Follow;

/// The `-follow` predicate.
pub(crate) static FOLLOW: Predicate = Predicate {
    name: "-follow",
    aliases: &[],
    args: "",
    kind: Kind::PositionalOption,
    help: "follow symbolic links, as -L does",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Option(|args| {
        args.settings.traversal.follow = Follow::Always;
        Ok(())
    }),
};

#[cfg(test)]
mod tests {
    use crate::testing::program;
    use crate::traversal::Follow;

    #[test]
    fn it_is_the_last_word() {
        assert_eq!(program("-P x -follow").traversal.follow, Follow::Always);
        assert_eq!(program("-warn -true -follow").warnings.len(), 0);
    }
}
