//! Going over the entries below a start, in order, on several threads.
//!
//! The [`plan`](crate::plan) cuts the directories of the scope, in order,
//! into morsels of some ten thousand rows. Workers take morsels, decode
//! their rows and do the caller's work on them; results reach the caller's
//! thread in order. The first morsels are small and done on the caller's
//! thread before workers begin, and the next ones grow, so a caller that takes
//! no more than some hundred rows, as `trawl find … | head` and the pages of
//! the API do, causes little work for others. A scope of one more morsel is
//! done there, too. What waits is bounded: a worker that is too far ahead of
//! the slowest one sleeps.

use crate::decode::{Decoded, decode};
use crate::error::{QueryError, Result};
use crate::index::{Index, Start, View};
use crate::plan::{FIRST_MORSELS, Morsel, Plan};
use crate::search::{rows_with, select_by_value};
use crate::segment::Scratch;
use crate::selection::RowSelection;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use trawl_model::column::ColumnSet;
use trawl_model::filter::Filter;
use trawl_model::rows::RowBatch;
use trawl_model::sync::{lock, processors, wait_while};
use trawl_model::{Regions, Subtrees};

/// Morsels that may be decoded ahead of the one that is due, per thread.
const AHEAD: usize = 2;

/// In which order a walk goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Directories in depth-first path order, a directory before what is
    /// below it; rows by name.
    #[default]
    Forward,
    /// Exactly the reverse: contents before their directory's own rows.
    /// Rows of a listing are the caller's to take from the end.
    Backward,
}

/// The rows that a walk reads, and their order.
#[derive(Clone, Debug, Default)]
pub struct Request<'a> {
    /// Columns that the work looks at; others are empty.
    pub columns: ColumnSet,
    /// The condition that rows must meet; others are left out.
    pub filter: Filter,
    /// Entries nearer to the start are left out. The start itself is at
    /// depth 0 (and is never part of a walk), what it holds at depth 1.
    pub min_depth: usize,
    /// Entries further from the start are left out.
    pub max_depth: Option<usize>,
    /// Directories that are not entered. Their own rows are given.
    pub skip: Subtrees,
    /// Rows of other directories than these are left out.
    pub only: Option<&'a Regions>,
    /// Other rows than these are left out, and their pages are not read.
    pub rows: Option<&'a RowSelection>,
    /// In which order.
    pub order: Order,
    /// Threads; as many as there are processors if `None`.
    pub threads: Option<NonZeroUsize>,
    /// Ends the walk with [`QueryError::Cancelled`] soon after it is set.
    pub cancel: Option<&'a AtomicBool>,
}

/// A directory of a walk.
#[derive(Clone, Copy, Debug)]
pub struct DirInfo<'a> {
    /// Absolute path, as stored.
    pub path: &'a [u8],
    /// How far it lies below the start, which is at depth 0. Its entries lie
    /// one deeper.
    pub depth: usize,
    /// Rows that this segment's listing of it has, before any filter.
    pub rows: u64,
}

/// Rows of one directory. A directory may come in several listings: one
/// after the other if it is large, or if several segments have parts of it
/// (each sorted by name).
#[derive(Clone, Copy, Debug)]
pub struct Listing<'a> {
    /// The directory.
    pub dir: &'a DirInfo<'a>,
    /// Decoded columns.
    pub batch: &'a RowBatch,
    /// Which rows of them. With a filter or a selection, listings without any
    /// are left out; without one, an empty directory gives an empty listing.
    pub range: &'a Range<usize>,
}

/// Some listings that follow each other, decoded together.
pub struct Batch<'a> {
    decoded: &'a Decoded,
    morsel: &'a Morsel,
    request: &'a Request<'a>,
    scratch: &'a mut Scratch,
}

impl Batch<'_> {
    /// The rows of all listings, in no order that means anything: just the
    /// columns that were asked for, and just the rows that fulfil the filter.
    pub fn columns(&self) -> impl Iterator<Item = &RowBatch> {
        self.decoded.batches()
    }

    /// Calls `visit` for each listing in order.
    ///
    /// # Errors
    /// If the paths of directories cannot be read.
    pub fn for_each_listing(&mut self, visit: impl FnMut(&Listing<'_>)) -> Result<()> {
        let Batch {
            decoded,
            morsel,
            request,
            scratch,
        } = self;
        decoded.try_each_listing(morsel, request, scratch, visit)
    }
}

impl std::fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").finish_non_exhaustive()
    }
}

impl Index {
    /// As [`Start::walk`].
    ///
    /// # Errors
    /// Whatever cannot be read of the index, and [`QueryError::Cancelled`].
    pub fn walk<O, W, E>(
        &self,
        start: &Start,
        request: &Request<'_>,
        work: W,
        emit: E,
    ) -> Result<()>
    where
        O: Default + Send,
        W: Fn(&Listing<'_>, &mut O) + Sync,
        E: FnMut(O) -> ControlFlow<()>,
    {
        start.walk(request, work, emit)
    }

    /// As [`Start::walk_batches`].
    ///
    /// # Errors
    /// Whatever cannot be read of the index, what `work` says, and
    /// [`QueryError::Cancelled`].
    pub fn walk_batches<O, W, E>(
        &self,
        start: &Start,
        request: &Request<'_>,
        work: W,
        emit: E,
    ) -> Result<()>
    where
        O: Default + Send,
        W: Fn(&mut Batch<'_>, &mut O) -> Result<()> + Sync,
        E: FnMut(O) -> ControlFlow<()>,
    {
        start.walk_batches(request, work, emit)
    }
}

impl Start {
    /// Goes over everything below it. `work` is called for each listing,
    /// on any thread, and adds to a value that is made anew for each some
    /// ten thousand rows; `emit` gets these values on the caller's thread, in
    /// order, and may end the walk.
    ///
    /// # Errors
    /// Whatever cannot be read of the index, and [`QueryError::Cancelled`].
    pub fn walk<O, W, E>(&self, request: &Request<'_>, work: W, emit: E) -> Result<()>
    where
        O: Default + Send,
        W: Fn(&Listing<'_>, &mut O) + Sync,
        E: FnMut(O) -> ControlFlow<()>,
    {
        let each = |batch: &mut Batch<'_>, out: &mut O| {
            batch.for_each_listing(|listing| work(listing, out))
        };
        self.walk_batches(request, each, emit)
    }

    /// As [`Start::walk`], but `work` is given some ten thousand rows at a
    /// time, whose columns it may go over without asking for their
    /// directories.
    ///
    /// # Errors
    /// Whatever cannot be read of the index, what `work` says, and
    /// [`QueryError::Cancelled`].
    pub fn walk_batches<O, W, E>(&self, request: &Request<'_>, work: W, mut emit: E) -> Result<()>
    where
        O: Default + Send,
        W: Fn(&mut Batch<'_>, &mut O) -> Result<()> + Sync,
        E: FnMut(O) -> ControlFlow<()>,
    {
        let start = self;
        // What the filter asks of names and of values leaves out rows before any is read.
        let is_deep = request.max_depth.is_none_or(|depth| depth > 1);
        let selected = match request.rows {
            None if is_deep => select_by_value(start, request, rows_with(start, request)?)?,
            _ => None,
        };
        let request = &Request {
            rows: request.rows.or(selected.as_ref()),
            ..request.clone()
        };
        let mut plan = Plan::new(start, request)?
            .with_late_paths()
            .beginning_small();
        let view: &View = &start.view;
        let run = |morsel: &Morsel, scratch: &mut Scratch| -> Result<O> {
            check_cancelled_by(request.cancel)?;
            let mut out = O::default();
            let decoded = decode(view, morsel, request, scratch)?;
            let mut batch = Batch {
                decoded: &decoded,
                morsel,
                request,
                scratch,
            };
            let done = work(&mut batch, &mut out);
            decoded.recycle(scratch);
            done.map(|()| out)
        };
        let mut scratch = match is_deep {
            true => Scratch::default(),
            // Callers list one directory after another.
            false => Scratch::for_lookups(),
        };
        for _ in 0..FIRST_MORSELS {
            let Some(small) = plan.next_morsel()? else {
                return Ok(());
            };
            if emit(run(&small, &mut scratch)?).is_break() {
                return Ok(());
            }
        }
        let Some(first) = plan.next_morsel()? else {
            return Ok(());
        };
        let second = plan.next_morsel()?;
        let threads = threads(request);
        if second.is_some() && threads > 1 {
            let feed = Feed::new(plan, [Some(first), second], threads * AHEAD);
            return feed.run(threads, &run, &mut emit);
        }
        let mut next = Some(first);
        let mut after = second;
        while let Some(morsel) = next {
            if emit(run(&morsel, &mut scratch)?).is_break() {
                break;
            }
            next = match after.take() {
                Some(morsel) => Some(morsel),
                None => plan.next_morsel()?,
            };
        }
        Ok(())
    }
}

fn threads(request: &Request<'_>) -> usize {
    request.threads.map_or_else(processors, NonZeroUsize::get)
}

/// An error if the caller asked for an end.
pub(crate) fn check_cancelled_by(cancel: Option<&AtomicBool>) -> Result<()> {
    match cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
        true => Err(QueryError::Cancelled),
        false => Ok(()),
    }
}

/// What threads share: the plan that they take morsels from and the results
/// that wait for their turn.
struct Feed<'a, O> {
    state: Mutex<FeedState<'a>>,
    results: Mutex<Results<O>>,
    changed: Condvar,
    ahead: usize,
}

struct FeedState<'a> {
    plan: Plan<'a>,
    ready: [Option<Morsel>; 2],
    /// Number of the next morsel.
    next: usize,
    ended: bool,
}

struct Results<O> {
    waiting: BTreeMap<usize, Result<O>>,
    /// Number of the morsel that is due.
    due: usize,
    /// How many morsels there are, once that is known.
    total: Option<usize>,
    stopped: bool,
}

impl<'a, O: Send> Feed<'a, O> {
    fn new(plan: Plan<'a>, ready: [Option<Morsel>; 2], ahead: usize) -> Feed<'a, O> {
        Feed {
            state: Mutex::new(FeedState {
                plan,
                ready,
                next: 0,
                ended: false,
            }),
            results: Mutex::new(Results {
                waiting: BTreeMap::new(),
                due: 0,
                total: None,
                stopped: false,
            }),
            changed: Condvar::new(),
            ahead,
        }
    }

    /// Runs workers until the plan is done, and `emit` here.
    fn run<R, E>(&self, threads: usize, run: &R, emit: &mut E) -> Result<()>
    where
        R: Fn(&Morsel, &mut Scratch) -> Result<O> + Sync,
        E: FnMut(O) -> ControlFlow<()>,
    {
        std::thread::scope(|scope| {
            let mut started = 0;
            for _ in 0..threads {
                let spawned = std::thread::Builder::new().spawn_scoped(scope, || {
                    let _stop = StopOnPanic(self);
                    self.work(run);
                });
                match spawned {
                    Ok(_) => started += 1,
                    // Some are enough.
                    Err(_) if started > 0 => break,
                    Err(cause) => return Err(QueryError::Thread { cause }),
                }
            }
            let _stop = StopAtEnd(self);
            self.collect(emit)
        })
    }

    fn work<R>(&self, run: &R)
    where
        R: Fn(&Morsel, &mut Scratch) -> Result<O>,
    {
        let mut scratch = Scratch::default();
        while self.may_go_on() {
            let (number, morsel) = match self.take() {
                Ok(Some(taken)) => taken,
                Ok(None) => return,
                Err((number, error)) => return self.put(number, Err(error)),
            };
            if !self.wait_for_turn(number) {
                return;
            }
            self.put(number, run(&morsel, &mut scratch));
        }
    }

    /// The next morsel and its number.
    fn take(&self) -> std::result::Result<Option<(usize, Morsel)>, (usize, QueryError)> {
        let mut state = lock(&self.state);
        if state.ended {
            return Ok(None);
        }
        let number = state.next;
        state.next += 1;
        let [first, second] = &mut state.ready;
        let ready = first.take().or_else(|| second.take());
        let next = match ready {
            Some(morsel) => Ok(Some(morsel)),
            None => state.plan.next_morsel(),
        };
        state.ended = !matches!(next, Ok(Some(_)));
        drop(state);
        match next {
            Ok(Some(morsel)) => Ok(Some((number, morsel))),
            Ok(None) => {
                self.lock_results().total = Some(number);
                self.changed.notify_all();
                Ok(None)
            }
            Err(error) => Err((number, error)),
        }
    }

    /// Waits until `number` is not too far ahead; false if all ends.
    fn wait_for_turn(&self, number: usize) -> bool {
        let results = self.lock_results();
        let too_far =
            |results: &mut Results<O>| !results.stopped && number >= results.due + self.ahead;
        let results = wait_while(&self.changed, results, too_far);
        !results.stopped
    }

    fn put(&self, number: usize, result: Result<O>) {
        self.lock_results().waiting.insert(number, result);
        self.changed.notify_all();
    }

    fn may_go_on(&self) -> bool {
        !self.lock_results().stopped
    }

    /// Gives the results to `emit` in order.
    fn collect<E: FnMut(O) -> ControlFlow<()>>(&self, emit: &mut E) -> Result<()> {
        loop {
            let is_early = |results: &mut Results<O>| {
                let is_done = results.stopped || results.total == Some(results.due);
                !is_done && !results.waiting.contains_key(&results.due)
            };
            let mut results = wait_while(&self.changed, self.lock_results(), is_early);
            let due = results.due;
            let Some(result) = results.waiting.remove(&due) else {
                return Ok(());
            };
            results.due += 1;
            drop(results);
            self.changed.notify_all();
            if emit(result?).is_break() {
                return Ok(());
            }
        }
    }

    fn stop(&self) {
        self.lock_results().stopped = true;
        self.changed.notify_all();
    }

    fn lock_results(&self) -> MutexGuard<'_, Results<O>> {
        lock(&self.results)
    }
}

/// Lets everyone go when a worker's panic (in the caller's code) unwinds, so
/// that the scope can end and pass it on.
struct StopOnPanic<'f, 'a, O: Send>(&'f Feed<'a, O>);

impl<O: Send> Drop for StopOnPanic<'_, '_, O> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

/// Lets workers go when the caller's thread is done for whatever reason.
struct StopAtEnd<'f, 'a, O: Send>(&'f Feed<'a, O>);

impl<O: Send> Drop for StopAtEnd<'_, '_, O> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
