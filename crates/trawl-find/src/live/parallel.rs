//! Reads many directories at once, and writes their output in the order in
//! which GNU find would print it.
//!
//! Every directory is one task. Waiting tasks lie on a stack, so that those
//! whose output comes first are taken first. Each task fills a slot with
//! pieces: the output of its entries and, in between, the slots of the
//! directories below. The calling thread writes pieces in order as far as they
//! are available, and runs tasks itself while they are not. When too much
//! output is waiting to be written, only that thread continues.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use trawl_model::rows::RowBatch;
use trawl_sys::SysError;
use trawl_sys::directory::ReadBuffer;
use trawl_sys::stat::stat_fd;
use trawl_text::quote;

use super::entries::{Entries, More};
use super::node::{Budget, Node};
use super::probe::{LiveProbe, cause};
use super::sequential::child_path;
use super::visitor::Visitor;
use crate::context::{Buffers, Context, StartPoint};
use crate::driver::{DriverError, Question, Search};
use crate::printer::Part;

/// Bytes of output that may wait to be written before worker threads wait.
const UNWRITTEN_MAX_BYTES: usize = 64 << 20;
/// Maximum number of threads.
const THREADS_MAX: usize = 8;

/// A directory to be read, or to be read further.
struct Task {
    node: Arc<Node>,
    below: Vec<u8>,
    /// If a part of it was read: the open directory, and the entries that were
    /// read ahead.
    begun: Option<(Arc<OwnedFd>, RowBatch)>,
    slot: Arc<Slot>,
}

/// The output of a directory, once it has been read.
#[derive(Default)]
struct Slot {
    pieces: Mutex<Option<VecDeque<Piece>>>,
}

/// A piece of a directory's output.
enum Piece {
    Part(Box<Part>),
    Below(Arc<Slot>),
}

impl Slot {
    fn take(&self) -> Option<VecDeque<Piece>> {
        lock(&self.pieces).take()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
struct State {
    /// Waiting tasks; the last one comes next.
    tasks: Vec<Task>,
    waiting: usize,
    unwritten_bytes: usize,
    is_over: bool,
}

/// State that threads share.
struct Pool<'p> {
    question: &'p Question<'p>,
    point: &'p StartPoint,
    budget: Arc<Budget>,
    state: Mutex<State>,
    changed: Condvar,
}

/// Searches the contents of the directory `root`, whose path below the start
/// point is `below`.
pub(super) fn walk(
    search: &Search<'_>,
    point: &StartPoint,
    root: Node,
    below: Vec<u8>,
) -> Result<(), DriverError> {
    let threads = threads(&search.question);
    let slot = Arc::new(Slot::default());
    let pool = Pool {
        question: &search.question,
        point,
        budget: Budget::of_process(threads),
        state: Mutex::default(),
        changed: Condvar::new(),
    };
    lock(&pool.state).tasks.push(Task {
        node: Arc::new(root),
        below,
        begun: None,
        slot: Arc::clone(&slot),
    });
    std::thread::scope(|scope| {
        for number in 1..threads {
            let name = format!("find-{number}");
            let help = || Worker::new(&pool).help();
            // A thread that cannot be created only makes the search slower.
            let _ = std::thread::Builder::new()
                .name(name)
                .spawn_scoped(scope, help);
        }
        let done = pool.write(search, slot);
        lock(&pool.state).is_over = true;
        pool.changed.notify_all();
        done
    })
}

fn threads(question: &Question<'_>) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let wanted = question
        .options
        .threads
        .map_or_else(processors, std::num::NonZero::get);
    let limit = usize::try_from(trawl_sys::process::descriptor_limit()).unwrap_or(usize::MAX);
    // Each thread needs some descriptors; commands and streams need a few more.
    let affordable = limit.saturating_sub(8) / super::node::PER_THREAD;
    wanted.clamp(1, THREADS_MAX).min(affordable.max(1))
}

impl Pool<'_> {
    /// Writes the pieces of a slot, and of the slots below it, in order.
    fn write(&self, search: &Search<'_>, first: Arc<Slot>) -> Result<(), DriverError> {
        let mut worker = Worker::new(self);
        let mut stack = vec![self.wait_for(&first, &mut worker)];
        while let Some(pieces) = stack.last_mut() {
            if search.is_over() {
                break;
            }
            match pieces.pop_front() {
                None => {
                    stack.pop();
                }
                Some(Piece::Part(part)) => {
                    self.note_written(part.len());
                    search.printer.emit(*part)?;
                }
                Some(Piece::Below(slot)) => {
                    let pieces = self.wait_for(&slot, &mut worker);
                    stack.push(pieces);
                }
            }
        }
        Ok(())
    }

    /// Returns the pieces of a slot, and runs tasks until they are available.
    fn wait_for(&self, slot: &Slot, worker: &mut Worker<'_>) -> VecDeque<Piece> {
        loop {
            if let Some(pieces) = slot.take() {
                return pieces;
            }
            let mut state = lock(&self.state);
            // It may have been filled in the meantime.
            if let Some(pieces) = slot.take() {
                return pieces;
            }
            match state.tasks.pop() {
                Some(task) => {
                    drop(state);
                    worker.run(task);
                }
                None => {
                    state.waiting += 1;
                    let mut state = self
                        .changed
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                    state.waiting -= 1;
                }
            }
        }
    }

    fn note_written(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let mut state = lock(&self.state);
        let before = state.unwritten_bytes;
        state.unwritten_bytes = before.saturating_sub(bytes);
        if before > UNWRITTEN_MAX_BYTES && state.waiting > 0 {
            self.changed.notify_all();
        }
    }

    /// Returns the next task for a worker thread; `None` at the end of the
    /// search.
    fn next(&self) -> Option<Task> {
        let mut state = lock(&self.state);
        loop {
            if state.is_over {
                return None;
            }
            if state.unwritten_bytes <= UNWRITTEN_MAX_BYTES
                && let Some(task) = state.tasks.pop()
            {
                return Some(task);
            }
            state.waiting += 1;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
    }

    /// Publishes a task's output, and adds the tasks for the directories below
    /// it.
    fn put(&self, slot: &Slot, pieces: VecDeque<Piece>, below: &mut Vec<Task>, bytes: usize) {
        let mut state = lock(&self.state);
        state.unwritten_bytes += bytes;
        // The first one has to be taken first.
        state.tasks.extend(below.drain(..).rev());
        *lock(&slot.pieces) = Some(pieces);
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }
}

/// One thread's state.
struct Worker<'p> {
    pool: &'p Pool<'p>,
    visitor: Visitor<'p>,
    entries: Entries,
    buffer: ReadBuffer,
    buffers: Buffers,
    below: Vec<Task>,
}

impl<'p> Worker<'p> {
    fn new(pool: &'p Pool<'p>) -> Worker<'p> {
        Worker {
            pool,
            visitor: Visitor::new(pool.question),
            entries: Entries::default(),
            buffer: ReadBuffer::new(64 << 10),
            buffers: Buffers::default(),
            below: Vec::new(),
        }
    }

    fn help(mut self) {
        while let Some(task) = self.pool.next() {
            self.run(task);
        }
    }

    fn run(&mut self, mut task: Task) {
        let mut pieces = VecDeque::new();
        let fd = match task.begun.take() {
            Some((fd, ahead)) => {
                self.entries.go_on_with(ahead);
                Ok(Some(fd))
            }
            None => opened(self.pool.question, &task.node),
        };
        match fd {
            Ok(Some(fd)) => self.list(&task, &fd, &mut pieces),
            Ok(None) => {}
            Err(error) => pieces.extend(self.complaint(&task.below, &error)),
        }
        let bytes = pieces.iter().map(|piece| match piece {
            Piece::Part(part) => part.len(),
            Piece::Below(_) => 0,
        });
        let bytes = bytes.sum();
        self.pool.put(&task.slot, pieces, &mut self.below, bytes);
    }

    fn list(&mut self, task: &Task, fd: &Arc<OwnedFd>, pieces: &mut VecDeque<Piece>) {
        let more = self.entries.read(fd.as_fd(), &mut self.buffer);
        self.take_entries(task, fd, pieces);
        if !self.below.is_empty() {
            task.node.keep(fd, &self.pool.budget);
        }
        match more {
            More::No => {}
            More::Failed(error) => pieces.extend(self.complaint(&task.below, &error)),
            More::Yes => {
                let slot = Arc::new(Slot::default());
                pieces.push_back(Piece::Below(Arc::clone(&slot)));
                self.below.push(Task {
                    node: Arc::clone(&task.node),
                    below: task.below.clone(),
                    begun: Some((Arc::clone(fd), self.entries.take_ahead())),
                    slot,
                });
            }
        }
    }

    /// Evaluates the expression on the entries that were read.
    fn take_entries(&mut self, task: &Task, fd: &Arc<OwnedFd>, pieces: &mut VecDeque<Piece>) {
        let question = self.pool.question;
        let traversal = &question.program.traversal;
        let probe = LiveProbe::below(fd.as_fd(), question.world.follow);
        let buffers = std::mem::take(&mut self.buffers);
        let late = self.visitor.enter(fd.as_fd());
        let mut cx = Context::new(&question.world, self.pool.point, &probe).with_buffers(buffers);
        cx.late = Some(&late);
        cx.enter_below(&[&task.below], task.node.depth);
        for position in 0..self.entries.len() {
            let row = self.entries.row(position);
            cx.next_row();
            let seen = self.visitor.see(fd.as_fd(), &row);
            if !self.visitor.tell(&seen, &task.node, &row, &mut cx) {
                continue;
            }
            let descends = seen.is_dir && cx.depth < traversal.max_depth;
            let is_early = traversal.is_early(cx.depth, descends);
            if is_early && self.visitor.excludes(fd.as_fd(), &row, &seen, &mut cx) {
                continue;
            }
            if descends && traversal.contents_first {
                cut(&mut cx, pieces);
                self.below
                    .push(below(&self.visitor, task, &row, &seen, pieces));
            }
            let mut is_open = true;
            if cx.depth >= traversal.min_depth {
                is_open = self.visitor.evaluate(fd.as_fd(), &row, &seen, &mut cx);
            }
            if cx.quit {
                break;
            }
            if descends && is_open && !traversal.contents_first && !cx.pruned {
                cut(&mut cx, pieces);
                self.below
                    .push(below(&self.visitor, task, &row, &seen, pieces));
            }
        }
        cut(&mut cx, pieces);
        self.buffers = cx.take_buffers();
    }

    fn complaint(&self, below: &[u8], error: &SysError) -> Option<Piece> {
        if self.visitor.passes_over(error) {
            return None;
        }
        let path = self.pool.point.spell(below);
        let quoted = quote::message(&path, self.pool.question.world.locale);
        Some(Piece::Part(Box::new(Part {
            complaints: format!("{quoted}: {}\n", cause(error).0).into_bytes(),
            failed: true,
            ..Part::default()
        })))
    }
}

/// Returns the task that reads a directory, and marks the directory's place in
/// the output.
fn below(
    visitor: &Visitor<'_>,
    task: &Task,
    row: &trawl_model::rows::Row<'_>,
    seen: &super::visitor::Seen,
    pieces: &mut VecDeque<Piece>,
) -> Task {
    let slot = Arc::new(Slot::default());
    pieces.push_back(Piece::Below(Arc::clone(&slot)));
    Task {
        node: Arc::new(visitor.child(&task.node, row, seen)),
        below: child_path(&task.below, row.name()),
        begun: None,
        slot,
    }
}

/// Ends a piece of output, if there is anything in it.
fn cut(cx: &mut Context<'_>, pieces: &mut VecDeque<Piece>) {
    let part = Part {
        out: std::mem::take(&mut cx.out),
        others: std::mem::take(&mut cx.others),
        complaints: std::mem::take(&mut cx.complaints),
        failed: std::mem::take(&mut cx.failed),
        quit: cx.quit,
        buffers: Buffers::default(),
    };
    if !part.is_empty() {
        pieces.push_back(Piece::Part(Box::new(part)));
    }
}

/// Opens a directory. Returns `None` if it lies on another file system, which
/// `-xdev` excludes.
pub(super) fn opened(
    question: &Question<'_>,
    node: &Node,
) -> Result<Option<Arc<OwnedFd>>, SysError> {
    let fd = node.open()?;
    if question.program.traversal.one_file_system {
        let dev = stat_fd(&*fd)?.dev.as_u64();
        if node.device != dev {
            return Ok(None);
        }
    }
    Ok(Some(fd))
}
