//! The search call: one request, a pattern and a list of directories, replaces the calls by which
//! programs otherwise open and list directory after directory.
//!
//! The call follows the paper *Search Should Be a System Call* (2013). A [`Request`] states the
//! question, an [`Executor`] answers it, and [`Search`] reads the answer record by record or into a
//! buffer. Each block of the answer names the executor that served it: a walk of the live file
//! system ([`live`]) or an index ([`index`]). [`auto`] uses the index where the index is known to
//! be as of now.
//!
//! - [`pattern`]: the pattern language, compiled once, and the rest of a pattern below a path.
//! - [`options`]: the other parameters of a search, as types and as the flag bits of the C
//!   interface.
//! - [`request`]: roots, and lists of roots as one string; [`confined`]: roots in a tree that no
//!   path may leave.
//! - [`decompose`]: splits a search into one part per mount; [`spread`] sends each part to the
//!   server of its mount.
//! - [`record`], [`packed`]: matches and errors, and their encoding.
//! - [`cookie`]: the position at which a search resumes; [`waiter`]: a pollable descriptor for
//!   waiting.
//!
//! Invariants: every executor gives the same records in the same order (directories in depth-first
//! path order, the matches of each directory ordered by name bytes); patterns, packed records and
//! cookies are untrusted; a path that cannot be read becomes an error record in the stream; memory
//! is bounded by the largest directory and by the bytes that wait to be read.
//!
//! This crate knows nothing of sockets, daemons or output.

#![forbid(unsafe_code)]

pub mod auto;
pub mod confined;
pub mod cookie;
pub mod decompose;
mod error;
pub mod executor;
pub mod index;
pub mod live;
pub mod options;
pub mod packed;
pub mod pattern;
pub mod record;
pub mod request;
mod rescued;
pub mod search;
pub mod spread;
pub mod waiter;

pub use auto::Auto;
pub use confined::Confined;
pub use cookie::Cookie;
pub use error::CallError;
pub use executor::{Block, Executor, ServedBy, Stream};
pub use live::LiveWalk;
pub use options::Options;
pub use pattern::{Language, Mode, Pattern, PatternError, Period};
pub use record::{Attributes, Outcome, Record, RecordRef, Source, Trouble};
pub use request::{Cancel, Request, Root, RootParts};
pub use search::{Filled, Search};
pub use spread::Spread;
