//! The trait that every test and action implements.

use trawl_model::ColumnSet;
use trawl_model::filter::Filter;
use trawl_model::rows::Row;

use crate::context::Context;
use crate::lookups::AttributeTest;

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

    /// What it does besides.
    fn effect(&self) -> Effect {
        Effect::None
    }

    /// The test of extended attributes that it is, if it is one.
    fn attribute_test(&self) -> Option<&AttributeTest> {
        None
    }

    /// True if it asks whether directories are empty.
    fn needs_empty_directories(&self) -> bool {
        false
    }
}
