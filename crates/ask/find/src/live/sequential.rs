//! Visits one entry after the other, as GNU find does, if leaves change files
//! or depend on earlier entries: nothing is read ahead of them.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use trawl_model::operation::Operation;
use trawl_model::relative_path::join;
use trawl_model::rows::{Row, RowBatch};
use trawl_sys::SysError;
use trawl_sys::directory::ReadBuffer;
use trawl_walk::Budget;

use super::entries::{Entries, More};
use super::node::{self, Node};
use super::parallel::opened;
use super::probe::{LiveProbe, cause};
use super::visitor::{EntryFacts, Visitor};
use crate::context::{Context, StartPoint};
use crate::driver::{DriverError, Search};
use crate::printer::Part;

/// A directory that is being visited.
struct Frame {
    node: Arc<Node>,
    /// Its path below the start point.
    below: Vec<u8>,
    fd: Option<Arc<OwnedFd>>,
    entries: Entries,
    more: More,
    next: usize,
    /// Set once the contents of the next entry, a directory, are done and the
    /// directory's own turn has come: what was seen of it before.
    back: Option<Back>,
}

/// The facts that were seen of a directory before its contents were changed.
struct Back {
    seen: EntryFacts,
    row: Option<RowBatch>,
}

/// The reason why visiting a directory stopped.
enum Step {
    /// All its entries are done.
    Done,
    /// The search descends into this directory first.
    Into(Node, Vec<u8>),
}

/// Searches the contents of the directory `root`, whose path below the start
/// point is `below`.
pub(super) fn walk(
    search: &Search<'_>,
    point: &StartPoint,
    root: Node,
    below: Vec<u8>,
) -> Result<(), DriverError> {
    let mut walk = Walk {
        search,
        point,
        visitor: Visitor::new(&search.question),
        budget: Budget::of_program(1),
        buffer: ReadBuffer::new(64 << 10),
    };
    let mut stack = Vec::new();
    stack.extend(walk.enter(root, below)?);
    while let Some(frame) = stack.last_mut() {
        if search.is_over() {
            break;
        }
        match walk.go_on(frame)? {
            Step::Done => {
                stack.pop();
            }
            Step::Into(node, below) => {
                if let Some(fd) = frame.fd.take() {
                    frame.node.keep(&fd, &walk.budget);
                    // The read position would be lost with the descriptor.
                    frame.fd = (frame.more == More::Yes).then_some(fd);
                }
                stack.extend(walk.enter(node, below)?);
            }
        }
    }
    Ok(())
}

struct Walk<'w, 's> {
    search: &'w Search<'s>,
    point: &'w StartPoint,
    visitor: Visitor<'w>,
    budget: Arc<Budget>,
    buffer: ReadBuffer,
}

impl Walk<'_, '_> {
    /// Opens a directory and reads its first entries. Returns `None` if the
    /// search cannot descend into it.
    fn enter(&mut self, node: Node, below: Vec<u8>) -> Result<Option<Frame>, DriverError> {
        let node = Arc::new(node);
        let fd = match opened(&self.search.question, &node) {
            Ok(Some(fd)) => fd,
            Ok(None) => return Ok(None),
            Err(error) => {
                self.complain(&below, &error)?;
                return Ok(None);
            }
        };
        let mut frame = Frame {
            node,
            below,
            fd: Some(fd),
            entries: Entries::default(),
            more: More::Yes,
            next: 0,
            back: None,
        };
        self.read_on(&mut frame)?;
        Ok(Some(frame))
    }

    fn read_on(&mut self, frame: &mut Frame) -> Result<(), DriverError> {
        let Some(fd) = &frame.fd else {
            frame.more = More::No;
            return Ok(());
        };
        frame.more = frame.entries.read(fd.as_fd(), &mut self.buffer);
        frame.next = 0;
        match frame.more {
            More::Failed(error) => self.complain(&frame.below, &error),
            More::Yes | More::No => Ok(()),
        }
    }

    fn complain(&self, below: &[u8], error: &SysError) -> Result<(), DriverError> {
        if self.visitor.passes_over(error) {
            return Ok(());
        }
        let path = self.point.spell(below);
        self.search.complain(&path, &cause(error).0)
    }

    /// Visits the entries of a directory until the search has to descend into
    /// another one.
    fn go_on(&mut self, frame: &mut Frame) -> Result<Step, DriverError> {
        loop {
            let step = self.go_through(frame)?;
            match step {
                Step::Done if frame.more == More::Yes && !self.search.has_ended() => {
                    self.read_on(frame)?;
                }
                other => return Ok(other),
            }
        }
    }

    fn go_through(&mut self, frame: &mut Frame) -> Result<Step, DriverError> {
        let fd = match &frame.fd {
            Some(fd) => Arc::clone(fd),
            None => match node::open(&frame.node) {
                Ok(fd) => Arc::clone(frame.fd.insert(fd)),
                Err(error) => {
                    self.complain(&frame.below, &error)?;
                    return Ok(Step::Done);
                }
            },
        };
        let mut part = Part::default();
        let probe = LiveProbe::below(fd.as_fd(), self.search.question.world.follow);
        let late = self.visitor.enter(fd.as_fd());
        let mut cx = Context::new(&self.search.question.world, self.point, &probe);
        cx.late = Some(&late);
        cx.enter_below(&[&frame.below], frame.node.depth());
        self.search.take_turn(&mut cx);
        if frame.next < frame.entries.len() {
            self.search.move_on(&mut cx);
        }
        let span = Operation::TakeEntries.span();
        let mut step = Step::Done;
        while frame.next < frame.entries.len() && !cx.quit {
            if let Some(into) = self.one(frame, fd.as_fd(), &mut cx) {
                step = into;
                break;
            }
        }
        drop(span);
        part.take_back(cx);
        self.search.printer.emit(part)?;
        Ok(step)
    }

    /// Visits the next entry. Returns a step if the search descends into it.
    fn one(
        &mut self,
        frame: &mut Frame,
        fd: std::os::fd::BorrowedFd<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Step> {
        let traversal = &self.search.question.program.traversal;
        let row = frame.entries.row(frame.next);
        cx.next_row();
        if let Some(back) = frame.back.take() {
            frame.next += 1;
            if cx.depth >= traversal.min_depth {
                match &back.row {
                    Some(batch) => self.visitor.evaluate_row(batch, cx),
                    None => {
                        self.visitor.evaluate(fd, &row, &back.seen, cx);
                    }
                }
            }
            return None;
        }
        let seen = self.visitor.see(fd, &row);
        if !self.visitor.tell(&seen, &frame.node, &row, cx) {
            frame.next += 1;
            return None;
        }
        let descends = seen.is_dir && cx.depth < traversal.max_depth;
        let is_early = traversal.is_early(cx.depth, descends);
        if is_early && self.visitor.excludes(fd, &row, &seen, cx) {
            frame.next += 1;
            return None;
        }
        if descends && traversal.contents_first {
            let step = self.step_into(frame, &row, &seen);
            let held = self.visitor.look_ahead(fd, &row, &seen);
            frame.back = Some(Back { seen, row: held });
            return Some(step);
        }
        let mut is_open = true;
        if cx.depth >= traversal.min_depth {
            is_open = self.visitor.evaluate(fd, &row, &seen, cx);
        }
        let goes_in = descends && is_open && !traversal.contents_first && !cx.pruned && !cx.quit;
        let step = goes_in.then(|| self.step_into(frame, &row, &seen));
        frame.next += 1;
        step
    }

    fn step_into(&self, frame: &Frame, row: &Row<'_>, seen: &EntryFacts) -> Step {
        let node = self.visitor.child(&frame.node, row, seen);
        Step::Into(node, join(&frame.below, row.name()))
    }
}
