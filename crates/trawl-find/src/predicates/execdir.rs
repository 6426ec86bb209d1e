//! `-execdir`: runs a command in the directory of the entry. See [`crate::command`].

use trawl_model::{Column, ColumnSet};

use crate::command::{self, Consent, Where};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The predicate.
pub(crate) static EXECDIR: Predicate = Predicate {
    name: "-execdir",
    aliases: &[],
    args: "COMMAND {} ; or COMMAND {} +",
    kind: Kind::Action,
    help: "the same in the directory of the entry, with ./NAME for {}",
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
