//! `-prune`: keeps the search from descending into a directory.

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet, FileType};

use crate::context::Context;
use crate::expr::Node;
use crate::leaf::{Effect, Facts, Leaf};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-prune` predicate.
pub(crate) static PRUNE: Predicate = Predicate {
    name: "-prune",
    aliases: &[],
    args: "",
    kind: Kind::Action,
    help: "do not descend into the directory (no effect with -depth); always true",
    cost: Cost::Free,
    columns: ColumnSet::of(&[Column::Mode]),
    standard: Standard::Posix,
    parse: Parse::Leaf(|args| {
        let is_idle = args.settings.traversal.contents_first;
        Ok(Box::new(Prune { is_idle }))
    }),
};

#[derive(Debug)]
struct Prune {
    /// True after `-depth`, where the action has no effect and needs no facts.
    is_idle: bool,
}

/// A node that prunes.
pub(crate) fn node() -> Node {
    Node::new(&PRUNE, Box::new(Prune { is_idle: false }))
}

impl Leaf for Prune {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        if self.is_idle {
            return true;
        }
        if row.file_type() == FileType::Directory {
            cx.pruned = true;
            return true;
        }
        // GNU find looks at the entry first; the action is false if that fails.
        cx.is_there(row)
    }

    fn effect(&self) -> Effect {
        Effect::Prune
    }

    fn facts(&self) -> Option<Facts> {
        Some(match self.is_idle {
            true => Facts::Name,
            false => Facts::Type,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, run_on};

    #[test]
    fn only_directories_are_pruned() {
        let directory = Spec {
            mode: 0o040_755,
            ..Spec::named("d")
        };
        assert!(run_on("-name d -prune", &directory).pruned);
        assert!(!run_on("-name x -prune", &directory).pruned);
        assert!(!run_on("-prune", &Spec::named("f")).pruned);
    }
}
