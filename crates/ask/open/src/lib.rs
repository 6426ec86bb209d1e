//! Decides how a user's program gets its answer: which index it asks, whether that index is as of
//! now, and which executor answers a search. The command line and the C library share this code, so
//! that they behave alike.
//!
//! - [`place`]: the location of the user's index or the administrator's, and the asking user's
//!   credentials.
//! - [`barrier`]: asks the daemons of an index to bring it up to date.
//! - [`search`]: chooses the executor for the search call.
//! - [`errno`]: errors as errno numbers.
//!
//! This crate knows nothing of other machines, arguments, output, or exit codes.

#![forbid(unsafe_code)]

pub mod barrier;
pub mod errno;
mod error;
pub mod place;
pub mod search;

pub use error::AskError;
