//! `-warn` and `-nowarn`: remarks on doubtful words.

use trawl_model::ColumnSet;

use crate::environment::Warnings;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The predicate.
pub(crate) static WARN: Predicate = Predicate {
    name: "-warn",
    aliases: &[],
    args: "",
    kind: Kind::PositionalOption,
    help: "remark upon doubtful words from here on",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Option(|args| {
        args.settings.warnings = Warnings::Shown;
        Ok(())
    }),
};

/// The predicate.
pub(crate) static NOWARN: Predicate = Predicate {
    name: "-nowarn",
    aliases: &[],
    args: "",
    kind: Kind::PositionalOption,
    help: "do not",
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
