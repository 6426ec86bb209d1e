//! Random trees full of permissions, a dozen users who ask about them, and
//! the comparison of what GNU tools show these users with what the program
//! under test shows them.
//!
//! - [`people`]: the users, by number only: none of them need exist.
//! - [`plan`]: a tree from a seed, as data; [`names`], [`access`]: its parts.
//! - [`build`]: the tree on disk, and its index.
//! - [`compare`]: the tools as a user on the source against the program as
//!   the same user on the index.
//! - [`shrink`]: a smaller tree that still fails.
//! - [`stage`]: one tree with secrets, for attackers.
//! - [`view`]: all that a user can see of an index from outside.
//!
//! The same seed makes the same plan on every machine. Everything here needs
//! root.

pub mod access;
pub mod build;
pub mod compare;
pub mod names;
pub mod people;
pub mod plan;
pub mod shrink;
pub mod stage;
pub mod view;

pub use build::Site;
pub use compare::{Check, Tally};
pub use people::Person;
pub use plan::Plan;
pub use stage::Stage;
