//! Test tools shared by all crates: trees with every oddity, the GNU tools as oracles, other users,
//! small file systems, crash points.
//!
//! - [`scratch`]: a directory that is removed afterwards, however odd its content.
//! - [`folder`]: makes entries relative to an open directory, also beyond `PATH_MAX`.
//! - [`odd_tree`]: one tree with everything that ever broke a tree walker.
//! - [`random_tree`]: small trees from a seed, for differential tests.
//! - [`finders`]: random trees and command lines of find for every finder.
//! - [`permissions`]: random trees with many permissions, a dozen users, and what the tools show
//!   these users.
//! - [`oracle`]: runs `find`, `du`, `ls`, `stat` in a fixed environment, as any user.
//! - [`lines`]: compares outputs and shows where they differ.
//! - [`loop_mount`]: a file system of a given kind and size, unmounted afterwards.
//! - [`daemon`]: a daemon that runs until it is dropped, and answers that are up to date.
//! - [`crash`]: kills a writer at each of its crash points in turn.
//! - [`tick`]: waits so that access times stay where the next read puts them.
//! - [`machine`]: an emulated machine with a kernel of its own.
//! - [`site`]: a tree with its index, questions about it, and stand-ins for `trawl`.
//! - [`process`]: what this process has used, and its limits.
//! - [`prng`], [`skip`]: seeded randomness; reports of tests that could not run.
//!
//! This package is for tests: it panics where a test should fail. Only `site` knows that there are indexes.

#![forbid(unsafe_code)]

pub mod crash;
pub mod daemon;
pub mod finders;
pub mod folder;
pub mod lines;
pub mod loop_mount;
pub mod machine;
pub mod odd_tree;
pub mod oracle;
pub mod permissions;
pub mod prng;
pub mod process;
pub mod random_tree;
pub mod scratch;
pub mod site;
pub mod skip;

pub use folder::{FileTime, Folder};
pub use loop_mount::{FileSystem, LoopMount};
pub use machine::Machine;
pub use odd_tree::OddTree;
pub use oracle::{Identity, Ran};
pub use prng::Prng;
pub use random_tree::RandomTree;
pub use scratch::Scratch;
pub use skip::Skip;

/// Waits until the kernel's clock has ticked.
///
/// With relatime, a read updates an access time that is not later than the last change. Without a
/// tick after the change, the updated time is not later either, and the next read updates it again.
pub fn tick() {
    // A tick takes 10 ms at most.
    std::thread::sleep(std::time::Duration::from_millis(20));
}
