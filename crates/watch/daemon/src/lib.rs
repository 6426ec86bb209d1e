//! The daemon that watches sources: what it watches, when it publishes, and what it reports.
//!
//! | module | contents |
//! |---|---|
//! | `daemon` | starts an engine and a socket for each source, and stops them |
//! | `watching` | opens the change source of a tree, from the table of `trawl-changes` |
//! | `parts` | the applier: generations beside the snapshot, or a scan where they are not enough |
//! | `plain` | scans of a whole source |
//! | `checkpoint` | when published changes become a snapshot |
//! | `texts` | packs of n-grams, after rounds |
//! | `moments` | up to which moment a snapshot has all changes |
//! | `socket_unit` | a unit with which systemd listens for the daemon |
//! | `notice`, `error` | reports for the log, and reasons why a source cannot be watched |
//!
//! Invariant: one daemon watches an index's source at a time, and the change source is open before
//! the source is scanned, so that no change is missed.
//!
//! This crate prints nothing, never ends the process and installs no signal handler: reports go to
//! the caller's log, and a flag and a waker of the caller end the work. `trawl-barrier` has the
//! engine and the socket.

#![forbid(unsafe_code)]

mod checkpoint;
mod daemon;
mod error;
mod moments;
mod notice;
mod parts;
mod plain;
mod socket_unit;
mod texts;
mod watching;

pub use daemon::{Daemon, Host, Options};
pub use error::{DaemonError, Result};
pub use notice::{Log, Notice};
pub use socket_unit::socket_unit;
pub use trawl_barrier::{Level, Metrics};
pub use trawl_changes::Wish;
