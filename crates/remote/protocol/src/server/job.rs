//! A request as its thread sees it.

use super::Serving;
use super::outlet::{Leave, Outlet, Task};
use crate::exports::Exports;
use crate::messages::Body;

/// Records and data are sent once they have this many bytes, or when the next ones are not ready.
pub(crate) const BLOCK_BYTES: usize = 64 << 10;
/// Maximum length of a path in a request, in bytes; each record contains it.
pub(crate) const PATH_MAX_BYTES: usize = 4096;

/// Everything that serving a request needs.
pub(crate) struct Job<'a> {
    pub(crate) serving: &'a Serving,
    pub(crate) outlet: &'a Outlet,
    pub(crate) task: &'a Task,
    /// Number of the request.
    pub(crate) id: u32,
}

impl Job<'_> {
    /// Returns the exported trees.
    pub(crate) fn exports(&self) -> &Exports {
        &self.serving.exports
    }

    /// Sends a part of the answer.
    pub(crate) fn say<M: Body>(&self, message: &M) {
        self.outlet.say(self.id, message);
    }

    /// Waits until a frame may be sent, and takes its size from the credit.
    pub(crate) fn leave(&self, bytes: usize) -> Leave {
        self.task.leave(bytes, self.outlet.stall())
    }

    /// Returns whether nobody waits for the rest of the answer.
    pub(crate) fn is_over(&self) -> bool {
        self.task.cancel.is_cancelled() || self.outlet.is_broken()
    }
}
