//! How a program of a user's comes to an answer: which index is asked, whether it is as of now,
//! and who answers a search. What the command line and the C library must do alike is here.
//!
//! - [`place`]: where the user's index lies, or the administrator's; who asks.
//! - [`barrier`]: asks the daemons of an index to bring it up to date.
//! - [`search`]: who answers the search call.
//! - [`mounts`]: the servers behind Trawl's own mounts, asked for what lies there.
//! - [`errno`]: what went wrong, as a number.
//!
//! Knows nothing of arguments, output, or exit codes.

#![forbid(unsafe_code)]

pub mod barrier;
pub mod errno;
mod error;
pub mod mounts;
pub mod place;
pub mod search;

pub use error::AskError;
