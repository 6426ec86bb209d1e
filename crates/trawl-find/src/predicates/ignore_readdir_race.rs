//! `-ignore_readdir_race` and its opposite: an index has no races.

use trawl_model::ColumnSet;

use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The predicate.
pub(crate) static IGNORE_READDIR_RACE: Predicate = Predicate {
    name: "-ignore_readdir_race",
    aliases: &[],
    args: "",
    kind: Kind::GlobalOption,
    help: "accepted, changes nothing",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Option(|_| Ok(())),
};

/// The predicate.
pub(crate) static NOIGNORE_READDIR_RACE: Predicate = Predicate {
    name: "-noignore_readdir_race",
    aliases: &[],
    args: "",
    kind: Kind::GlobalOption,
    help: "accepted, changes nothing",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Option(|_| Ok(())),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, matches};

    #[test]
    fn they_are_true() {
        assert!(matches(
            "-ignore_readdir_race -noignore_readdir_race",
            &Spec::default()
        ));
    }
}
