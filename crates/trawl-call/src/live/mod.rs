//! A walk of the file system as it is, on several threads, in the order of the answer.
//!
//! Every directory is one place to visit. Places that wait lie on a stack, the next in the
//! answer on top; each has a slot, into which go its records and the slots of the directories
//! below it. Whoever reads the answer takes slots in order, and visits places while the slot
//! that is due is not there; other threads help once there is enough to do. When too much waits
//! to be read they pause.
//!
//! Invariants: directories are opened by name in an open directory above, so that paths may have
//! any length and nothing is reached through a link unless links are followed; only names that
//! can matter are kept of a listing; open directories are bounded.

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

/// So much may wait to be read before threads that help wait, too.
const UNREAD_MAX_BYTES: usize = 16 << 20;
/// The most threads.
const THREADS_MAX: usize = 8;
/// Records of several directories are given together until they have so many bytes…
const BLOCK_BYTES: usize = 32 << 10;
/// … or are of so many directories, so that nobody waits long for a few.
const BLOCK_DIRECTORIES: usize = 64;
/// So many roots are begun at once.
const ROOTS_TOGETHER: usize = 64;
/// Threads are started once so many directories wait.
const WORTH_THREADS: usize = 8;

/// Answers from the file system as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiveWalk {
    /// How many threads; as many as there are processors, but at most 8, if `None`.
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

/// What a directory came to, once it has been visited.
#[derive(Default)]
struct Slot(Mutex<Option<Done>>);

struct Done {
    packed: Vec<u8>,
    /// How much of what waits to be read it is.
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
    /// The next one last.
    tasks: Vec<Task>,
    waiting: usize,
    unread_bytes: usize,
    is_over: bool,
    /// A thread ended in a panic.
    is_lost: bool,
}

/// What threads share.
struct Shared {
    request: Arc<Request>,
    budget: Arc<Budget>,
    state: Mutex<State>,
    changed: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A walk under way, in the hands of who reads the answer.
pub(crate) struct Walk {
    shared: Arc<Shared>,
    visitor: Visitor,
    helpers: Vec<JoinHandle<()>>,
    helpers_max: usize,
    /// Slots that are due, the next one first in the last list.
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
                // What there is may be read meanwhile.
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

/// What is done while a slot is not there and nothing is left to visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    Sleeps,
    Returns,
}

impl Walk {
    /// The slot that is due.
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

    /// Begins with the next roots; false if there is none. One after the other where the first match
    /// ends it: others would be looked at in vain.
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
            // Checked with the request.
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
        // The first one has to be taken first.
        lock(&self.shared.state)
            .tasks
            .extend(tasks.into_iter().rev());
        true
    }

    /// What is in a slot. Visits places until it is there; `None` where it would have to sleep
    /// and is not to.
    fn wait_for(&mut self, slot: &Slot, patience: Patience) -> Result<Option<Done>, CallError> {
        loop {
            self.shared.request.cancel().check()?;
            if let Some(done) = lock(&slot.0).take() {
                return Ok(Some(done));
            }
            let mut state = lock(&self.shared.state);
            // It may have come since.
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
            // One thread fewer is slower and nothing else.
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

/// Tells of a panic, so that nobody waits for what will not come.
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

    /// The next task for a thread that only helps; `None` at the end.
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
        // The first one has to be taken first.
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
