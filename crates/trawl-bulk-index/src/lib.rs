//! Names for the bulk service's tables from an index that a daemon keeps as of now.
//!
//! A walk for a table begins as ever. Once it has gone through some directories, a thread asks the
//! daemon to bring the index up to date (`trawl watch`, a barrier) and opens it; from then on the
//! walk is told the names of directories, and so are those that go on where its table ended, while
//! the run changes nothing and the answer is young.
//!
//! Invariants: nobody waits for a daemon, unless the index was asked for by name. What a barrier
//! was not answered for is not told. A directory's names are told if it looks to statx(2) as it did
//! when they were put into the index, and if the kernel lets this process open what the index keeps
//! for those who may list it.

#![forbid(unsafe_code)]

mod asking;
mod reading;
mod session;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use trawl_bulk::{Begun, Demand, Known, Names};

use asking::Asking;
use session::Session;

/// When the index is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// For tables of many directories, and when its answer has come.
    Automatic,
    /// For each table, which waits for it.
    Always,
}

/// Knows names in directories from an index.
#[derive(Debug)]
pub struct IndexNames(Arc<Asking>);

impl IndexNames {
    /// Those of the index in a directory; `None` if this process may not be told what it has: a
    /// superuser's that gave up the right to open what others own, or one that acts as somebody else.
    pub fn of(index: PathBuf, when: Use) -> Option<IndexNames> {
        reads_as_its_user().then(|| IndexNames(Arc::new(Asking::new(index, when))))
    }

    /// Whether a daemon may be there to be asked.
    pub fn is_watched(index: &Path) -> bool {
        trawl_ask::barrier::is_watched(index)
    }
}

impl Known for IndexNames {
    fn begin(&self, demand: &Demand, begun: Begun) -> Option<Box<dyn Names>> {
        Some(Box::new(Session::begin(&self.0, demand, begun)))
    }
}

/// `CAP_DAC_OVERRIDE` and `CAP_DAC_READ_SEARCH`: with either, directories are open.
const OVERRIDES: u64 = 1 << 1 | 1 << 2;

/// Whether the kernel lets this process open of the index just what it would show it of the tree.
/// What is for the superuser alone belongs to the superuser, who opens it by owning it.
fn reads_as_its_user() -> bool {
    use rustix::process::{getegid, geteuid, getgid, getuid};
    // Of what it may list the kernel is asked by its real user.
    if (getuid(), getgid()) != (geteuid(), getegid()) {
        return false;
    }
    let is_root = geteuid().is_root();
    let status = || std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    !is_root || capabilities(&status()) & OVERRIDES != 0
}

/// The capabilities that count, as `/proc/PID/status` has them.
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
