//! Reads many directories at once, and writes their output in the order in
//! which GNU find would print it.
//!
//! Every directory is a task of a [`Pool`]; a very large one is a task for each
//! part of it. The calling thread writes the output as far as it is available,
//! and runs tasks itself while it is not. When too much output is waiting to be
//! written, only that thread continues.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use trawl_model::operation::Operation;
use trawl_model::relative_path::join;
use trawl_model::rows::{Row, RowBatch};
use trawl_model::sync::processors;
use trawl_sys::SysError;
use trawl_sys::directory::ReadBuffer;
use trawl_sys::stat::stat_fd;
use trawl_text::quote;
use trawl_walk::{Budget, Lost, Patience, Pool, Reader, Step};

use super::entries::{Entries, More};
use super::node::{self, Node};
use super::probe::{LiveProbe, cause};
use super::visitor::{EntryFacts, Visitor};
use crate::context::{Buffers, Context, StartPoint};
use crate::driver::{DriverError, Question, Search};
use crate::printer::Part;

/// Bytes of output that may wait to be written before worker threads wait.
const UNWRITTEN_MAX_BYTES: usize = 64 << 20;
/// Maximum number of threads.
const THREADS_MAX: usize = 8;
/// Descriptors that commands and streams need besides the threads.
const OTHER_DESCRIPTORS: usize = 8;

/// A directory to be read, or to be read further.
struct Task {
    node: Arc<Node>,
    below: Vec<u8>,
    /// If a part of it was read: the open directory, and the entries that were
    /// read ahead.
    begun: Option<(Arc<OwnedFd>, RowBatch)>,
}

/// What the threads share.
struct Shared<'s> {
    question: &'s Question<'s>,
    point: &'s StartPoint,
    budget: Arc<Budget>,
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
    let shared = Shared {
        question: &search.question,
        point,
        budget: Budget::of_program(threads),
    };
    let pool = Pool::new(UNWRITTEN_MAX_BYTES);
    std::thread::scope(|scope| {
        let help = || pool.help(Worker::new(&shared));
        let start = |number| {
            let name = format!("find-{number}");
            // A thread that cannot be created only makes the search slower.
            let builder = std::thread::Builder::new().name(name);
            builder.spawn_scoped(scope, help).ok()
        };
        let helpers: Vec<_> = (1..threads).filter_map(start).collect();
        let mut reader = Reader::new(&pool, Worker::new(&shared));
        reader.begin([Task {
            node: Arc::new(root),
            below,
            begun: None,
        }]);
        let written = write(search, &mut reader);
        drop(reader);
        let ends = helpers.into_iter().map(std::thread::ScopedJoinHandle::join);
        let panicked = ends.filter(Result::is_err).count();
        match panicked {
            0 => written,
            _ => written.and(Err(Lost.into())),
        }
    })
}

fn threads(question: &Question<'_>) -> usize {
    let wanted = question
        .options
        .threads
        .map_or_else(processors, std::num::NonZero::get);
    let affordable = trawl_walk::budget::threads_max(OTHER_DESCRIPTORS);
    wanted.clamp(1, THREADS_MAX).min(affordable)
}

/// Writes the output in order.
fn write<'p>(
    search: &Search<'_>,
    reader: &mut Reader<Worker<'p>, &Pool<Worker<'p>>>,
) -> Result<(), DriverError> {
    while !search.is_over() {
        match reader.next(Patience::Sleeps, |_| ())? {
            Step::Part(part) => search.printer.emit(part)?,
            Step::Entered => {}
            Step::End | Step::Cancelled | Step::NotReady => break,
        }
    }
    Ok(())
}

type Output<'p> = trawl_walk::Output<Worker<'p>>;

/// One thread's state.
struct Worker<'p> {
    shared: &'p Shared<'p>,
    visitor: Visitor<'p>,
    entries: Entries,
    buffer: ReadBuffer,
    buffers: Buffers,
}

impl<'p> trawl_walk::Worker for Worker<'p> {
    type Task = Task;
    type Part = Part;

    fn run(&mut self, mut task: Task, output: &mut Output<'p>) {
        let fd = match task.begun.take() {
            Some((fd, ahead)) => {
                self.entries.go_on_with(ahead);
                Ok(Some(fd))
            }
            None => opened(self.shared.question, &task.node),
        };
        match fd {
            Ok(Some(fd)) => self.list(&task, &fd, output),
            Ok(None) => {}
            Err(error) => self.complain(&task.below, &error, output),
        }
    }

    fn bytes(part: &Part) -> usize {
        part.len()
    }

    fn is_cancelled(&self) -> bool {
        self.shared.question.options.is_cancelled()
    }
}

impl<'p> Worker<'p> {
    fn new(shared: &'p Shared<'p>) -> Worker<'p> {
        Worker {
            shared,
            visitor: Visitor::new(shared.question),
            entries: Entries::default(),
            buffer: ReadBuffer::new(64 << 10),
            buffers: Buffers::default(),
        }
    }

    fn list(&mut self, task: &Task, fd: &Arc<OwnedFd>, output: &mut Output<'p>) {
        let more = self.entries.read(fd.as_fd(), &mut self.buffer);
        self.take_entries(task, fd, output);
        if output.has_below() {
            task.node.keep(fd, &self.shared.budget);
        }
        match more {
            More::No => {}
            More::Failed(error) => self.complain(&task.below, &error, output),
            More::Yes => output.below(Task {
                node: Arc::clone(&task.node),
                below: task.below.clone(),
                begun: Some((Arc::clone(fd), self.entries.take_ahead())),
            }),
        }
    }

    /// Evaluates the expression on the entries that were read.
    fn take_entries(&mut self, task: &Task, fd: &Arc<OwnedFd>, output: &mut Output<'p>) {
        let _span = Operation::TakeEntries.span();
        let question = self.shared.question;
        let traversal = &question.program.traversal;
        let probe = LiveProbe::below(fd.as_fd(), question.world.follow);
        let buffers = std::mem::take(&mut self.buffers);
        let late = self.visitor.enter(fd.as_fd());
        let mut cx = Context::new(&question.world, self.shared.point, &probe).with_buffers(buffers);
        cx.late = Some(&late);
        cx.enter_below(&[&task.below], task.node.depth());
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
                cut(&mut cx, output);
                output.below(below(&self.visitor, task, &row, &seen));
            }
            let mut is_open = true;
            if cx.depth >= traversal.min_depth {
                is_open = self.visitor.evaluate(fd.as_fd(), &row, &seen, &mut cx);
            }
            if cx.quit {
                break;
            }
            if descends && is_open && !traversal.contents_first && !cx.pruned {
                cut(&mut cx, output);
                output.below(below(&self.visitor, task, &row, &seen));
            }
        }
        cut(&mut cx, output);
        self.buffers = cx.take_buffers();
    }

    fn complain(&self, below: &[u8], error: &SysError, output: &mut Output<'p>) {
        if self.visitor.passes_over(error) {
            return;
        }
        let path = self.shared.point.spell(below);
        let quoted = quote::message(&path, self.shared.question.world.locale);
        output.put(Part {
            complaints: format!("{quoted}: {}\n", cause(error).0).into_bytes(),
            failed: true,
            ..Part::default()
        });
    }
}

/// Returns the task that reads the directory `row`.
fn below(visitor: &Visitor<'_>, task: &Task, row: &Row<'_>, seen: &EntryFacts) -> Task {
    Task {
        node: Arc::new(visitor.child(&task.node, row, seen)),
        below: join(&task.below, row.name()),
        begun: None,
    }
}

/// Ends a part of the output, if there is anything in it.
fn cut(cx: &mut Context<'_>, output: &mut Output<'_>) {
    let part = Part {
        out: std::mem::take(&mut cx.out),
        others: std::mem::take(&mut cx.others),
        complaints: std::mem::take(&mut cx.complaints),
        failed: std::mem::take(&mut cx.failed),
        quit: cx.quit,
        buffers: Buffers::default(),
    };
    if !part.is_empty() {
        output.put(part);
    }
}

/// Opens a directory. Returns `None` if it lies on another file system, which
/// `-xdev` excludes.
pub(super) fn opened(
    question: &Question<'_>,
    node: &Node,
) -> Result<Option<Arc<OwnedFd>>, SysError> {
    let fd = node::open(node)?;
    if question.program.traversal.one_file_system {
        let dev = stat_fd(&*fd)?.dev.as_u64();
        if node.facts.device != dev {
            return Ok(None);
        }
    }
    Ok(Some(fd))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use trawl_model::rows::Row;

    use crate::context::Context;
    use crate::driver::{RunOptions, Search};
    use crate::expr::{Expr, Node};
    use crate::leaf::{Effect, Leaf};
    use crate::predicates::print::PRINT;
    use crate::printer::Streams;
    use crate::testing::{environment, program};

    const PATIENCE: Duration = Duration::from_secs(120);

    /// Panics on the threads that help. The thread that prints waits in the first directory until
    /// that has happened, so that helpers certainly take the others.
    #[derive(Debug, Default)]
    struct Panics {
        has_panicked: AtomicBool,
    }

    impl Leaf for Panics {
        fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
            let thread = std::thread::current();
            if thread.name().is_some_and(|name| name.starts_with("find-")) {
                self.has_panicked.store(true, Ordering::Relaxed);
                panic!("as the test wants it");
            }
            let begun = Instant::now();
            let is_inside = row.name() == b"inside";
            while is_inside && !self.has_panicked.load(Ordering::Relaxed) {
                assert!(begun.elapsed() < PATIENCE, "no thread helped");
                std::thread::yield_now();
            }
            true
        }

        fn effect(&self) -> Effect {
            Effect::Output
        }
    }

    fn search(folder: &str) -> bool {
        let mut program = program(folder);
        program.expr = Expr::Leaf(Node::new(&PRINT, Box::new(Panics::default())));
        let options = RunOptions {
            threads: NonZeroUsize::new(4),
            cancel: None,
        };
        let streams = Streams {
            out: &mut std::io::sink(),
            err: &mut std::io::sink(),
        };
        let search = Search::new(&program, &environment(), options, streams).unwrap();
        search.visit_live(folder.as_bytes()).is_err()
    }

    #[test]
    fn nobody_waits_for_a_thread_that_panicked() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..16 {
            std::fs::create_dir_all(folder.path().join(format!("{number}/inside"))).unwrap();
        }
        let path = folder.path().to_str().unwrap().to_owned();
        let (done, told) = channel();
        std::thread::spawn(move || done.send(search(&path)));
        let has_failed = told.recv_timeout(2 * PATIENCE);
        assert_eq!(has_failed, Ok(true), "the search ends with an error");
    }
}
