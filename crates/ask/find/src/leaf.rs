//! The trait that every test and action implements.

use trawl_model::filter::Filter;
use trawl_model::rows::Row;
use trawl_model::{ColumnSet, Timestamp};

use crate::context::Context;
use crate::lookups::AttributeTest;
use crate::output::Mark;

/// The effect of a leaf besides its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// None: the leaf may be evaluated earlier, later or not at all.
    None,
    /// Writes to the output.
    Output,
    /// Keeps the search from descending into a directory.
    Prune,
    /// Ends the search.
    Quit,
    /// Depends on earlier rows: evaluated in order, by one thread.
    InOrder,
    /// Runs a command or changes a file: evaluated in order, by one thread, on
    /// the current state of the file.
    Change,
}

impl Effect {
    /// Effects that a user of the search can see.
    pub const VISIBLE: [Effect; 4] = [
        Effect::Output,
        Effect::Quit,
        Effect::InOrder,
        Effect::Change,
    ];

    /// Returns true if a leaf with this effect has to be evaluated in its turn.
    pub fn needs_turn(self) -> bool {
        matches!(self, Effect::InOrder | Effect::Change)
    }
}

/// The facts that must be known of an entry of the live file system before a
/// leaf can be evaluated on it. Each one costs more than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Facts {
    /// Its name.
    Name,
    /// Also the inode number that its directory reports.
    Number,
    /// Also its type.
    Type,
    /// Also its attributes, stat(2).
    Attributes,
}

/// A test or an action, ready to be evaluated on rows.
pub trait Leaf: Send + Sync + std::fmt::Debug {
    /// Returns whether it is true of the row.
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool;

    /// Columns that it reads in addition to those of its predicate.
    fn columns(&self) -> ColumnSet {
        ColumnSet::EMPTY
    }

    /// A condition that every row fulfils that the leaf is true of.
    fn filter(&self) -> Filter {
        Filter::default()
    }

    /// A condition on the rows that this test may complain of; `None` if it
    /// never complains.
    fn complains_of(&self) -> Option<Filter> {
        None
    }

    /// Its effect besides its value.
    fn effect(&self) -> Effect {
        Effect::None
    }

    /// True if it suppresses the default `-print`.
    fn replaces_print(&self) -> bool {
        matches!(self.effect(), Effect::Output | Effect::Change)
    }

    /// The byte after each path, if the leaf only prints the path to standard
    /// output. Many paths can then be printed at once.
    fn path_end(&self) -> Option<u8> {
        None
    }

    /// The time that it compares an entry's time with, if it does.
    fn moment(&self) -> Option<Timestamp> {
        None
    }

    /// True if it is true of every entry.
    fn is_always_true(&self) -> bool {
        false
    }

    /// The facts that it needs of an entry of the live file system; `None` if
    /// they follow from its columns.
    fn facts(&self) -> Option<Facts> {
        None
    }

    /// The program that it runs on each entry whose turn it is, with the entry as an argument and
    /// without asking.
    fn command(&self) -> Option<&[u8]> {
        None
    }

    /// Called before entries of this depth: runs the commands that were put off
    /// until the search moves to another directory.
    fn move_on(&self, _depth: usize, _: &mut Context<'_>) {}

    /// Takes over the output that the expression printed for the row since
    /// `mark`. Only a leaf that orders the whole output does this.
    fn collect(&self, _: &Row<'_>, _: &mut Context<'_>, _mark: Mark) {}

    /// Does the work that was put off until the search has ended.
    fn finish(&self, _: &mut Context<'_>) {}

    /// Its test of extended attributes, if it is one.
    fn attribute_test(&self) -> Option<&AttributeTest> {
        None
    }

    /// True if it may ask where a symbolic link leads.
    fn follows_links(&self) -> bool {
        false
    }

    /// True if it tests whether directories are empty.
    fn needs_empty_directories(&self) -> bool {
        false
    }
}
