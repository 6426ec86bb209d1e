//! Searches the contents of the members of a set, with ripgrep's engine.
//!
//! - [`options`]: patterns, and the form of the output.
//! - [`search`]: the search on several threads that iterate one set.
//! - [`walk`]: the files below directories, as names of a set.
//! - [`covered`]: files that an index says cannot match.
//! - [`listed`]: the files below directories by an index that is as of now.
//! - [`tree`]: the same for directories at servers, by one search.
//!
//! Invariants: the output of a member is written whole; a member that cannot be read is reported
//! with its name, and the others are searched; files are read, never mapped, because they may be
//! truncated meanwhile.
//!
//! Does not know where names come from, and parses no command line.

#![forbid(unsafe_code)]

mod blank;
pub mod covered;
mod error;
pub mod listed;
mod matcher;
pub mod options;
mod plain;
mod printer;
pub mod search;
pub mod tree;
pub mod walk;

pub use blank::Blank;
pub use error::GrepError;
pub use options::Options;
pub use search::{Order, Summary, Target, search};
