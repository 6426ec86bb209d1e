//! `-ok`: asks the user, then runs a command. See [`crate::command`].

use trawl_model::{Column, ColumnSet};

use crate::command::{self, Consent, Where};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-ok` predicate.
pub(crate) static OK: Predicate = Predicate {
    name: "-ok",
    aliases: &[],
    args: "COMMAND {} ;",
    kind: Kind::Action,
    help: "run COMMAND as -exec does, but ask first; its standard input is empty",
    cost: Cost::Output,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Posix,
    parse: Parse::Leaf(|args| command::parse(args, Where::Start, Consent::Asked)),
};

#[cfg(test)]
mod tests {
    use crate::leaf::Effect;
    use crate::testing::program;

    #[test]
    fn it_needs_its_turn_and_replaces_print() {
        let program = program("-ok true {} ;");
        assert!(program.expr.has(Effect::Change) && !program.prints_by_default);
        assert!(program.expr.needs_turns());
    }
}
