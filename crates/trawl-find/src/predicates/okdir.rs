//! `-okdir`: asks, and then runs a command in the directory of the entry. See [`crate::command`].

use trawl_model::{Column, ColumnSet};

use crate::command::{self, Consent, Where};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The predicate.
pub(crate) static OKDIR: Predicate = Predicate {
    name: "-okdir",
    aliases: &[],
    args: "COMMAND {} ;",
    kind: Kind::Action,
    help: "the same as -execdir, asking first; the command reads nothing",
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
