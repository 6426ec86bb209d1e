//! The trait that every test and action implements.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{ColumnSet, Timestamp};

use crate::context::Context;
use crate::lookups::AttributeTest;
use crate::output::Mark;

/// What a leaf does besides being true or false.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Nothing: it may be run earlier, later or not at all.
    None,
    /// Writes to the output.
    Output,
    /// Keeps the search out of a directory.
    Prune,
    /// Ends the search.
    Quit,
    /// Depends on the rows before: evaluated in order, by one thread.
    InOrder,
    /// Runs a command or changes a file: evaluated in order, by one thread,
    /// on what is there now.
    Change,
}

impl Effect {
    /// Everything that may be seen of a search.
    pub const VISIBLE: [Effect; 4] = [
        Effect::Output,
        Effect::Quit,
        Effect::InOrder,
        Effect::Change,
    ];

    /// True if a leaf with this effect needs its turn.
    pub fn needs_turn(self) -> bool {
        matches!(self, Effect::InOrder | Effect::Change)
    }
}

/// What has to be known of an entry of the live file system before a leaf can
/// be put to it: each more costly than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Facts {
    /// Its name.
    Name,
    /// And the inode number that its directory says.
    Number,
    /// And its type.
    Type,
    /// And its attributes, stat(2).
    Attributes,
}

/// A test or an action, ready to be put to rows.
pub trait Leaf: Send + Sync + std::fmt::Debug {
    /// Whether it is true of the row.
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool;

    /// Columns that it reads beyond those of its predicate.
    fn columns(&self) -> ColumnSet {
        ColumnSet::EMPTY
    }

    /// What every row fulfils of which it is true.
    fn filter(&self) -> Filter {
        Filter::default()
    }

    /// What a row must fulfil before this test can complain of it; `None` if it never complains.
    fn complains_of(&self) -> Option<Filter> {
        None
    }

    /// What it does besides.
    fn effect(&self) -> Effect {
        Effect::None
    }

    /// True if nothing is printed by default beside it.
    fn replaces_print(&self) -> bool {
        matches!(self.effect(), Effect::Output | Effect::Change)
    }

    /// What ends each path, if printing the path to standard output is all that
    /// it does: many paths are printed at once.
    fn path_end(&self) -> Option<u8> {
        None
    }

    /// The time that it compares an entry's with.
    fn moment(&self) -> Option<Timestamp> {
        None
    }

    /// True if it holds for every entry.
    fn is_always_true(&self) -> bool {
        false
    }

    /// What it has to know of an entry of the live file system; `None` if that
    /// follows from its columns.
    fn facts(&self) -> Option<Facts> {
        None
    }

    /// Entries of this depth come next: does what was put off until the search
    /// goes to another directory.
    fn move_on(&self, _depth: usize, _: &mut Context<'_>) {}

    /// Takes over what an expression printed of the row since `mark`, where
    /// this leaf stands for the order of the whole output.
    fn collect(&self, _: &Row<'_>, _: &mut Context<'_>, _mark: Mark) {}

    /// Does what was put off until the search has ended.
    fn finish(&self, _: &mut Context<'_>) {}

    /// The test of extended attributes that it is, if it is one.
    fn attribute_test(&self) -> Option<&AttributeTest> {
        None
    }

    /// True if it asks whether directories are empty.
    fn needs_empty_directories(&self) -> bool {
        false
    }
}
