//! `-unique`: each file once, however many names lead to it. What was seen is
//! not gone into again, which matters where links are followed.
//!
//! It is an option: every entry counts, whatever else is asked, and what was
//! seen is left out as `-exclude` leaves things out. What `-exclude` left out
//! does not count as seen; to bfs it does.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::context::Context;
use crate::expr::Node;
use crate::leaf::{Effect, Leaf};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The predicate.
pub(crate) static UNIQUE: Predicate = Predicate {
    name: "-unique",
    aliases: &[],
    args: "",
    kind: Kind::GlobalOption,
    help: "leave out what was reached before under another name; remembers every file",
    cost: Cost::LookUp,
    columns: ColumnSet::of(&[Column::Dev, Column::Ino, Column::Mode]),
    standard: Standard::Bfs,
    parse: Parse::Option(|args| {
        args.settings.is_unique = true;
        Ok(())
    }),
};

/// True of what was seen before.
pub(crate) fn node() -> Node {
    Node::new(&UNIQUE, Box::new(Seen::default()))
}

/// Devices and inodes of what was seen.
#[derive(Debug, Default)]
struct Seen {
    files: Mutex<HashSet<(u64, u64)>>,
}

impl Leaf for Seen {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        cx.acted = true;
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
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
