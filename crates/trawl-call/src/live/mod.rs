//! Walks the live file system on several threads, and gives the records in the answer's order.
//!
//! Each directory is a place to visit. Waiting places lie on a stack, with the next one in the
//! answer's order on top. Each place has a slot for its records and the slots of the directories
//! below it. The thread that reads the answer takes the slots in order, and visits places itself
//! while the slot that is due is not ready; helper threads start once there is enough work. Helpers
//! pause while too many bytes wait to be read.
//!
//! Invariants: directories are opened by name in an open ancestor, so that paths may have any
//! length and nothing is reached through a link unless links are followed; only relevant names of a
//! listing are kept; the number of open directories is bounded.

mod listing;
mod node;
pub(crate) mod records;
pub(crate) mod resume;
mod visit;

use std::collections::VecDeque;
use std::ffi::CString;
use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::cookie::Stage;
use crate::error::CallError;
use crate::executor::{Block, Executor, ServedBy, Stream};
use crate::request::Request;

use node::{Budget, Node};
use resume::Resume;
use visit::{Place, Visited, Visitor};

/// Maximum number of bytes that may wait to be read before helper threads pause.
const UNREAD_MAX_BYTES: usize = 16 << 20;
/// Maximum number of threads.
const THREADS_MAX: usize = 8;
/// A block collects the records of several directories until it has this many bytes …
const BLOCK_BYTES: usize = 32 << 10;
/// … or the records of this many directories, so that the reader does not wait long for a few
/// records.
const BLOCK_DIRECTORIES: usize = 64;
/// Number of roots that are begun together.
const ROOTS_TOGETHER: usize = 64;
/// Number of waiting directories from which on helper threads are started.
const WORTH_THREADS: usize = 8;

/// Answers from the live file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiveWalk {
    /// Number of threads, at most 8; `None` means the number of processors.
    pub threads: Option<NonZeroUsize>,
}

impl Executor for LiveWalk {
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
        Ok(Box::new(self.walk(request)))
    }
}

impl LiveWalk {
    pub(crate) fn walk(self, request: Request) -> Walk {
        let processors = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = self.threads.map_or_else(processors, NonZeroUsize::get);
        let request = Arc::new(request);
        let budget = Budget::of_process();
        Walk {
            visitor: Visitor::new(&request, &budget),
            shared: Arc::new(Shared {
                request,
                budget,
                state: Mutex::default(),
                changed: Condvar::new(),
            }),
            helpers: Vec::new(),
            helpers_max: threads.min(THREADS_MAX) - 1,
            due: Vec::new(),
            next_root: 0,
            is_over: false,
        }
    }
}

/// The result of visiting a directory; empty until it has been visited.
#[derive(Default)]
struct Slot(Mutex<Option<Done>>);

struct Done {
    packed: Vec<u8>,
    /// Number of its bytes that count as waiting to be read.
    read_bytes: usize,
    has_match: bool,
    below: VecDeque<Arc<Slot>>,
}

struct Task {
    place: Place,
    slot: Arc<Slot>,
}

#[derive(Default)]
struct State {
    /// Places to visit, the next one last.
    tasks: Vec<Task>,
    waiting: usize,
    unread_bytes: usize,
    is_over: bool,
    /// A thread panicked.
    is_lost: bool,
}

/// The state that the threads share.
struct Shared {
    request: Arc<Request>,
    budget: Arc<Budget>,
    state: Mutex<State>,
    changed: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running walk, owned by the reader of the answer.
pub(crate) struct Walk {
    shared: Arc<Shared>,
    visitor: Visitor,
    helpers: Vec<JoinHandle<()>>,
    helpers_max: usize,
    /// Slots that are due: a stack of lists, the next slot first in the last list.
    due: Vec<VecDeque<Arc<Slot>>>,
    next_root: usize,
    is_over: bool,
}

impl Stream for Walk {
    fn next_block(&mut self) -> Result<Option<Block>, CallError> {
        let mut packed = Vec::new();
        let mut visited = 0;
        while !self.is_over && packed.len() < BLOCK_BYTES && visited < BLOCK_DIRECTORIES {
            let Some(slot) = self.next_slot() else {
                self.is_over = true;
                break;
            };
            let patience = match packed.is_empty() {
                true => Patience::Sleeps,
                false => Patience::Returns,
            };
            let Some(done) = self.wait_for(&slot, patience)? else {
                // Returns the records so far instead of blocking.
                self.due.push(VecDeque::from([slot]));
                break;
            };
            if packed.is_empty() {
                packed = done.packed;
            } else {
                packed.extend_from_slice(&done.packed);
            }
            visited += usize::from(!packed.is_empty());
            self.note_read(done.read_bytes);
            if !done.below.is_empty() {
                self.due.push(done.below);
            }
            self.is_over = done.has_match && self.shared.request.is_first();
        }
        let served_by = ServedBy::Live;
        let block = Block { served_by, packed };
        Ok((!block.packed.is_empty()).then_some(block))
    }
}

/// How to wait for a slot that is not ready when no place is left to visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    Sleeps,
    Returns,
}

impl Walk {
    /// Returns the slot that is due.
    fn next_slot(&mut self) -> Option<Arc<Slot>> {
        loop {
            match self.due.last_mut().map(VecDeque::pop_front) {
                Some(Some(slot)) => return Some(slot),
                Some(None) => drop(self.due.pop()),
                None if self.begin_roots() => {}
                None => return None,
            }
        }
    }

    /// Begins the next roots; false if there are none. Takes one root at a time where the first
    /// match ends the search, since the work on further roots may be wasted.
    fn begin_roots(&mut self) -> bool {
        let request = Arc::clone(&self.shared.request);
        let most = match request.is_first() {
            true => 1,
            false => ROOTS_TOGETHER,
        };
        let (mut slots, mut tasks) = (VecDeque::new(), Vec::new());
        while slots.len() < most
            && let Some(root) = request.roots().get(self.next_root)
        {
            let at = self.next_root;
            self.next_root += 1;
            let resume = match request.resume() {
                Some(cookie) if root.number() < cookie.root => continue,
                Some(cookie) if root.number() == cookie.root && cookie.stage != Stage::Begin => {
                    Some(Resume::new(cookie))
                }
                _ => None,
            };
            // The request has checked that the path contains no NUL byte.
            let path = CString::new(root.path()).unwrap_or_default();
            let place = Place {
                root: at,
                node: Arc::new(Node::root(path, root.confined().cloned())),
                state: root.pattern().start().clone(),
                resume,
                device: None,
            };
            let slot = Arc::new(Slot::default());
            slots.push_back(Arc::clone(&slot));
            tasks.push(Task { place, slot });
        }
        if slots.is_empty() {
            return false;
        }
        self.due.push(slots);
        // Reversed, so that the first task is taken first.
        lock(&self.shared.state)
            .tasks
            .extend(tasks.into_iter().rev());
        true
    }

    /// Returns the content of a slot, and visits places until it is ready. `None` if it would have
    /// to sleep and `patience` is [`Patience::Returns`].
    fn wait_for(&mut self, slot: &Slot, patience: Patience) -> Result<Option<Done>, CallError> {
        loop {
            self.shared.request.cancel().check()?;
            if let Some(done) = lock(&slot.0).take() {
                return Ok(Some(done));
            }
            let mut state = lock(&self.shared.state);
            // The slot may have been filled since.
            if let Some(done) = lock(&slot.0).take() {
                return Ok(Some(done));
            }
            if state.is_lost {
                let lost = std::io::Error::other("a thread ended before its work was done");
                return Err(CallError::Thread(lost));
            }
            match state.tasks.pop() {
                Some(task) => {
                    let is_much = state.tasks.len() >= WORTH_THREADS;
                    drop(state);
                    if is_much && self.helpers.is_empty() {
                        self.call_helpers();
                    }
                    self.shared.run(task, &mut self.visitor);
                }
                None if patience == Patience::Returns => return Ok(None),
                None => {
                    state.waiting += 1;
                    let changed = &self.shared.changed;
                    let mut state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                    state.waiting -= 1;
                }
            }
        }
    }

    fn call_helpers(&mut self) {
        for number in 0..self.helpers_max {
            let shared = Arc::clone(&self.shared);
            let name = format!("search-{number}");
            let help = move || shared.help();
            // A thread that cannot be started only makes the walk slower.
            if let Ok(handle) = std::thread::Builder::new().name(name).spawn(help) {
                self.helpers.push(handle);
            }
        }
    }

    fn note_read(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let mut state = lock(&self.shared.state);
        let before = state.unread_bytes;
        state.unread_bytes = before.saturating_sub(bytes);
        if before > UNREAD_MAX_BYTES && state.waiting > 0 {
            self.shared.changed.notify_all();
        }
    }
}

impl Drop for Walk {
    fn drop(&mut self) {
        lock(&self.shared.state).is_over = true;
        self.shared.changed.notify_all();
        for helper in self.helpers.drain(..) {
            let _ = helper.join();
        }
    }
}

/// Records a panic of this thread, so that no other thread waits for its result.
struct TellIfLost<'a>(&'a Shared);

impl Drop for TellIfLost<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut state = lock(&self.0.state);
            state.is_lost = true;
            state.is_over = true;
            self.0.changed.notify_all();
        }
    }
}

impl Shared {
    /// Visits places until the walk is over.
    fn help(&self) {
        let _tell = TellIfLost(self);
        let mut visitor = Visitor::new(&self.request, &self.budget);
        while let Some(task) = self.next() {
            self.run(task, &mut visitor);
        }
    }

    /// Returns the next task for a helper thread; `None` at the end.
    fn next(&self) -> Option<Task> {
        let mut state = lock(&self.state);
        loop {
            if state.is_over || self.request.cancel().is_cancelled() {
                return None;
            }
            if state.unread_bytes <= UNREAD_MAX_BYTES
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

    fn run(&self, task: Task, visitor: &mut Visitor) {
        let Task { place, slot } = task;
        let Visited { records, below } = visitor.visit(place);
        let (mut slots, mut tasks) = (VecDeque::with_capacity(below.len()), Vec::new());
        for place in below {
            let slot = Arc::new(Slot::default());
            slots.push_back(Arc::clone(&slot));
            tasks.push(Task { place, slot });
        }
        let mut state = lock(&self.state);
        let read_bytes = records.packed.len();
        state.unread_bytes += read_bytes;
        // Reversed, so that the first task is taken first.
        state.tasks.extend(tasks.into_iter().rev());
        *lock(&slot.0) = Some(Done {
            packed: records.packed,
            read_bytes,
            has_match: records.has_match,
            below: slots,
        });
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }
}
