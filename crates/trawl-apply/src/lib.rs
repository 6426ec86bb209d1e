//! What is dirty becomes part of the index.
//!
//! An [`Applier`] takes what a change source reported since the last time, looks at the file system,
//! and publishes a generation ([`trawl_index::live`]): each directory that may have changed is
//! listed again as a whole, and takes the place of what the index had of it. Directories that are
//! new there are scanned with all below, those that are gone disappear with all below.
//!
//! Events are hints: what the file system says after them is what counts. So it does no harm to
//! look too often, and what changes while it is looked at is told by a later event.
//!
//! After trust was lost it finds out by itself what changed since ([`Applier::catch_up`]), where the
//! file system tells.
//!
//! Where a right is taken away from someone, what the snapshot's own files show must be hidden, and
//! every older snapshot's: what was published has to become a snapshot before anybody is answered
//! ([`Applier::must_checkpoint`]). Some changes cannot be published at all, and need a scan
//! ([`Unappliable`]).

#![forbid(unsafe_code)]

mod access;
mod applier;
mod catch_up;
mod checkpoint;
mod error;
mod granted;
mod known;
mod targets;

pub use applier::{Applied, Applier, ApplyOptions};
pub use catch_up::{CaughtUp, Method, Note};
pub use checkpoint::Growth;
pub use error::{ApplyError, Result, Unappliable};
