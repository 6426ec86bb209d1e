//! Runs the daemon around a change source: it reads changes as they come, has them applied, and
//! confirms to clients that the index shows the file system as it is *now*.
//!
//! | module | content |
//! |---|---|
//! | [`applier`] | the interface of the component that writes the index |
//! | [`engine`] | one watched source: reading, rounds, trust |
//! | `mark`, `open_files` | state that survives the daemon; files that others are writing |
//! | [`protocol`], [`status`] | messages on the socket |
//! | `socket`, `server`, `slots` | the socket; limits on who may ask how often |
//! | [`client`] | requests to a daemon |
//! | [`manager`] | notifications to systemd, without its library |
//!
//! The daemon answers no questions about files: clients read the index as themselves afterwards,
//! and the daemon learns only that somebody asked. Read [`engine`] first.
//!
//! This crate does not apply changes, notice changes or parse the command line.

#![forbid(unsafe_code)]

pub mod applier;
pub mod client;
pub mod engine;
mod error;
pub mod manager;
mod mark;
mod open_files;
pub mod protocol;
mod server;
mod slots;
mod socket;
pub mod status;

pub use applier::{
    Applier, ApplyError, ApplyErrorKind, Published, Recovery, Scope, Stale, TakenDirt,
};
pub use engine::{Caller, Engine, Level, Opened, Opener, Parts, Settings, Start};
pub use error::{Result, ServeError};
pub use mark::noted;
pub use server::{Metrics, Server};
pub use socket::Listening;
