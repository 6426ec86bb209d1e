//! Random trees with many permissions, a dozen users who ask about them, and the comparison of the
//! GNU tools' answers to these users with those of the program under test.
//!
//! - [`people`]: the users, by number only: they need not exist.
//! - [`plan`]: a tree from a seed, as data; [`names`], [`access`]: its parts.
//! - [`build`]: the tree on disk, and its index.
//! - [`compare`]: the tools as a user on the source against the program as the same user on the
//!   index; [`members`]: the same for sets and grep.
//! - [`views`]: the same for mounted views; [`together`]: for groups, relations and SQL.
//! - [`shrink`]: a smaller tree that still fails.
//! - [`stage`]: one tree with secrets, for attackers.
//! - [`view`]: everything that a user can see of an index from outside.
//!
//! The same seed makes the same plan on every machine. Everything here needs root.

pub mod access;
pub mod build;
pub mod compare;
pub mod members;
pub mod names;
pub mod people;
pub mod plan;
pub mod shrink;
pub mod stage;
pub mod together;
pub mod view;
pub mod views;

pub use build::Site;
pub use compare::{Check, Tally};
pub use people::Person;
pub use plan::Plan;
pub use stage::Stage;
