//! `-warn` and `-nowarn`: turn warnings on and off.

use trawl_model::ColumnSet;

use crate::environment::Warnings;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-warn` predicate.
pub(crate) static WARN: Predicate = Predicate {
    name: "-warn",
    aliases: &[],
    args: "",
    kind: Kind::PositionalOption,
    help: "turn warnings on for the words that follow",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Option(|args| {
        args.settings.warnings = Warnings::Shown;
        Ok(())
    }),
};

/// The `-nowarn` predicate.
pub(crate) static NOWARN: Predicate = Predicate {
    name: "-nowarn",
    aliases: &[],
    args: "",
    kind: Kind::PositionalOption,
    help: "turn warnings off for the words that follow",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Option(|args| {
        args.settings.warnings = Warnings::Hidden;
        Ok(())
    }),
};

#[cfg(test)]
mod tests {
    use crate::testing::program;

    #[test]
    fn remarks_can_be_turned_on_and_off() {
        assert_eq!(
            program("-warn -name a/b -nowarn -name a/b").warnings.len(),
            1
        );
    }
}
