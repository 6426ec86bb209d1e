//! `-ignore_readdir_race` and its opposite: whether entries that vanish while
//! the search looks at them are ignored silently.

use trawl_model::ColumnSet;

use crate::context::Races;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-ignore_readdir_race` predicate.
pub(crate) static IGNORE_READDIR_RACE: Predicate = Predicate {
    name: "-ignore_readdir_race",
    aliases: &[],
    args: "",
    kind: Kind::GlobalOption,
    help: "report no error for files that vanish during the search",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Option(|args| {
        args.settings.races = Races::Ignored;
        Ok(())
    }),
};

/// The `-noignore_readdir_race` predicate.
pub(crate) static NOIGNORE_READDIR_RACE: Predicate = Predicate {
    name: "-noignore_readdir_race",
    aliases: &[],
    args: "",
    kind: Kind::GlobalOption,
    help: "report an error for files that vanish during the search (the default)",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Option(|args| {
        args.settings.races = Races::Told;
        Ok(())
    }),
};

#[cfg(test)]
mod tests {
    use crate::context::Races;
    use crate::testing::program;

    #[test]
    fn the_last_one_counts() {
        for (words, expected) in [
            ("-true", Races::Told),
            ("-ignore_readdir_race", Races::Ignored),
            ("-ignore_readdir_race -execdir true ;", Races::Told),
            ("-ignore_readdir_race -okdir true ;", Races::Told),
            ("-ignore_readdir_race -exec true ;", Races::Ignored),
            ("-execdir true ; -ignore_readdir_race", Races::Ignored),
            ("-ignore_readdir_race -noignore_readdir_race", Races::Told),
        ] {
            assert_eq!(program(words).races, expected, "{words}");
        }
    }
}
