//! Sessions of questions: the open indexes, how fresh they are, and what is read from the live file
//! system instead.
//!
//! - [`Session`]: from the paths of a question to places in the index, and how complete the answer
//!   is ([`Completeness`]).
//! - [`Sessions`]: sessions about several times.
//! - [`Options`]: what a caller chooses. [`Notice`]: what a session reports on the way, in order.
//! - [`freshness`]: asks daemons to bring an index up to date.
//! - [`live_part`]: parts of an answer that come from the live file system.
//! - [`call`]: the executor of a search call, and the freshness of the index that it asks.
//! - [`at`]: the moment in the past that a question is about.
//! - [`settings`]: the indexes to ask, and the identity of the asker.
//! - [`spelling`]: paths as the user began them.
//!
//! This crate prints nothing, never ends the process and installs no signal handler: reports go to
//! the caller's listener, and a caller that wants to end questions early passes a flag
//! ([`Interrupts`]).

#![forbid(unsafe_code)]

pub mod at;
pub mod call;
mod completeness;
mod error;
pub mod freshness;
mod left_out;
pub mod live_part;
mod notice;
mod options;
mod session;
mod sessions;
pub mod settings;
pub mod spelling;

pub use completeness::Completeness;
pub use error::{SessionError, is_superseded};
pub use notice::{AsOfWhen, Behind, LiveReason, Missing, NoneThen, NotIndexed, Notice};
pub use options::{Interrupts, Options, Report, Wait, When, silent};
pub use session::{Denials, Depth, Follow, PATHS_AT_ONCE, Part, Session, shown_index};
pub use sessions::Sessions;

use trawl_model::Timestamp;

/// Returns the current time.
pub fn now() -> Timestamp {
    let now = trawl_sys::process::now();
    Timestamp {
        secs: now.secs,
        nanos: now.nanos,
    }
}
