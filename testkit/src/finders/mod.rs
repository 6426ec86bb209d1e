//! Random trees and random command lines of find, run through every finder: GNU find as the oracle,
//! bfs as a second opinion, and the program under test on its index and on the live file system.
//!
//! - [`plan`], [`names`]: a tree from a seed, as data; [`build`]: on disk, and as a script for a
//!   person.
//! - [`values`]: the attributes of the tree, for arguments that match.
//! - [`case`]: a command line in parts; [`grammar`], [`formats`]: random ones.
//! - [`environment`]: variables, and locales made for them.
//! - [`site`]: a tree, its index, and the finders; the words that a build knows.
//! - [`compare`]: the differences of two answers in determined parts.
//! - [`shrink`]: the smallest command line and tree that still differ.
//!
//! The program under test is known by its command line only.

pub mod build;
pub mod case;
mod changes;
pub mod compare;
pub mod environment;
pub mod formats;
pub mod grammar;
pub mod names;
pub mod plan;
pub mod shrink;
pub mod site;
pub mod values;

pub use case::Case;
pub use compare::{Difference, difference};
pub use environment::Locales;
pub use grammar::{Grammar, Purpose, Vocabulary};
pub use plan::Plan;
pub use site::{Answer, Side, Site, vocabularies};
