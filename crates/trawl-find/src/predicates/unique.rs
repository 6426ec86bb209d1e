//! `-unique`: each file once, however many names lead to it.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet};

use crate::context::Context;
use crate::leaf::{Effect, Leaf};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The predicate.
pub(crate) static UNIQUE: Predicate = Predicate {
    name: "-unique",
    aliases: &[],
    args: "",
    kind: Kind::Test,
    help: "was not reached here before under another name; remembers every file",
    cost: Cost::LookUp,
    columns: ColumnSet::of(&[Column::Dev, Column::Ino]),
    standard: Standard::Bfs,
    parse: Parse::Leaf(|_| Ok(Box::new(Unique::default()))),
};

/// Devices and inodes of what was seen.
#[derive(Debug, Default)]
struct Unique {
    seen: Mutex<HashSet<(u64, u64)>>,
}

impl Leaf for Unique {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        cx.acted = true;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert((row.dev().as_u64(), row.ino()))
    }

    fn effect(&self) -> Effect {
        Effect::InOrder
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::program;

    #[test]
    fn it_needs_its_turn_and_prints() {
        let program = program("-unique");
        assert!(program.expr.needs_turns() && program.prints_by_default);
    }
}
