//! Finds out where many links lead at once, for the leaves that ask (`-xtype`, `%Y`).
//!
//! To look up one path costs almost as much as to look up a thousand. So the rows of links are put
//! to the expression twice: first without printing, to learn about which links its leaves ask.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::File;

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet, FileType};
use trawl_query::{Batch, QueryError};

use super::Scope;
use super::links::LINKS_AT_ONCE;
use super::probe::IndexProbe;
use super::walk::rows_of;
use crate::context::{Context, Turn};
use crate::lookups::AttributeTest;
use crate::probe::{Access, Cause, NameInDirectory, Probe, Target};
use crate::resolve::Remembered;

/// A probe that knows where some links lead.
pub(super) struct KnownTargets<'p> {
    inner: &'p IndexProbe<'p>,
    /// Targets by the stored paths of the links.
    targets: HashMap<Vec<u8>, Target>,
    /// If set, it answers nothing about targets, and this tells whether it was asked.
    asked: Option<Cell<bool>>,
}

impl<'p> KnownTargets<'p> {
    /// Finds the targets of those links among the rows of a batch that the expression asks about.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub(super) fn of(
        scope: &Scope<'p>,
        batch: &mut Batch<'_>,
    ) -> Result<KnownTargets<'p>, QueryError> {
        let mut known = KnownTargets {
            inner: scope.probe,
            targets: HashMap::new(),
            asked: None,
        };
        if !scope.program.expr.follows_links() {
            return Ok(known);
        }
        let places = Remembered::new(scope.probe.index(), ColumnSet::of(&[Column::Mode]));
        for some in asked_about(scope, batch)?.chunks(LINKS_AT_ONCE) {
            places.prepare_links(some.iter().map(Vec::as_slice))?;
            for link in some {
                let target = scope.probe.target_of(&places, link);
                known.targets.insert(link.clone(), target);
            }
        }
        Ok(known)
    }
}

/// Returns the stored paths of the links about whose targets the expression asks.
fn asked_about(scope: &Scope<'_>, batch: &mut Batch<'_>) -> Result<Vec<Vec<u8>>, QueryError> {
    let asking = KnownTargets {
        inner: scope.probe,
        targets: HashMap::new(),
        asked: Some(Cell::new(false)),
    };
    let mut links = Vec::new();
    let mut cx = Context::new(scope.world, scope.point, &asking);
    cx.turn = Turn::Scout;
    cx.is_trial = true;
    batch.for_each_listing(|listing| {
        let depth = scope.place.depth + listing.dir.depth;
        cx.enter_below(&scope.place.parts(listing.dir.path), depth);
        for row in rows_of(listing).filter(|row| row.file_type() == FileType::Symlink) {
            cx.next_row();
            scope.program.expr.eval(&row, &mut cx);
            // A leaf that is not evaluated until its turn may ask, too.
            if asking.was_asked() || cx.deferred.is_some() {
                links.push(row.path());
            }
        }
        cx.complaints.clear();
    })?;
    Ok(links)
}

impl KnownTargets<'_> {
    /// Returns whether it was asked about a target since the last call.
    fn was_asked(&self) -> bool {
        self.asked.as_ref().is_some_and(Cell::take)
    }
}

impl Probe for KnownTargets<'_> {
    fn target(&self, row: &Row<'_>, path: &[u8]) -> Target {
        if let Some(asked) = &self.asked {
            asked.set(true);
            return Target::Missing;
        }
        let known = match self.targets.is_empty() {
            true => None,
            false => self.targets.get(&row.path()).cloned(),
        };
        known.unwrap_or_else(|| self.inner.target(row, path))
    }

    fn is_empty_directory(&self, row: &Row<'_>, path: &[u8]) -> Result<bool, Cause> {
        self.inner.is_empty_directory(row, path)
    }

    fn own_type(&self, row: &Row<'_>, path: &[u8]) -> Target {
        self.inner.own_type(row, path)
    }

    fn may(&self, row: &Row<'_>, path: &[u8], access: Access) -> bool {
        self.inner.may(row, path, access)
    }

    fn has_attribute(&self, row: &Row<'_>, path: &[u8], test: &AttributeTest) -> bool {
        self.inner.has_attribute(row, path, test)
    }

    fn place(&self, row: &Row<'_>, path: &[u8]) -> Option<NameInDirectory<'_>> {
        self.inner.place(row, path)
    }

    fn content(&self, row: &Row<'_>, path: &[u8]) -> Result<File, Cause> {
        self.inner.content(row, path)
    }
}
