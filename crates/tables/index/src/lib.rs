//! Provides names for the bulk service's tables from an index that a daemon keeps up to date.
//!
//! A walk for a table begins as usual. After some directories, a thread asks the daemon to bring
//! the index up to date (`trawl watch`, a barrier) and opens it. From then on the walk gets the
//! names of directories from the index, and so do walks that continue where its table ended, while
//! the run makes no change and the answer is young.
//!
//! Invariants: nobody waits for a daemon, unless the index was requested explicitly. Sources for
//! which the barrier was not confirmed are not used. A directory's names are used only if its
//! statx(2) result is the same as when they were indexed, and if the kernel lets this process open
//! the files that the index keeps for users who may list it.

#![forbid(unsafe_code)]

mod asking;
mod reading;
mod session;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use trawl_table_service::{Begun, Demand, KnownNames, Names};

use asking::Asking;
use session::Session;

/// When the index is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// For tables of many directories, once its answer has arrived.
    Automatic,
    /// For each table, which waits for the answer.
    Always,
}

/// Knows the names in directories from an index.
#[derive(Debug)]
pub struct IndexNames(Arc<Asking>);

impl IndexNames {
    /// Uses the index in a directory. Returns `None` if this process may not be told the index's
    /// content: a superuser's process without the capability to open others' files, or one that
    /// acts as another user.
    pub fn of(index: PathBuf, when: Use) -> Option<IndexNames> {
        reads_as_its_user().then(|| IndexNames(Arc::new(Asking::new(index, when))))
    }

    /// Returns whether a daemon may be there to be asked.
    pub fn is_watched(index: &Path) -> bool {
        trawl_open::barrier::is_watched(index)
    }
}

impl KnownNames for IndexNames {
    fn begin(&self, demand: &Demand, begun: Begun) -> Option<Box<dyn Names>> {
        Some(Box::new(Session::begin(&self.0, demand, begun)))
    }
}

/// `CAP_DAC_OVERRIDE` and `CAP_DAC_READ_SEARCH`: either opens all directories.
const OVERRIDES: u64 = 1 << 1 | 1 << 2;

/// Returns whether the kernel lets this process open exactly those parts of the index that it would
/// show it of the tree. Parts for the superuser alone belong to the superuser, who opens them as
/// their owner.
fn reads_as_its_user() -> bool {
    use rustix::process::{getegid, geteuid, getgid, getuid};
    // access(2) checks permissions with the real user.
    if (getuid(), getgid()) != (geteuid(), getegid()) {
        return false;
    }
    let is_root = geteuid().is_root();
    let status = || std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    !is_root || capabilities(&status()) & OVERRIDES != 0
}

/// Returns the effective capabilities from the text of `/proc/PID/status`.
fn capabilities(status: &str) -> u64 {
    let text = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let number = text.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    number.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read() {
        assert_eq!(capabilities("Name:\tx\nCapEff:\t0000000000000006\n"), 6);
        assert_eq!(capabilities("Name:\tx\n"), 0);
    }
}
