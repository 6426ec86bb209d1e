//! The search call: one question, a pattern and some directories, for what programs otherwise
//! find out by opening and listing directory after directory.
//!
//! The call is that of the paper *Search Should Be a System Call* (2013). [`Request`] says what
//! is asked, an [`Executor`] answers it, [`Search`] reads the answer record by record or into a
//! buffer. Who answers is said in the answer: a walk of the live file system ([`live`]), or an
//! index ([`index`]); [`auto`] takes the index where it is known to be as of now.
//!
//! - [`pattern`]: the language, compiled once; what is left of a pattern below a path.
//! - [`options`]: what is asked besides, as types and as the bits of the C interface.
//! - [`request`]: roots, and lists of them as one string; [`confined`]: roots in a tree that
//!   nothing leads out of.
//! - [`decompose`]: which part of a search each mount answers; [`spread`] asks the servers of mounts
//!   for theirs.
//! - [`record`], [`packed`]: results and errors, and their bytes.
//! - [`cookie`]: where a search goes on; [`waiter`]: a descriptor that says when.
//!
//! Invariants: whoever answers, the records and their order are the same (directories in
//! depth-first path order, each with its matches by name bytes); patterns, packed records and
//! cookies are untrusted; what cannot be read is a record in the stream; memory is bounded by the
//! largest directory and by what waits to be read.
//!
//! Knows nothing of sockets, daemons or output.

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
