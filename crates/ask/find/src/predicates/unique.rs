//! `-unique`: reaches each file once, however many paths lead to it. The search
//! does not descend into a directory again, which matters where links are
//! followed.
//!
//! It is an option: it counts every entry, whatever the rest of the expression
//! says, and leaves files that it has seen out as `-exclude` does. Entries that
//! `-exclude` leaves out do not count as seen; in bfs they do.

use std::collections::HashSet;
use std::sync::Mutex;

use trawl_model::rows::Row;
use trawl_model::sync::lock;
use trawl_model::{Column, ColumnSet};

use crate::context::Context;
use crate::expr::Node;
use crate::leaf::{Effect, Leaf};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-unique` predicate.
pub(crate) static UNIQUE: Predicate = Predicate {
    name: "-unique",
    aliases: &[],
    args: "",
    kind: Kind::GlobalOption,
    help: "skip files already reached under another path; remembers every file",
    cost: Cost::LookUp,
    columns: ColumnSet::of(&[Column::Dev, Column::Ino, Column::Mode]),
    standard: Standard::Bfs,
    parse: Parse::Option(|args| {
        args.settings.is_unique = true;
        Ok(())
    }),
};

/// A node that is true of files seen before.
pub(crate) fn node() -> Node {
    Node::new(&UNIQUE, Box::new(SeenFiles::default()))
}

/// Device and inode numbers of the files seen so far.
#[derive(Debug, Default)]
struct SeenFiles {
    files: Mutex<HashSet<(u64, u64)>>,
}

impl Leaf for SeenFiles {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        cx.acted = true;
        let mut files = lock(&self.files);
        !files.insert((row.dev().as_u64(), row.ino()))
    }

    fn effect(&self) -> Effect {
        Effect::InOrder
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{program, shape};

    #[test]
    fn it_comes_first_wherever_it_stands_and_prints() {
        let program = program("-name x -o -unique");
        assert!(program.expr.needs_turns() && program.prints_by_default);
        let expected = "or(and(or(unique) prune) and(or(name unique) print))";
        assert_eq!(shape(&program.expr), expected);
    }
}
