//! The index shows every user what the kernel shows them on the source: the GNU tools, run as that
//! user, are the oracles, on random trees.
//!
//! By default there are 50 trees. For a long run, or to reproduce a failure:
//!
//! ```sh
//! TRAWL_PERMISSION_TREES=1000 TRAWL_SEED=1 cargo test -p trawl-cli --test permissions -- --nocapture
//! ```
//!
//! Seeds are consecutive numbers from `TRAWL_SEED` on. `TRAWL_PERMISSION_CHECKS=find,du` asks only
//! these, `TRAWL_PERMISSION_PROGRAM` names a program other than the one that was built.

#![forbid(unsafe_code)]

mod above;
mod commands;
mod deviation;
mod hidden;
mod hidden_members;
mod kernel;
mod links;
mod raw;
mod texts;
mod watched;

use std::sync::{Mutex, MutexGuard, PoisonError};

static HEAVY: Mutex<()> = Mutex::new(());

/// Waits until no other test of this suite that uses all cores is running. A daemon rests for a
/// multiple of the time that its last update took, which such a test would prolong.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    HEAVY.lock().unwrap_or_else(PoisonError::into_inner)
}
