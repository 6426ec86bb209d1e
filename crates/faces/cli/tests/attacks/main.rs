//! Attacks by a user with a shell on the machine that holds the index, who wants to read or change
//! what they have no access to. There is one test per attack; each shows that the attack fails, and
//! that it succeeds on an index that is open to all.
//!
//! All tests need root, and say so where they do not run.

#![forbid(unsafe_code)]

mod changing;
mod lies;
mod locks;
mod moving;
mod namespaces;
mod reading;
mod swaps;
mod watching;
mod words;

use std::path::Path;

pub(crate) use trawl_testkit::permissions::stage::cannot;

/// The program under test.
pub(crate) const TRAWL: &str = env!("CARGO_BIN_EXE_trawl");

/// Returns the program's path.
pub(crate) fn program() -> &'static Path {
    Path::new(TRAWL)
}
