//! Tells in advance which files commands will be run on.

use std::collections::HashSet;

use trawl_model::rows::Row;
use trawl_model::{FileType, path};

use super::below;
use super::walk::Waiting;
use crate::context::StartPoint;
use crate::driver::Search;
use crate::foresight::Foresight;

/// The files that come, and the one whose turn it is.
#[derive(Debug)]
pub(super) struct Ahead {
    foresight: Box<dyn Foresight>,
    /// Leaves that run a command which may read the entry.
    leaves: HashSet<usize>,
    /// Position of the next file.
    next: usize,
}

impl Ahead {
    /// Makes one; `None` if no command reads what it is given, or nobody fetches ahead.
    pub(super) fn of(search: &Search<'_>) -> Option<Ahead> {
        let foresight = (search.question.world.foresight)()?;
        let mut leaves = HashSet::new();
        search.question.program.expr.leaves(&mut |node| {
            let reads = |program| foresight.may_read(program);
            if node.leaf.command().is_some_and(reads) {
                leaves.insert(std::ptr::from_ref(node).addr());
            }
        });
        (!leaves.is_empty()).then_some(Ahead {
            foresight,
            leaves,
            next: 0,
        })
    }

    /// Tells which files come.
    pub(super) fn coming(&mut self, point: &StartPoint, rows: &[Waiting]) {
        let rows = rows.iter().filter(|waiting| self.is_read(waiting));
        let files = rows.map(|waiting| {
            let dir = point.spell(below(point, &waiting.dir));
            path::join(dir.strip_suffix(b"/").unwrap_or(&dir), row(waiting).name())
        });
        let files = files.collect();
        self.next = 0;
        self.foresight.coming(files);
    }

    /// Begins a row's turn; returns the position to end it with, if its file was told.
    pub(super) fn begin(&mut self, waiting: &Waiting) -> Option<usize> {
        if !self.is_read(waiting) {
            return None;
        }
        let position = self.next;
        self.next += 1;
        self.foresight.before(position);
        Some(position)
    }

    /// Ends a turn.
    pub(super) fn end(&mut self, position: usize) {
        self.foresight.after(position);
    }

    fn is_read(&self, waiting: &Waiting) -> bool {
        self.leaves.contains(&waiting.stop.leaf) && row(waiting).file_type() == FileType::Regular
    }
}

fn row(waiting: &Waiting) -> Row<'_> {
    Row {
        batch: &waiting.batch,
        at: 0,
        dir: &waiting.dir,
    }
}
