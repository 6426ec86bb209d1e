//! A parallel, depth-first walk of a live tree.
//!
//! | module | responsibility |
//! |---|---|
//! | `parts` | parts of a tree that was read before |
//! | `alone` | one entry without its directory's listing |
//! | `root` | opening the root and reading the permissions above it |
//! | `node` | a directory and its ancestors |
//! | `names` | the sorted names of one directory |
//! | `lister` | one directory's batch |
//! | `pending` | directories still to be read, in memory or in a file |
//! | `stack` | one thread's position in the tree, and its descriptors |
//! | `worker` | one thread |
//! | `pool` | work passed between threads |
//! | `outlet` | delivery to the sink, and detection of completed subtrees |
//!
//! Invariants:
//! - Every directory is opened by a single name relative to an open directory, without following
//!   links. A descriptor that was closed and opened again must lead to the same device and inode.
//! - Memory: a stack with one frame per level, names of pending directories up to
//!   [`WalkOptions::pending_bytes`], and a few batches of at most 65,536 entries.
//! - Descriptors: at most [`WalkOptions::descriptors`].

mod alone;
mod lister;
mod names;
mod node;
mod outlet;
mod parts;
mod pending;
mod pool;
mod root;
mod stack;
mod worker;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trawl_model::Sink;
use trawl_sys::stat::Stat;
use trawl_sys::xattr;

pub use self::alone::look;
use self::node::Node;
use self::outlet::{ChannelOutlet, Ledger, Outlet, channel};
pub use self::parts::{Extent, PartRead, Parts, SomeNames};
use self::pending::Overflow;
use self::pool::Pool;
use self::worker::{Shared, Work, Worker};
use crate::error::ScanError;
use crate::options::WalkOptions;
use crate::progress::{Progress, ScanProgress};

/// Reads the tree at `root` into `sink` and returns the final counts. The sink is called on the
/// caller's thread only.
///
/// # Errors
/// Fails only if the root cannot be opened, a thread cannot be started, the cancel flag is set, or
/// the sink fails. Other read errors below the root are issues in the stream.
pub fn walk<S: Sink>(
    root: &[u8],
    options: &WalkOptions<'_>,
    progress: &ScanProgress,
    sink: &mut S,
) -> Result<Progress, ScanError<S::Error>> {
    let root = root::open(root, options.xattrs)?;
    let node = Node::root(trawl_model::DirId(0), root.path, &root.stat);
    sink.root(root.source).map_err(ScanError::Sink)?;
    let top = Top {
        fd: Arc::new(root.fd),
        stat: root.stat,
        node,
    };
    walk_from(&top, 1, options, progress, sink)?;
    Ok(progress.get())
}

/// The directory at which a walk begins.
pub(crate) struct Top {
    pub(crate) fd: Arc<OwnedFd>,
    pub(crate) stat: Stat,
    pub(crate) node: Arc<Node>,
}

/// Reads an open directory and everything below it. Directories get ids from `next_id` on; returns
/// the first unused id.
pub(crate) fn walk_from<S: Sink>(
    top: &Top,
    next_id: u64,
    options: &WalkOptions<'_>,
    progress: &ScanProgress,
    sink: &mut S,
) -> Result<u64, ScanError<S::Error>> {
    let resources = options.resources();
    let shared = Shared {
        options,
        progress,
        root: Arc::clone(&top.fd),
        root_depth: top.node.depth,
        pool: Pool::new(
            resources.threads,
            Work::Root(Arc::clone(&top.node), top.stat),
        ),
        overflow: Overflow::new(options.temporary.clone(), options.pending_bytes),
        next_id: AtomicU64::new(next_id),
        descriptors_each: resources.descriptors_each,
    };
    let mut ledger = Ledger::new(sink);
    if resources.threads == 1 {
        let worker = Worker::new(&shared, &mut ledger, xattr::Reader::for_any_thread());
        worker.run();
    } else {
        walk_in_threads(&shared, resources.threads, &mut ledger)?;
    }
    if let Some(error) = ledger.into_error() {
        return Err(ScanError::Sink(error));
    }
    if options.cancel.load(Ordering::Relaxed) {
        return Err(ScanError::Cancelled);
    }
    Ok(shared.next_id.load(Ordering::Relaxed))
}

/// Reads on `threads` threads, and delivers to the sink on this one.
fn walk_in_threads<S: Sink>(
    shared: &Shared<'_>,
    threads: usize,
    ledger: &mut Ledger<'_, S>,
) -> Result<(), ScanError<S::Error>> {
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for number in 0..threads {
            let outlet = ChannelOutlet::new(sender.clone());
            let read = move || {
                Worker::new(shared, outlet, xattr::Reader::for_worker_thread()).run();
            };
            let name = format!("scan-{number}");
            if let Err(source) = std::thread::Builder::new()
                .name(name)
                .spawn_scoped(scope, read)
            {
                shared.pool.end();
                return Err(ScanError::Thread { source });
            }
        }
        drop(sender);
        for event in receiver.iter().flatten() {
            if ledger.put(event).is_err() {
                // This function drops the receiver, so the threads' sends fail.
                shared.pool.end();
                break;
            }
        }
        Ok(())
    })
}
