//! What changed since a snapshot was committed: segments beside its own, and
//! which rows of older ones they stand for.
//!
//! ```text
//! <source>/live/state                          which generation counts
//! <source>/private/data/<edition>.<generation>.overlays  all overlays of one
//! …/data/<edition>.<generation>.overlay        a shard's, from that generation on
//! …/data/<segment>.<table>.parquet             its segments, as any
//! ```
//! A **generation** is published by renaming `state`; the newest overlay of a
//! shard that is not newer than that counts. Nothing of it is made durable:
//! `state` names the boot of the machine, and after another one the snapshot
//! alone counts, until what changed was found out again.
//!
//! A row that no longer holds is **dead**: the overlay of its shard says so,
//! by ranges of the tables of a segment. Dead are whole listings, never
//! single entries, so that sums over the others are differences of running
//! sums.
//!
//! A reader pins a generation by a shared lock on the `state` that it read,
//! and what that needs stays as long.

mod belonging;
mod checkpoint;
mod live_shard;
mod overlay;
pub(crate) mod ranges;
mod writer;

pub use belonging::Belonging;
pub use checkpoint::Checkpoint;
pub use overlay::{Dead, LiveInfo};
pub(crate) use overlay::{Live, Overlaid, Overlay, edition, forget, forget_damaged, goes_on_from};
pub use writer::{LiveWriter, Published, Removal, Round};
