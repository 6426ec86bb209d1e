//! Relations of files, and groups of files learnt from what programs opened.
//!
//! | module | contents |
//! |---|---|
//! | [`trace`] | what a recorded command opened together, and what it built from what |
//! | [`graph`] | the access graph: weights that decay |
//! | [`store`] | the user's access graph as a file |
//! | `encoding` | its bytes |
//! | [`community`] | communities of a weighted graph |
//! | [`groups`] | learnt groups |
//! | [`kind`] | kinds of relations |
//! | [`related`] | relations of a file, from all sources |
//! | [`learnt`], [`references`], [`content`] | sources: the access graph, hooks, bytes |
//! | [`candidates`] | files that may refer to a file, or equal it |
//! | `names` | the search for many names in one reading |
//!
//! Invariants: a file is named only if the asking user can reach it now; the access graph belongs to
//! one user, and nobody else can read it; its size is bounded ([`graph::FILES_MAX`],
//! [`graph::EDGES_MAX`]); a damaged file gives an error.

#![forbid(unsafe_code)]

pub mod candidates;
pub mod community;
pub mod content;
mod encoding;
mod error;
pub mod graph;
pub mod groups;
pub mod kind;
pub mod learnt;
mod names;
pub mod references;
pub mod related;
pub mod store;
pub mod trace;

pub use error::RelationError;
pub use graph::AccessGraph;
pub use groups::{LearntGroup, learnt_groups};
pub use kind::{Direction, Kind};
pub use store::Place;
