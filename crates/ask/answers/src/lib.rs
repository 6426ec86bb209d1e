//! Typed answers to questions about sums, ranks and changes.
//!
//! Each module answers one kind of question from a [`Session`](trawl_session::Session): options
//! are plain structs, answers are structs or go to a visitor. `examples/ask.rs` asks all of them.
//!
//! | module | question |
//! |---|---|
//! | [`find`] | entries that a find expression selects |
//! | [`listing`] | directories and their entries, sorted |
//! | [`locate`] | names and paths that match a pattern |
//! | [`du`] | space used by each directory, as du counts it |
//! | [`top`] | the largest, oldest or fullest files, directories or groups |
//! | [`stats`] | entries and bytes by type, owner, age and other kinds |
//! | [`duplicates`] | files that may be the same, or are |
//! | [`diff`] | the differences between two snapshots |
//! | [`history`] | the state of a path in each snapshot |
//! | [`xattrs`] | extended attributes of entries |
//! | [`place`] | the mount point and the security context of a file |
//! | [`named`] | the entries of a named index, by their values |
//! | [`growth`] | the size of a tree in each snapshot |
//! | [`quota`] | what users, groups and projects use of file systems, and may use |
//!
//! [`expression`] selects the entries that a question is about.
//!
//! This crate prints nothing and chooses no format of output.

#![forbid(unsafe_code)]

pub mod diff;
pub mod du;
pub mod duplicates;
mod error;
pub mod expression;
pub mod find;
pub mod growth;
pub mod history;
pub mod listing;
pub mod locate;
pub mod named;
mod no_answer;
mod past;
pub mod place;
pub mod quota;
pub mod stats;
pub mod top;
pub mod xattrs;

pub use error::AnswerError;
pub use no_answer::NoAnswer;
pub use trawl_model::TimeKind;
