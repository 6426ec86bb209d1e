//! The event loop: receives a waiting call, resolves its path, prepares what it needs, and lets it
//! continue.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use trawl_call::Attributes;
use trawl_model::sync::lock;
use trawl_mount::Tree;
use trawl_sys::Errno;
use trawl_sys::seccomp::{InterceptedCall, Listener, Verdict, write_memory};
use trawl_sys::stat_layout::{stat_bytes, statx_bytes};
use trawl_sys::wait::{Waker, readable};

use crate::attributes;
use crate::calls::{Form, Named, Need, named};
use crate::place::{CallTarget, absolute, below, plain};
use crate::plant::{PathTarget, Plant, Ready};

/// Number of calls that are handled in parallel.
const THREADS: usize = 4;
/// Maximum number of links from one tree into another that are followed.
const TREES_MAX: usize = 40;

/// A tree, the point where it appears, and the file system in memory that is mounted there.
#[derive(Debug)]
pub struct ShownTree {
    /// The tree.
    pub tree: Tree,
    /// The mount point: an absolute path without links and dots.
    pub point: Vec<u8>,
    /// Descriptor of the mount's root directory, through which it can be written.
    pub root: OwnedFd,
}

struct Shared {
    listener: Listener,
    /// Held by the thread that receives calls.
    turn: Mutex<()>,
    plants: Vec<Plant>,
    /// Device numbers of the file systems in memory.
    devices: Vec<u64>,
    stop: Waker,
}

/// The threads that handle calls.
pub struct Supervisor {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Supervisor").finish_non_exhaustive()
    }
}

impl Drop for Supervisor {
    /// Ends the threads; waiting calls fail.
    fn drop(&mut self) {
        self.shared.stop.wake();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Supervisor {
    /// Handles calls into these trees, on threads of this process, until it is dropped. At most
    /// `memory_bytes` bytes of contents are kept per tree.
    ///
    /// # Errors
    /// Fails if a thread cannot be started, or a file system in memory cannot be examined.
    pub fn start(
        listener: OwnedFd,
        shown: Vec<ShownTree>,
        memory_bytes: u64,
    ) -> io::Result<Supervisor> {
        let (mut plants, mut devices) = (Vec::new(), Vec::new());
        for ShownTree { tree, point, root } in shown {
            devices.push(rustix::fs::fstat(&root)?.st_dev);
            plants.push(Plant::new(tree, root, point, memory_bytes));
        }
        let listener = Listener::from(listener);
        listener.take_turns();
        let stop = Waker::new().map_err(|error| io::Error::from_raw_os_error(error.errno.0))?;
        let shared = Arc::new(Shared {
            listener,
            turn: Mutex::new(()),
            plants,
            devices,
            stop,
        });
        let threads = (0..THREADS).map(|_| {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name("calls".into());
            thread.spawn(move || shared.work())
        });
        let threads = threads.collect::<io::Result<Vec<_>>>()?;
        Ok(Supervisor { shared, threads })
    }
}

impl Shared {
    /// Handles calls until there are no more. A thread keeps the turn while it receives calls that
    /// refer to no tree and therefore need no waiting: passing the turn to another thread takes
    /// longer than such an answer.
    fn work(&self) {
        loop {
            let turn = lock(&self.turn);
            let (asked, named, place) = loop {
                let Ok(asked) = self.next() else {
                    return;
                };
                let Some(asked) = asked else {
                    continue;
                };
                match self.wanted(&asked) {
                    None => self.listener.answer(&asked, Verdict::Continue),
                    Some((named, place)) => break (asked, named, place),
                }
            };
            drop(turn);
            let verdict = self.judge(&asked, &named, place);
            self.listener.answer(&asked, verdict);
        }
    }

    /// Returns the next call, if it was not given up meanwhile; fails at the end.
    fn next(&self) -> io::Result<Option<InterceptedCall>> {
        let ready = readable([self.listener.as_fd(), self.stop.as_fd()], None);
        match ready {
            Ok([true, false]) if !trawl_sys::wait::is_hung_up(&self.listener) => {
                self.listener.next()
            }
            Ok([false, false]) => Ok(None),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Returns the path that a call names, and its place in a tree; `None` if the call refers to no
    /// tree.
    fn wanted(&self, asked: &InterceptedCall) -> Option<(Named, CallTarget)> {
        let named = named(asked)?;
        let place = absolute(asked, &named)?;
        // If the call was given up meanwhile, the path may have been read from another process's
        // memory.
        let is_wanted = self.tree(&place.path).is_some() && self.listener.is_waiting(asked);
        is_wanted.then_some((named, place))
    }

    /// Returns the tree that a path lies in, its device number, and the path below its top.
    fn tree(&self, path: &[u8]) -> Option<(&Plant, u64, Vec<u8>)> {
        self.plants.iter().enumerate().find_map(|(at, plant)| {
            let below = below(path, &plant.point)?;
            Some((plant, self.devices[at], below.to_vec()))
        })
    }

    fn judge(&self, asked: &InterceptedCall, named: &Named, place: CallTarget) -> Verdict {
        let CallTarget { mut path, open } = place;
        for _ in 0..TREES_MAX {
            let Some((plant, device, below)) = self.tree(&path) else {
                return Verdict::Continue;
            };
            match plant.find(&below, named.is_followed) {
                Err(errno) => return Verdict::Fail(errno),
                Ok(PathTarget::Nothing) => return Verdict::Continue,
                Ok(PathTarget::Missing(below, length)) => {
                    if named.need != Need::Content || plant.goes_without(&below, length) {
                        return Verdict::Continue;
                    }
                }
                Ok(PathTarget::Elsewhere(target)) => path = plain(&target),
                Ok(PathTarget::Here(found, attributes)) => {
                    let here = (plant, device, &found[..]);
                    let verdict = meet(asked, named, here, &attributes);
                    let is_it = |open: &String| plant.is_open(&found, open);
                    if named.need != Need::Content && !open.as_ref().is_none_or(is_it) {
                        // Another file has the name by now; the open file remains as it was.
                        return Verdict::Continue;
                    }
                    if let Some(verdict) = verdict {
                        return verdict;
                    }
                }
            }
        }
        // The links form a loop, or the file is replaced all the time.
        Verdict::Fail(Errno::LOOP)
    }
}

/// Prepares what a call needs from the file that it names; `None` if the name leads elsewhere by
/// now.
fn meet(
    asked: &InterceptedCall,
    named: &Named,
    (plant, device, path): (&Plant, u64, &[u8]),
    of: &Attributes,
) -> Option<Verdict> {
    let ready = match named.need {
        Need::Content => plant.fill(path, of),
        Need::Stat(..) => plant.follow(path, of),
        Need::Names | Need::Attributes(_) => Ok(Ready::Yes),
    };
    match ready {
        Ok(Ready::Yes) => {}
        Ok(Ready::LookAgain) => return None,
        Err(errno) => return Some(Verdict::Fail(errno)),
    }
    Some(match named.need {
        Need::Names | Need::Content => Verdict::Continue,
        Need::Attributes(wanted) => {
            attributes::answer(asked.thread, &wanted, of, || plant.xattrs(path))
        }
        Need::Stat(form, address) => {
            let told = Attributes {
                dev: device,
                ..plant.told(path, of)
            };
            let written = match form {
                Form::Stat => write_memory(asked.thread, address, &stat_bytes(&told)),
                Form::Statx => write_memory(asked.thread, address, &statx_bytes(&told)),
            };
            match written {
                Ok(()) => Verdict::Return(0),
                // The kernel reports the invalid address.
                Err(_) => Verdict::Continue,
            }
        }
    })
}
