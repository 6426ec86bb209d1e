//! Bounds the number of descriptors: asks the kernel to forget the names of files that have not been
//! looked up for long, so that their nodes end. Open files and directories stay: the kernel would show
//! their paths as deleted.
//!
//! The kernel locks a directory while it asks for a name in it, and again when it is told to forget
//! one. So this is done by a thread that answers no request.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};

use fuser::{INodeNo, Notifier};

use crate::pass::Pass;

/// Descriptors that are left to open files, directories and everything else.
const RESERVED_SHARE: u64 = 2;
/// The most names that the kernel is told to forget at a time.
const BATCH: usize = 4096;

/// Wakes the thread when there are too many nodes.
#[derive(Debug)]
pub(crate) struct Forgetting {
    most: usize,
    wake: SyncSender<()>,
}

/// The thread's side, before it starts.
#[derive(Debug)]
pub(crate) struct Woken(Receiver<()>, usize);

impl Forgetting {
    /// Returns both sides, for a process that can have this many descriptors.
    pub(crate) fn new(descriptors: u64) -> (Forgetting, Woken) {
        let most = usize::try_from(descriptors / RESERVED_SHARE).unwrap_or(usize::MAX);
        let (wake, woken) = sync_channel(1);
        (Forgetting { most, wake }, Woken(woken, most))
    }

    /// Looks whether there are too many nodes; called with every new one.
    pub(crate) fn look(&self, count: usize) {
        if count > self.most {
            // If the channel is full, the thread is about to wake anyway.
            let _ = self.wake.try_send(());
        }
    }
}

impl Woken {
    /// Starts the thread. It ends with the mount.
    pub(crate) fn start(self, pass: &Arc<Pass>, notifier: Notifier) -> io::Result<()> {
        let pass = Arc::downgrade(pass);
        let thread = std::thread::Builder::new().name("forgetting".into());
        thread.spawn(move || self.run(&pass, &notifier))?;
        Ok(())
    }

    fn run(self, pass: &Weak<Pass>, notifier: &Notifier) {
        let Woken(woken, most) = self;
        while woken.recv().is_ok() {
            let Some(pass) = pass.upgrade() else {
                return;
            };
            let excess = pass.nodes.count().saturating_sub(most - most / 4);
            for node in pass.nodes.oldest(excess.min(BATCH)) {
                let (parent, name) = node.link();
                // The name may have been removed or forgotten meanwhile.
                let _ = notifier.inval_entry(INodeNo(parent), &name);
            }
        }
    }
}
