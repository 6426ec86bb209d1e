//! Does the tasks of a walk on several threads, and gives the parts of the answer in order.
//!
//! Each directory is a task. Waiting tasks lie on a stack, with the next one in the answer's order
//! on top. Each task has a slot for its output: parts of the answer and, between them, the slots of
//! the tasks below it. The thread that reads the answer takes the slots in order, and does tasks
//! itself while the slot that is due is empty. Helper threads pause while too many bytes wait to be
//! read.
//!
//! The lock is taken a few times for each task, never for each entry.
//!
//! A thread that panics leaves an empty slot behind. It says so while it unwinds: the reader then
//! gets an error instead of waiting for the slot, and the other threads end.

use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::vec::IntoIter;

use trawl_model::sync::{lock, wait};

/// Number of tasks below one for which a thread keeps memory.
const TASKS_KEPT: usize = 1 << 10;

/// Does the tasks of one thread.
pub trait Worker: Sized {
    /// A directory to be visited, or to be visited further.
    type Task;
    /// A part of the answer.
    type Part;

    /// Does a task: puts the parts of the answer and the tasks below it into `output`, in the
    /// answer's order.
    fn run(&mut self, task: Self::Task, output: &mut Output<Self>);

    /// Returns the number of bytes of a part that count as waiting to be read.
    fn bytes(part: &Self::Part) -> usize;

    /// Returns whether the walk was cancelled.
    fn is_cancelled(&self) -> bool;
}

/// A thread panicked, so a part of the answer is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a thread ended before its work was done")]
pub struct Lost;

/// The output of a task; empty until the task is done, and again once it has been taken.
struct Slot<P>(Mutex<Option<Vec<Piece<P>>>>);

/// A piece of a task's output.
enum Piece<P> {
    Part(Box<P>),
    Below(Arc<Slot<P>>),
}

impl<P> Slot<P> {
    fn empty() -> Arc<Slot<P>> {
        Arc::new(Slot(Mutex::new(None)))
    }

    fn take(&self) -> Option<Vec<Piece<P>>> {
        lock(&self.0).take()
    }

    fn pieces_mut(&mut self) -> &mut Option<Vec<Piece<P>>> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P> Drop for Slot<P> {
    /// Drops the slots below one by one: recursion could exhaust the stack in a deep tree.
    fn drop(&mut self) {
        let mut left = self.pieces_mut().take().unwrap_or_default();
        while let Some(piece) = left.pop() {
            if let Piece::Below(slot) = piece
                && let Some(mut slot) = Arc::into_inner(slot)
            {
                left.extend(slot.pieces_mut().take().unwrap_or_default());
            }
        }
    }
}

struct Waiting<W: Worker> {
    task: W::Task,
    slot: Arc<Slot<W::Part>>,
}

/// Collects the output of one task.
pub struct Output<W: Worker> {
    pieces: Vec<Piece<W::Part>>,
    below: Vec<Waiting<W>>,
    bytes: usize,
}

impl<W: Worker> Output<W> {
    fn new() -> Output<W> {
        Output {
            pieces: Vec::new(),
            below: Vec::new(),
            bytes: 0,
        }
    }

    /// Adds the next part of the answer.
    pub fn put(&mut self, part: W::Part) {
        self.bytes += W::bytes(&part);
        self.pieces.push(Piece::Part(Box::new(part)));
    }

    /// Adds a task, whose output comes next in the answer.
    pub fn below(&mut self, task: W::Task) {
        let slot = Slot::empty();
        self.pieces.push(Piece::Below(Arc::clone(&slot)));
        self.below.push(Waiting { task, slot });
    }

    /// Returns whether there are tasks in it.
    pub fn has_below(&self) -> bool {
        !self.below.is_empty()
    }
}

struct State<W: Worker> {
    /// Waiting tasks, the next one last.
    tasks: Vec<Waiting<W>>,
    /// Number of threads that wait for a change.
    sleepers: usize,
    unread_bytes: usize,
    is_over: bool,
    is_lost: bool,
}

/// The state that the threads of a walk share.
pub struct Pool<W: Worker> {
    state: Mutex<State<W>>,
    changed: Condvar,
    unread_max_bytes: usize,
}

impl<W: Worker> Pool<W> {
    /// Creates a pool without tasks. While more than `unread_max_bytes` of the answer wait to be
    /// read, helpers pause.
    pub fn new(unread_max_bytes: usize) -> Pool<W> {
        let state = State {
            tasks: Vec::new(),
            sleepers: 0,
            unread_bytes: 0,
            is_over: false,
            is_lost: false,
        };
        Pool {
            state: Mutex::new(state),
            changed: Condvar::new(),
            unread_max_bytes,
        }
    }

    /// Does tasks on a helper thread until the walk is over.
    pub fn help(&self, mut worker: W) {
        let _told = TellIfLost(self);
        let mut output = Output::new();
        while let Some(waiting) = self.next(&worker) {
            self.run(waiting, &mut worker, &mut output);
        }
    }

    /// Returns the next task for a helper; `None` at the end.
    fn next(&self, worker: &W) -> Option<Waiting<W>> {
        let mut state = lock(&self.state);
        loop {
            if state.is_over || worker.is_cancelled() {
                return None;
            }
            if state.unread_bytes <= self.unread_max_bytes
                && let Some(waiting) = state.tasks.pop()
            {
                return Some(waiting);
            }
            state.sleepers += 1;
            state = wait(&self.changed, state);
            state.sleepers -= 1;
        }
    }

    /// Does a task, and publishes its output and the tasks below it.
    fn run(&self, waiting: Waiting<W>, worker: &mut W, output: &mut Output<W>) {
        let Waiting { task, slot } = waiting;
        worker.run(task, output);
        let pieces = std::mem::take(&mut output.pieces);
        let mut state = lock(&self.state);
        state.unread_bytes += std::mem::take(&mut output.bytes);
        // Reversed, so that the first one is taken first.
        state.tasks.extend(output.below.drain(..).rev());
        *lock(&slot.0) = Some(pieces);
        let has_sleepers = state.sleepers > 0;
        drop(state);
        if has_sleepers {
            self.changed.notify_all();
        }
        output.below.shrink_to(TASKS_KEPT);
    }

    fn note_read(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let mut state = lock(&self.state);
        let before = state.unread_bytes;
        state.unread_bytes = before.saturating_sub(bytes);
        if before > self.unread_max_bytes && state.sleepers > 0 {
            self.changed.notify_all();
        }
    }

    fn end(&self) {
        lock(&self.state).is_over = true;
        self.changed.notify_all();
    }
}

/// Records a panic of this thread, so that no other thread waits for its output.
struct TellIfLost<'p, W: Worker>(&'p Pool<W>);

impl<W: Worker> Drop for TellIfLost<'_, W> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(&self.0.state).is_lost = true;
            self.0.end();
        }
    }
}

/// How the reader waits for output when no task is left that it could do itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Until the output is there.
    Sleeps,
    /// Not at all.
    Returns,
}

/// What comes next in the answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<P> {
    /// The next part.
    Part(P),
    /// A task is done, and its output comes next.
    Entered,
    /// Other threads are still at work on what comes next.
    NotReady,
    /// Nothing, unless more tasks are begun.
    End,
    /// The walk was cancelled.
    Cancelled,
}

/// Reads the answer in order. `R` refers to the pool; dropping the reader ends the walk for all
/// threads.
pub struct Reader<W: Worker, R: Deref<Target = Pool<W>>> {
    pool: R,
    worker: W,
    output: Output<W>,
    /// The output that is due: a stack of lists, in the last of which the next piece is first.
    due: Vec<IntoIter<Piece<W::Part>>>,
}

impl<W: Worker, R: Deref<Target = Pool<W>>> Reader<W, R> {
    /// Creates the reader of a pool, which does tasks with `worker`.
    pub fn new(pool: R, worker: W) -> Reader<W, R> {
        Reader {
            pool,
            worker,
            output: Output::new(),
            due: Vec::new(),
        }
    }

    /// Returns the pool.
    pub fn pool(&self) -> R
    where
        R: Clone,
    {
        self.pool.clone()
    }

    /// Adds tasks whose output comes next in the answer.
    pub fn begin(&mut self, tasks: impl IntoIterator<Item = W::Task>) {
        let mut output = Output::new();
        tasks.into_iter().for_each(|task| output.below(task));
        self.due.push(output.pieces.into_iter());
        let mut state = lock(&self.pool.state);
        state.tasks.extend(output.below.into_iter().rev());
        if state.sleepers > 0 {
            self.pool.changed.notify_all();
        }
    }

    /// Returns the next step of the answer, and does tasks until it is known. Calls `before_task`
    /// with the number of other waiting tasks before it does one.
    ///
    /// # Errors
    /// [`Lost`] if the step is missing because a thread panicked.
    pub fn next(
        &mut self,
        patience: Patience,
        before_task: impl FnMut(usize),
    ) -> Result<Step<W::Part>, Lost> {
        while let Some(pieces) = self.due.last_mut() {
            match pieces.next() {
                None => drop(self.due.pop()),
                Some(Piece::Part(part)) => {
                    self.pool.note_read(W::bytes(&part));
                    return Ok(Step::Part(*part));
                }
                Some(Piece::Below(slot)) => {
                    let step = self.enter(&slot, patience, before_task);
                    if !matches!(step, Ok(Step::Entered)) {
                        self.due.push(vec![Piece::Below(slot)].into_iter());
                    }
                    return step;
                }
            }
        }
        Ok(Step::End)
    }

    /// Waits for the output of a task, which is due.
    fn enter(
        &mut self,
        slot: &Slot<W::Part>,
        patience: Patience,
        mut before_task: impl FnMut(usize),
    ) -> Result<Step<W::Part>, Lost> {
        let pool = &*self.pool;
        let _told = TellIfLost(pool);
        loop {
            if self.worker.is_cancelled() {
                return Ok(Step::Cancelled);
            }
            if let Some(pieces) = slot.take() {
                self.due.push(pieces.into_iter());
                return Ok(Step::Entered);
            }
            let mut state = lock(&pool.state);
            // It may have been filled since.
            if let Some(pieces) = slot.take() {
                self.due.push(pieces.into_iter());
                return Ok(Step::Entered);
            }
            if state.is_lost {
                return Err(Lost);
            }
            match state.tasks.pop() {
                Some(waiting) => {
                    let others = state.tasks.len();
                    drop(state);
                    before_task(others);
                    pool.run(waiting, &mut self.worker, &mut self.output);
                }
                None if patience == Patience::Returns => return Ok(Step::NotReady),
                None => {
                    state.sleepers += 1;
                    let mut state = wait(&pool.changed, state);
                    state.sleepers -= 1;
                }
            }
        }
    }

    /// Ends the walk for all threads.
    pub fn end(&self) {
        self.pool.end();
    }
}

impl<W: Worker, R: Deref<Target = Pool<W>>> Drop for Reader<W, R> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    const PATIENCE: Duration = Duration::from_secs(120);

    /// A tree in which the directory `n` has the directories `10n + 1` to `10n + 4`.
    struct Tree<'t> {
        levels: u32,
        done: &'t AtomicUsize,
        /// The number at which a thread panics.
        panics_at: Option<u64>,
    }

    impl Worker for Tree<'_> {
        type Task = u64;
        type Part = u64;

        fn run(&mut self, task: u64, output: &mut Output<Self>) {
            if self.panics_at == Some(task) {
                panic!("as the test wants it");
            }
            self.done.fetch_add(1, Ordering::Relaxed);
            output.put(task);
            if task < 10u64.pow(self.levels - 1) {
                (1..=4).for_each(|last| output.below(10 * task + last));
            }
            assert_eq!(output.has_below(), task < 10u64.pow(self.levels - 1));
        }

        fn bytes(_: &u64) -> usize {
            1
        }

        fn is_cancelled(&self) -> bool {
            false
        }
    }

    fn answer<'p>(reader: &mut Reader<Tree<'p>, &Pool<Tree<'p>>>) -> Result<Vec<u64>, Lost> {
        let mut answer = Vec::new();
        loop {
            match reader.next(Patience::Sleeps, |_| ())? {
                Step::Part(part) => answer.push(part),
                Step::Entered => {}
                Step::End => return Ok(answer),
                Step::NotReady | Step::Cancelled => unreachable!("it sleeps instead"),
            }
        }
    }

    fn walk(helpers: usize, panics_at: Option<u64>) -> Result<Vec<u64>, Lost> {
        let done = AtomicUsize::new(0);
        let worker = || Tree {
            levels: 6,
            done: &done,
            panics_at: None,
        };
        // Few bytes make helpers pause, but then one may never come to the task at which it panics.
        let pool = Pool::new(panics_at.map_or(8, |_| usize::MAX));
        std::thread::scope(|scope| {
            let help = || {
                pool.help(Tree {
                    panics_at,
                    ..worker()
                });
            };
            let helpers: Vec<_> = (0..helpers).map(|_| scope.spawn(help)).collect();
            let mut reader = Reader::new(&pool, worker());
            reader.begin([1, 2]);
            if panics_at.is_some() {
                // A helper has to take it: this thread would not panic.
                helpers.into_iter().for_each(|helper| drop(helper.join()));
            }
            answer(&mut reader)
        })
    }

    #[test]
    fn the_order_does_not_depend_on_the_threads() {
        let alone = walk(0, None).unwrap();
        assert_eq!(alone.len(), 2 * (4usize.pow(6) - 1) / 3);
        let as_text = |number: &u64| number.to_string();
        assert!(alone.is_sorted_by_key(as_text));
        for helpers in 1..4 {
            assert_eq!(walk(helpers, None).unwrap(), alone);
        }
    }

    /// Fails if `work` takes too long.
    fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, told) = channel();
        std::thread::spawn(move || done.send(work()));
        told.recv_timeout(PATIENCE).expect("it ends")
    }

    #[test]
    fn nobody_waits_for_a_thread_that_panicked() {
        for task in [1, 2] {
            assert_eq!(in_time(move || walk(3, Some(task))), Err(Lost));
        }
    }

    #[test]
    fn helpers_end_when_the_reader_panics() {
        let is_unwound = in_time(|| {
            let unwound = std::panic::catch_unwind(|| {
                let (done, pool) = (AtomicUsize::new(0), Pool::new(8));
                let worker = |panics_at| Tree {
                    levels: 9,
                    done: &done,
                    panics_at,
                };
                std::thread::scope(|scope| {
                    scope.spawn(|| pool.help(worker(None)));
                    let mut reader = Reader::new(&pool, worker(Some(1)));
                    reader.begin([1]);
                    // Unless the helper was first.
                    let _ = answer(&mut reader);
                    panic!("as the test wants it");
                })
            });
            unwound.is_err()
        });
        assert!(is_unwound);
    }

    /// Does its task when it is told to.
    struct Slow<'t>(&'t AtomicBool);

    impl Worker for Slow<'_> {
        type Task = u8;
        type Part = u8;

        fn run(&mut self, task: u8, output: &mut Output<Self>) {
            while !self.0.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            output.put(task);
        }

        fn bytes(_: &u8) -> usize {
            0
        }

        fn is_cancelled(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_reader_without_patience_can_come_again() {
        let (go, pool) = (AtomicBool::new(false), Pool::new(8));
        std::thread::scope(|scope| {
            let mut reader = Reader::new(&pool, Slow(&go));
            reader.begin([1, 2]);
            let taken = scope.spawn(|| pool.help(Slow(&go)));
            let second = scope.spawn(|| pool.help(Slow(&go)));
            while !lock(&pool.state).tasks.is_empty() {
                std::thread::yield_now();
            }
            assert_eq!(reader.next(Patience::Returns, |_| ()), Ok(Step::NotReady));
            go.store(true, Ordering::Relaxed);
            let mut steps = Vec::new();
            while steps.last() != Some(&Step::End) {
                steps.push(reader.next(Patience::Sleeps, |_| ()).unwrap());
            }
            let expected = [
                Step::Entered,
                Step::Part(1),
                Step::Entered,
                Step::Part(2),
                Step::End,
            ];
            assert_eq!(steps, expected);
            reader.end();
            assert!(taken.join().is_ok() && second.join().is_ok());
        });
    }

    #[test]
    fn output_deeper_than_the_stack_is_let_go() {
        let mut slot = Slot::<()>::empty();
        for _ in 0..300_000 {
            let above = Slot::empty();
            *lock(&above.0) = Some(vec![Piece::Below(slot)]);
            slot = above;
        }
        drop(slot);
    }
}
