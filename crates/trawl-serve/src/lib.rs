//! The daemon around a change source: reads changes as they come, has them applied, and answers
//! those who ask that the index is as the file system is *now*.
//!
//! | module | what it holds |
//! |---|---|
//! | [`applier`] | what is asked of whoever writes the index |
//! | [`engine`] | one watched source: reading, rounds, trust |
//! | `mark`, `open_files` | what survives a daemon's end; files that others are writing |
//! | [`protocol`], [`status`] | what is said on the socket |
//! | `socket`, `server`, `slots` | the socket, who may ask how often |
//! | [`client`] | asking |
//! | [`manager`] | systemd's side of it, without its library |
//!
//! The daemon answers no questions: whoever asks reads the index as themselves afterwards, and it
//! learns nothing but that somebody asked. Read first: [`engine`].
//!
//! Not here: how changes are applied, how sources notice them, the command line.

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

pub use applier::{Applier, ApplyError, ApplyErrorKind, Published, Recovery, Scope, Stale, Taken};
pub use engine::{Caller, Engine, Level, Opened, Opener, Parts, Settings, Start};
pub use error::{Result, ServeError};
pub use mark::noted;
pub use server::Server;
pub use socket::Listening;
