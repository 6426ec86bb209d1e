//! Dynamic sets: a search result whose members are fetched ahead, in parallel and in the cheapest
//! order, while the first ones are being processed.
//!
//! The library follows the paper *Using Dynamic Sets to Overcome High I/O Latencies During Search*
//! (1995) and has all eleven operations of its Figure 1; [`Set`] documents which method is which.
//!
//! - [`name`]: set pathnames: csh wildcards, queries in `\…\`, commands in `%…%`.
//! - [`expand`]: from a set pathname to names, and the engines that evaluate queries.
//! - [`source`]: where the names of members come from, as a stream.
//! - [`member`]: members as `digest` and `iterate` return them, and the errors in their place.
//! - [`opener`]: how a member is opened and fetched, and the place that it lies at.
//! - [`set`]: the set itself.
//! - [`stats`]: what fetching cost and what it saved.
//! - [`model`]: the linear performance model; [`explain`]: its fit to a run.
//!
//! Invariants: every member satisfied the query at some moment while it ran; once a member, always
//! a member; each member is returned once by an iteration, or an error record with its name is;
//! bytes fetched ahead, open descriptors and requests in flight stay within the caller's limits.
//!
//! This crate knows nothing of other machines, of query engines, or of output.

#![forbid(unsafe_code)]

mod error;
pub mod expand;
pub mod explain;
mod local;
pub mod member;
pub mod model;
pub mod name;
pub mod opener;
pub mod set;
pub mod source;
pub mod stats;

pub use error::{SetError, TimedOut};
pub use explain::Explanation;
pub use member::{Digest, Opened, Problem};
pub use name::SetName;
pub use opener::{Local, Look, Opener, PlaceId};
pub use set::{Options, Set};
pub use source::{Found, Names};
pub use stats::Stats;
