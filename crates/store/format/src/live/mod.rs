//! Reads the changes published since a snapshot was committed: segments beside the snapshot's, and
//! the rows of older segments that they supersede.
//!
//! ```text
//! <source>/live/state                          names the generation in effect
//! <source>/private/data/<edition>.<generation>.overlays  all overlays of one generation
//! …/data/<edition>.<generation>.overlay        a shard's overlay from that generation on
//! …/data/<segment>.<table>.parquet             the shard's segments, in the usual format
//! ```
//! A **generation** is published by renaming `state`. Readers use the newest overlay of a shard
//! that is not newer than the generation in `state`. No file of a generation is synced: `state`
//! names the boot of the machine, and after a reboot only the snapshot is valid until the changes
//! have been found again.
//!
//! A superseded row is **dead**: the overlay of its shard lists dead rows as ranges of the tables
//! of a segment. Only whole listings become dead, never single entries, so that sums over the other
//! rows are still differences of running sums.
//!
//! A reader pins a generation by a shared lock on the `state` file that it read. The files of that
//! generation stay while the lock is held, unless the writer removes them at once.

mod overlay;
pub mod ranges;

pub(crate) use overlay::Overlaid;
pub use overlay::{
    Dead, DeadRows, Live, LiveInfo, Overlay, Overlays, Placed, STATE_FILE, State, boot_id, edition,
    goes_on_from,
};
