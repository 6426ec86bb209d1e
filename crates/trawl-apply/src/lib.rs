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
//! Some changes cannot be published so, and need a new snapshot ([`Unappliable`]): above all those
//! that take a right away from someone, since what the snapshot's own files show must be hidden,
//! and every older snapshot's.

#![forbid(unsafe_code)]

mod access;
mod applier;
mod error;
mod granted;
mod known;
mod targets;

pub use applier::{Applied, Applier, ApplyOptions};
pub use error::{ApplyError, Result, Unappliable};
