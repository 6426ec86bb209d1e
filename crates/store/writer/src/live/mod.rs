//! Publishes changes since a snapshot was committed ([`trawl_format::live`] tells which files hold
//! them), and makes snapshots of them.

mod belonging;
mod checkpoint;
mod forget;
mod live_shard;
mod writer;

pub use belonging::Belonging;
pub use checkpoint::Checkpoint;
pub(crate) use forget::{forget, forget_damaged};
pub use writer::{LiveWriter, Published, Removal, Round};
