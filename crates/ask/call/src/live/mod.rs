//! Walks the live file system on several threads, and gives the records in the answer's order.
//!
//! Each directory is a place to visit: a task of a [`Pool`]. The thread that reads the answer visits
//! places itself while the records that are due are not ready; helper threads start once there is
//! enough work. Helpers pause while too many bytes wait to be read.
//!
//! Invariants: directories are opened by name in an open ancestor, so that paths may have any
//! length and nothing is reached through a link unless links are followed; only relevant names of a
//! listing are kept; the number of open directories is bounded.

mod listing;
mod node;
pub(crate) mod records;
pub(crate) mod resume;
mod visit;

use std::ffi::CString;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::JoinHandle;

use trawl_model::sync::processors;
use trawl_walk::{Budget, Patience, Pool, Reader, Step};

use crate::cookie::Stage;
use crate::error::CallError;
use crate::executor::{Block, Executor, ServedBy, Stream};
use crate::request::Request;

use resume::Resume;
use visit::{Place, Visitor};

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
        let threads = self.threads.map_or_else(processors, NonZeroUsize::get);
        let request = Arc::new(request);
        let budget = Budget::of_library();
        let pool = Arc::new(Pool::new(UNREAD_MAX_BYTES));
        Walk {
            reader: Reader::new(Arc::clone(&pool), Visitor::new(&request, &budget)),
            helpers: Helpers {
                request: Arc::clone(&request),
                budget,
                pool,
                most: threads.min(THREADS_MAX) - 1,
                running: Vec::new(),
            },
            request,
            next_root: 0,
            is_over: false,
        }
    }
}

/// A running walk, owned by the reader of the answer.
pub(crate) struct Walk {
    // Dropped before the helpers, which it ends.
    reader: Reader<Visitor, Arc<Pool<Visitor>>>,
    helpers: Helpers,
    request: Arc<Request>,
    next_root: usize,
    is_over: bool,
}

impl Stream for Walk {
    fn next_block(&mut self) -> Result<Option<Block>, CallError> {
        let mut packed = Vec::new();
        let mut visited = 0;
        while !self.is_over && packed.len() < BLOCK_BYTES && visited < BLOCK_DIRECTORIES {
            let patience = match packed.is_empty() {
                true => Patience::Sleeps,
                false => Patience::Returns,
            };
            let helpers = &mut self.helpers;
            let step = self
                .reader
                .next(patience, |waiting| helpers.call_for(waiting));
            match step.map_err(|lost| CallError::Thread(std::io::Error::other(lost)))? {
                Step::Entered => visited += usize::from(!packed.is_empty()),
                Step::Part(records) if packed.is_empty() => {
                    packed = records.packed;
                    self.is_over = records.has_match && self.request.is_first();
                }
                Step::Part(records) => {
                    packed.extend_from_slice(&records.packed);
                    self.is_over = records.has_match && self.request.is_first();
                }
                // Returns the records so far instead of blocking.
                Step::NotReady => break,
                Step::End => self.is_over = !self.begin_roots(),
                Step::Cancelled => return Err(CallError::Cancelled),
            }
        }
        let served_by = ServedBy::Live;
        let block = Block { served_by, packed };
        Ok((!block.packed.is_empty()).then_some(block))
    }
}

impl Walk {
    /// Begins the next roots; false if there are none. Takes one root at a time where the first
    /// match ends the search, since the work on further roots may be wasted.
    fn begin_roots(&mut self) -> bool {
        let most = match self.request.is_first() {
            true => 1,
            false => ROOTS_TOGETHER,
        };
        let mut places = Vec::new();
        while places.len() < most
            && let Some(root) = self.request.roots().get(self.next_root)
        {
            let at = self.next_root;
            self.next_root += 1;
            let resume = match self.request.resume() {
                Some(cookie) if root.number() < cookie.root => continue,
                Some(cookie) if root.number() == cookie.root && cookie.stage != Stage::Begin => {
                    Some(Resume::new(cookie))
                }
                _ => None,
            };
            // The request has checked that the path contains no NUL byte.
            let path = CString::new(root.path()).unwrap_or_default();
            places.push(Place {
                root: at,
                node: Arc::new(node::root(path, root.confined().cloned())),
                state: root.pattern().start().clone(),
                resume,
                device: None,
            });
        }
        let has_begun = !places.is_empty();
        self.reader.begin(places);
        has_begun
    }
}

/// The threads that visit places for the reader of the answer.
struct Helpers {
    request: Arc<Request>,
    budget: Arc<Budget>,
    pool: Arc<Pool<Visitor>>,
    most: usize,
    running: Vec<JoinHandle<()>>,
}

impl Helpers {
    /// Starts the threads, unless they run, if this number of waiting places is worth it.
    fn call_for(&mut self, waiting: usize) {
        if waiting < WORTH_THREADS || !self.running.is_empty() {
            return;
        }
        for number in 0..self.most {
            let pool = Arc::clone(&self.pool);
            let visitor = Visitor::new(&self.request, &self.budget);
            let name = format!("search-{number}");
            let help = move || pool.help(visitor);
            // A thread that cannot be started only makes the walk slower.
            if let Ok(handle) = std::thread::Builder::new().name(name).spawn(help) {
                self.running.push(handle);
            }
        }
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        for helper in self.running.drain(..) {
            let _ = helper.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::pattern::{Language, Pattern};
    use std::os::unix::ffi::OsStrExt;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    const PATIENCE: Duration = Duration::from_secs(120);
    static HAS_PANICKED: AtomicBool = AtomicBool::new(false);

    /// Called before a directory is visited. In some, helpers panic, and the reader waits until
    /// that has happened, so that helpers certainly take the others.
    pub(super) fn visiting(below: &[u8]) {
        if !below.starts_with(b"helpers panic here ") {
            return;
        }
        let thread = std::thread::current();
        if thread
            .name()
            .is_some_and(|name| name.starts_with("search-"))
        {
            HAS_PANICKED.store(true, Ordering::Relaxed);
            panic!("as the test wants it");
        }
        let begun = Instant::now();
        while !HAS_PANICKED.load(Ordering::Relaxed) {
            assert!(begun.elapsed() < PATIENCE, "no thread helped");
            std::thread::yield_now();
        }
    }

    fn search(folder: &[u8]) -> Result<(), CallError> {
        let pattern = Pattern::new(b"*", Language::default())?;
        let request = Request::new(&pattern, &[folder], Options::default())?;
        let walk = LiveWalk {
            threads: NonZeroUsize::new(4),
        };
        let mut stream = walk.begin(request)?;
        while stream.next_block()?.is_some() {}
        Ok(())
    }

    #[test]
    fn nobody_waits_for_a_thread_that_panicked() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..16 {
            let name = format!("helpers panic here {number}");
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let path = folder.path().as_os_str().as_bytes().to_vec();
        let (done, told) = channel();
        std::thread::spawn(move || done.send(search(&path)));
        let result = told.recv_timeout(2 * PATIENCE).expect("the search ends");
        assert!(matches!(result, Err(CallError::Thread(_))), "{result:?}");
    }
}
