//! The commands that run now.
//!
//! A command is reaped under the lock under which commands are signalled, so that no signal reaches
//! a process that has taken over its process id.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use trawl_model::sync::lock;
use trawl_sys::child::{Child, Group, Start};
use trawl_sys::command::Ended;

/// The commands that run now.
pub(crate) struct Children {
    group: Group,
    running: Mutex<Running>,
}

#[derive(Default)]
struct Running {
    is_stopped: bool,
    next: u64,
    all: BTreeMap<u64, Arc<Child>>,
}

impl Children {
    pub(crate) fn new(group: Group) -> Children {
        Children {
            group,
            running: Mutex::default(),
        }
    }

    pub(crate) fn group(&self) -> Group {
        self.group
    }

    /// Starts a command and waits for its end; `None` if no command may start any more.
    pub(crate) fn run(&self, start: &Start<'_>) -> io::Result<Option<Ended>> {
        let (number, child) = {
            let mut running = lock(&self.running);
            if running.is_stopped {
                return Ok(None);
            }
            let child = Arc::new(start.start()?);
            running.next += 1;
            let number = running.next;
            running.all.insert(number, Arc::clone(&child));
            (number, child)
        };
        let waited = child.wait();
        let mut running = lock(&self.running);
        running.all.remove(&number);
        waited?;
        child.reap().map(Some)
    }

    /// Lets no more commands start.
    pub(crate) fn stop(&self) {
        lock(&self.running).is_stopped = true;
    }

    pub(crate) fn are_stopped(&self) -> bool {
        lock(&self.running).is_stopped
    }

    /// Sends a signal to all commands.
    pub(crate) fn signal(&self, signal: i32) {
        for child in lock(&self.running).all.values() {
            // A command that has just ended needs no signal.
            let _ = child.signal(self.group, signal);
        }
    }
}
