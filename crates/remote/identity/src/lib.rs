//! Identities of a server with many users: the secrets that stand for a user, and the limits on
//! guessing them.
//!
//! | module | content |
//! |---|---|
//! | [`credentials`] | sessions and tokens, in a file that several processes share |
//! | [`attempts`] | how long the next attempt must wait after wrong ones |
//!
//! Invariants: no secret is stored; what only the superuser may write is checked at every reading;
//! hostile bytes give errors; all memory and files are bounded; time is passed in. Passwords are
//! checked by [`trawl_sys::pam`]. The crate knows nothing about HTTP and becomes no user.

#![forbid(unsafe_code)]

pub mod attempts;
pub mod credentials;
mod error;

pub use error::IdentityError;

/// Directory of the sessions and tokens of the service for many users.
pub const DIRECTORY: &str = "/var/lib/trawl-http";
