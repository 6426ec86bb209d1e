//! Handles one entry at a time: looks at it as little as the expression needs,
//! evaluates the expression, and decides whether the search descends into it.

use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;

use trawl_model::rows::{Row, RowBatch};
use trawl_model::{Column, FileType};
use trawl_sys::directory::Links;
use trawl_sys::stat::stat_at;
use trawl_sys::{CWD, Errno, SysError};
use trawl_text::quote;

use super::looker::{Late, Looked, Looker, Meaning};
use super::node::{self, Node};
use crate::context::{Context, Races};
use crate::driver::Question;
use crate::expr::Expr;
use crate::leaf::{Effect, Facts};
use crate::traversal::Follow;

/// The facts known of an entry before the expression is evaluated.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryFacts {
    /// Whether the search would descend into it.
    pub(super) is_dir: bool,
    /// Device and inode number, if it was looked at.
    pub(super) id: Option<(u64, u64)>,
    /// Whether the looker holds its row.
    in_looker: bool,
    /// The error of looking at it.
    error: Option<SysError>,
}

/// Evaluates the expression on entries. One per thread.
pub(super) struct Visitor<'v> {
    pub(super) question: &'v Question<'v>,
    looker: Looker,
    facts: Facts,
    follow: Follow,
    /// Whether inode numbers matter. A mount point has another one than its
    /// directory's entry says.
    asks_inodes: bool,
    /// True if entries are only looked at when a leaf needs it, because leaves
    /// change them.
    looks_late: bool,
    /// True if directories are looked at before the search descends into them.
    looks_before: bool,
    /// The error that prevents looking at any entry of the current directory,
    /// once that was determined.
    shut: Option<Option<SysError>>,
    name: Vec<u8>,
}

impl<'v> Visitor<'v> {
    pub(super) fn new(question: &'v Question<'v>) -> Visitor<'v> {
        let expr = &question.program.expr;
        let traversal = &question.program.traversal;
        Visitor {
            question,
            looks_before: traversal.contents_first && expr.facts() == Facts::Attributes,
            looks_late: expr.has(Effect::Change),
            looker: Looker::new(expr.columns()),
            asks_inodes: expr.columns().contains(Column::Ino),
            facts: expr.facts(),
            follow: question.program.traversal.follow,
            shut: None,
            name: Vec::new(),
        }
    }

    /// Begins with the entries of `dir`. Returns the value that looks at them
    /// when a leaf needs it.
    pub(super) fn enter<'d>(&mut self, dir: BorrowedFd<'d>) -> Late<'d> {
        self.shut = None;
        let wanted = self.question.program.expr.columns();
        Late::new(dir, Meaning::below(self.follow), wanted)
    }

    /// How to open directories below the start point.
    pub(super) fn links_below(&self) -> Links {
        match self.follow {
            Follow::Always => Links::Followed,
            _ => Links::Refused,
        }
    }

    /// How to open the start point.
    pub(super) fn links_at_start(&self) -> Links {
        match self.follow {
            Follow::Never => Links::Refused,
            _ => Links::Followed,
        }
    }

    /// Looks at the start point.
    pub(super) fn look_at_start(&mut self, name: &CStr) -> Result<Looked, SysError> {
        let meaning = match self.follow {
            Follow::Never => Meaning::Itself,
            _ => Meaning::Target,
        };
        self.looker.look(CWD, name, meaning)
    }

    /// Looks at the file at `path`, relative to the working directory, and
    /// names its row `name`.
    pub(super) fn look_at_path(&mut self, path: &CStr, name: &[u8]) -> Result<Looked, SysError> {
        let looked = self.looker.look(CWD, path, Meaning::Target)?;
        self.looker.rename(name);
        Ok(looked)
    }

    /// Evaluates an expression on the entry that was looked at last.
    pub(super) fn evaluate_looked(&self, expr: &Expr, cx: &mut Context<'_>) -> bool {
        expr.eval(&self.looker.row(), cx)
    }

    /// Returns whether an entry is excluded. Called for entries on which the
    /// whole expression is not evaluated, or not yet.
    pub(super) fn excludes(
        &mut self,
        dir: BorrowedFd<'_>,
        row: &Row<'_>,
        seen: &EntryFacts,
        cx: &mut Context<'_>,
    ) -> bool {
        let Some(exclusion) = self.question.program.exclusion() else {
            return false;
        };
        if seen.in_looker || self.facts > Facts::Type && self.look(dir, row).is_ok() {
            return exclusion.eval(&self.looker.row(), cx);
        }
        cx.known = Facts::Type;
        let is_out = exclusion.eval(row, cx);
        cx.known = Facts::Attributes;
        is_out
    }

    fn look(&mut self, dir: BorrowedFd<'_>, row: &Row<'_>) -> Result<Looked, SysError> {
        let meaning = Meaning::below(self.follow);
        self.name.clear();
        self.name.extend_from_slice(row.name());
        self.name.push(0);
        let name = CStr::from_bytes_with_nul(&self.name).unwrap_or_default();
        self.looker.look(dir, name, meaning)
    }

    /// Returns whether directories may lie below themselves even if no link is
    /// followed.
    fn may_loop(&self) -> bool {
        self.question.world.file_systems.may_loop()
    }

    /// Returns the error that prevents looking at any entry of `dir`, which can
    /// be listed but not searched. Determined once per directory.
    fn shut(&mut self, dir: BorrowedFd<'_>) -> Option<SysError> {
        let denied = |error: &SysError| error.errno == Errno::ACCES;
        let ask = || stat_at(dir, c".").err().filter(denied);
        *self.shut.get_or_insert_with(ask)
    }

    /// Determines whether an entry of `dir` is a directory. `row` holds what
    /// `dir` reports about it.
    pub(super) fn see(&mut self, dir: BorrowedFd<'_>, row: &Row<'_>) -> EntryFacts {
        let kind = (row.mode() != 0).then(|| row.file_type());
        let known = match kind {
            Some(FileType::Symlink) => self.follow != Follow::Always,
            // Look at entries that may be part of a loop, whose inode number
            // may not be the one listed here, or that come after their
            // contents: the search cannot descend into an entry that cannot be
            // looked at.
            Some(FileType::Directory) => {
                let looks = self.asks_inodes || self.looks_before;
                self.follow != Follow::Always && !looks && !self.may_loop()
            }
            kind => kind.is_some(),
        };
        if known {
            let is_dir = kind == Some(FileType::Directory);
            let error = self.shut(dir).filter(|_| is_dir);
            return EntryFacts {
                is_dir: is_dir && error.is_none(),
                id: None,
                in_looker: false,
                error,
            };
        }
        match self.look(dir, row) {
            Ok(looked) => EntryFacts {
                is_dir: looked.is_dir,
                id: Some((looked.dev, looked.ino)),
                in_looker: true,
                error: looked.trouble,
            },
            Err(error) => EntryFacts {
                is_dir: false,
                id: None,
                in_looker: false,
                error: Some(error),
            },
        }
    }

    /// Reports the error that seeing the entry led to. Returns whether the
    /// expression is evaluated on it nevertheless.
    pub(super) fn tell(
        &self,
        seen: &EntryFacts,
        node: &Node,
        row: &Row<'_>,
        cx: &mut Context<'_>,
    ) -> bool {
        if let Some(id) = seen.id.filter(|_| seen.is_dir)
            && let Some(depth) = node::find_above(node, id)
        {
            let path = cx.path(row).to_vec();
            let start = cx.start;
            let above = match depth {
                0 => &start.spelled[..],
                _ => ancestor(&path, node.depth() + 1 - depth),
            };
            let quoted = |path| quote::message(path, self.question.world.locale);
            cx.complain(&format!(
                "File system loop detected; {} is part of the same file system loop as {}.",
                quoted(&path),
                quoted(above)
            ));
            return false;
        }
        match &seen.error {
            Some(error) if self.passes_over(error) => false,
            Some(error) => {
                cx.cannot_look(row, *error);
                error.errno != Errno::LOOP
            }
            None => true,
        }
    }

    /// Evaluates the expression on an entry. Returns false if the entry cannot
    /// be looked at, so that the search does not descend into it either.
    pub(super) fn evaluate(
        &mut self,
        dir: BorrowedFd<'_>,
        row: &Row<'_>,
        seen: &EntryFacts,
        cx: &mut Context<'_>,
    ) -> bool {
        let expr = &self.question.program.expr;
        if seen.in_looker {
            expr.eval(&self.looker.row(), cx);
            return true;
        }
        if seen.error.is_some() {
            // Its type is not known either, so the search does not descend into
            // it.
            evaluate_late(expr, row, Facts::Name, cx);
            return false;
        }
        if self.facts <= Facts::Type {
            evaluate_late(expr, row, Facts::Type, cx);
            return true;
        }
        let is_known = row.mode() != 0;
        // If no entry can be looked at, each look that GNU find takes is
        // reported.
        if is_known && expr.is_idle(row, cx, Facts::Type) && self.shut(dir).is_none() {
            return true;
        }
        if is_known && !seen.is_dir && (self.looks_late || matches!(self.shut, Some(Some(_)))) {
            evaluate_late(expr, row, Facts::Type, cx);
            return true;
        }
        match self.look(dir, row) {
            Ok(_) => {
                expr.eval(&self.looker.row(), cx);
                true
            }
            Err(error) if self.passes_over(&error) => false,
            Err(_) if is_known && !seen.is_dir => {
                evaluate_late(expr, row, Facts::Type, cx);
                false
            }
            Err(error) => {
                cx.cannot_look(row, error);
                evaluate_late(expr, row, Facts::Name, cx);
                false
            }
        }
    }

    /// Returns the entry's row as it is before its contents are changed; `None`
    /// if no leaf needs it or it cannot be read.
    pub(super) fn look_ahead(
        &mut self,
        dir: BorrowedFd<'_>,
        row: &Row<'_>,
        seen: &EntryFacts,
    ) -> Option<RowBatch> {
        // The row of an earlier look is overwritten by the next one.
        if !seen.in_looker {
            if self.facts <= Facts::Type {
                return None;
            }
            self.look(dir, row).ok()?;
        }
        Some(self.looker.row().alone())
    }

    /// Evaluates the expression on a row of [`Visitor::look_ahead`].
    pub(super) fn evaluate_row(&self, batch: &RowBatch, cx: &mut Context<'_>) {
        let row = Row {
            batch,
            at: 0,
            dir: b"",
        };
        self.question.program.inclusion().eval(&row, cx);
    }

    /// Returns true for the error of an entry that has vanished, if such errors
    /// are ignored.
    pub(super) fn passes_over(&self, error: &SysError) -> bool {
        self.question.world.races == Races::Ignored && error.errno == Errno::NOENT
    }

    /// Returns the node of an entry of `node` that is a directory.
    pub(super) fn child(
        &self,
        node: &std::sync::Arc<Node>,
        row: &Row<'_>,
        seen: &EntryFacts,
    ) -> Node {
        let name = CString::new(row.name()).unwrap_or_default();
        node::child(node, name, self.links_below(), seen.id)
    }
}

/// Evaluates an expression on an entry of which only `known` facts are known.
/// Leaves that need more look at it.
fn evaluate_late(expr: &Expr, row: &Row<'_>, known: Facts, cx: &mut Context<'_>) {
    cx.look_late(known);
    expr.eval(row, cx);
    cx.look_late(Facts::Attributes);
}

/// Returns the path `levels` levels above.
fn ancestor(path: &[u8], levels: usize) -> &[u8] {
    let mut above = path;
    for _ in 0..levels {
        let slash = above.iter().rposition(|byte| *byte == b'/');
        above = &above[..slash.unwrap_or(above.len())];
    }
    above
}
