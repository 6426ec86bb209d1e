//! Semantic groups: files that belong together, by rules that a file can be judged by.
//!
//! The paper (section 2.3) defines a *semantic file group* as "a set of access-correlated files",
//! and detects groups by the rules of its Table 4: the files of a program, the files of a project,
//! the music of an album, the photos of an event, and the documents of a directory. The rules here
//! are those of `default.toml`, or of a file that the user or the administrator puts in its place.
//!
//! Invariants:
//!
//! - every file belongs to exactly one group; a directory belongs to none;
//! - groups are computed from rows that the asking user can read, and from nothing else of the
//!   tree: a user who cannot list a directory gets the groups of the tree without what is in it;
//! - the same tree has the same groups with the same ids, whatever index answers, apart from groups
//!   that a source outside of this crate adds;
//! - memory grows with the number of groups and with the largest directory, not with the number of
//!   files;
//! - a summary never excludes a group that has a matching file.
//!
//! Read first: [`source::Source`] is where a kind of groups joins, [`Grouper`] asks the sources in
//! order, and [`Question`] applies it to the rows of an index.
//!
//! Knows nothing of output.
#![forbid(unsafe_code)]

mod config;
mod directory;
mod edits;
mod error;
mod grouper;
mod hints;
mod identity;
mod patterns;
mod question;
mod rules;
mod scope;
pub mod source;
mod sources;
mod summary;
mod words;

pub use config::Places;
pub use directory::{Directory, Entry};
pub use edits::{Edits, EditsFile};
pub use error::GroupsError;
pub use grouper::Grouper;
pub use hints::{Hints, Sought};
pub use identity::{Extent, GroupId, Identity, NotAnId};
pub use question::{Explained, Member, Question};
pub use rules::Rules;
pub use summary::{Range, Summary, Wanted};
pub use words::Markers;
