//! `-okdir`: asks the user, then runs a command in the entry's directory. See
//! [`crate::command`].

use trawl_model::{Column, ColumnSet};

use crate::command::{self, Consent, Where};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-okdir` predicate.
pub(crate) static OKDIR: Predicate = Predicate {
    name: "-okdir",
    aliases: &[],
    args: "COMMAND {} ;",
    kind: Kind::Action,
    help: "run COMMAND as -execdir does, but ask first; its standard input is empty",
    cost: Cost::Output,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| command::parse(args, Where::Beside, Consent::Asked)),
};

#[cfg(test)]
mod tests {
    use crate::leaf::Effect;
    use crate::testing::program;

    #[test]
    fn it_needs_its_turn_and_replaces_print() {
        let program = program("-okdir true {} ;");
        assert!(program.expr.has(Effect::Change) && !program.prints_by_default);
        assert!(program.expr.needs_turns());
    }
}
