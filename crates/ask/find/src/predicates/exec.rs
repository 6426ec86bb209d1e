//! `-exec`: runs a command. See [`crate::command`].

use trawl_model::{Column, ColumnSet};

use crate::command::{self, Consent, Where};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-exec` predicate.
pub(crate) static EXEC: Predicate = Predicate {
    name: "-exec",
    aliases: &[],
    args: "COMMAND {} ; or COMMAND {} +",
    kind: Kind::Action,
    help: "run COMMAND with {} replaced by the path; true if it exits with 0; with +, once for many paths, always true",
    cost: Cost::Output,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Posix,
    parse: Parse::Leaf(|args| command::parse(args, Where::Start, Consent::Given)),
};

#[cfg(test)]
mod tests {
    use crate::leaf::Effect;
    use crate::testing::program;

    #[test]
    fn it_needs_its_turn_and_replaces_print() {
        let program = program("-exec true {} ;");
        assert!(program.expr.has(Effect::Change) && !program.prints_by_default);
        assert!(program.expr.needs_turns());
    }
}
