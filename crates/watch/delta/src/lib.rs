//! Applies dirty entries to the index.
//!
//! An [`Applier`] takes the changes that a source reported since the last round, looks at the file
//! system and publishes a generation ([`trawl_writer::live`]). It lists each directory that may have
//! changed again; the new listing replaces the old one as a whole. Directories that are new there
//! are scanned with everything below, and those that have disappeared are removed with everything
//! below.
//!
//! Events are only hints: the state of the file system after them counts. So looking too often does
//! no harm, and a change during a look is reported by a later event.
//!
//! After trust was lost, [`Applier::catch_up`] determines the changes itself, where the file system
//! allows it.
//!
//! If a user loses a right, the files of the snapshot and of every older one may show more than the
//! user may see. Then the published generations must become a snapshot before any request is
//! answered ([`Applier::must_checkpoint`]). Some changes cannot be published at all and need a scan
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
