//! `-execdir`: runs a command in the entry's directory. See [`crate::command`].

use trawl_model::{Column, ColumnSet};

use crate::command::{self, Consent, Where};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-execdir` predicate.
pub(crate) static EXECDIR: Predicate = Predicate {
    name: "-execdir",
    aliases: &[],
    args: "COMMAND {} ; or COMMAND {} +",
    kind: Kind::Action,
    help: "run COMMAND as -exec does, but in the entry's directory, with {} replaced by ./NAME",
    cost: Cost::Output,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| command::parse(args, Where::Beside, Consent::Given)),
};

#[cfg(test)]
mod tests {
    use crate::leaf::Effect;
    use crate::testing::program;

    #[test]
    fn it_needs_its_turn_and_replaces_print() {
        let program = program("-execdir true {} ;");
        assert!(program.expr.has(Effect::Change) && !program.prints_by_default);
        assert!(program.expr.needs_turns());
    }
}
