//! Makes indexes: runs scans, keeps and removes snapshots, and checks who may see what.
//!
//! | module | contents |
//! |---|---|
//! | `options`, `left_out`, `id_map` | how a source is scanned: options, patterns, maps of user and group ids |
//! | `scan`, `summary` | one scan: from a path or a trace to a committed snapshot |
//! | `handed_over`, [`refresh`](mod@refresh) | scans and refreshes that the daemon of a source does |
//! | [`upkeep`] | verify, retention, garbage collection, name sidecars |
//! | [`sources`] | the sources of several indexes; removal of one |
//! | [`check`] | permission audit: users are shown exactly what they may see |
//! | [`text`] | n-grams of contents, for `trawl grep`, and keywords, for `trawl find` |
//! | [`surroundings`] | directories around an index that others can read or replace |
//! | `event`, `error` | reports of running work, and reasons why it failed |
//!
//! Invariant: a snapshot is published whole or not at all, and only after older snapshots that stay
//! are as strict as it is. A scan that fails or is interrupted removes its own files.
//!
//! This crate prints nothing, never ends the process and installs no signal handler: reports go to
//! the caller's [`Listener`], the time comes from the caller's clock, and a flag of the caller
//! interrupts work ([`Control`]).

#![forbid(unsafe_code)]

pub mod check;
mod error;
mod event;
mod handed_over;
mod id_map;
pub mod indices;
mod left_out;
mod options;
pub mod refresh;
mod scan;
pub mod sources;
mod summary;
pub mod surroundings;
pub mod text;
pub mod upkeep;

pub use error::{IndexerError, Result};
pub use event::{Event, Listener, Notice, Running, silent};
pub use handed_over::{HandedOver, forget_killed, hand_over};
pub use id_map::IdMapChoice;
pub use left_out::LeftOut;
pub use options::{Control, Exclusion, ScanOptions, Unchanged};
pub use refresh::{Refreshed, refresh, refresh_in};
pub use scan::{ID_MAP, Job, Scanner, publish};
pub use summary::{Issues, LISTED_ISSUES, Summary};
pub use trawl_keywords::{Documents, PlainText};
pub use upkeep::Retention;
