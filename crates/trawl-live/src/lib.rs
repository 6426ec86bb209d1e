//! Change sources: what notices that a file system is no longer as it was recorded.
//!
//! A [`ChangeSource`] yields [`Change`]s: hints about names, objects, directories and subtrees,
//! keyed by file handles. A [`DirtySet`] collects them in bounded memory; [`Places`] turn keys into
//! paths. What a source promises and what it cannot see, it says itself ([`ChangeSource::describe`]).
//!
//! | source | for | how |
//! |---|---|---|
//! | [`Fanotify`] | ext4, xfs, btrfs, tmpfs, overlay; as root | one mark on the file system |
//! | [`Directories`] | trees that the user may read | one mark a directory |
//! | [`Polling`] | FUSE, network | directories' times, at an interval |
//! | [`Lustre`] | recorded changelogs | the text of `lfs changelog` |
//!
//! [`Mounted`] adds to a source that it notices what is mounted below the root. A [`WriterSearch`] finds the files that may be changing now without any event.
//!
//! Open a source first and scan then: what happens in between is told.
//!
//! Not here: an index, a clock of its own, threads, any decision about what to do with a change.

#![forbid(unsafe_code)]

mod directories;
mod dirty_set;
mod error;
mod fanotify;
mod inode;
pub mod lustre;
mod mount_table;
mod mounted;
mod open_writers;
mod polling;
mod resolver;
mod source;

pub use directories::Directories;
pub use dirty_set::{Dirty, DirtyDirectory, DirtySet, Limits};
pub use error::{LiveError, Result};
pub use fanotify::Fanotify;
pub use lustre::Lustre;
pub use mount_table::mounts_below;
pub use mounted::{Crossing, Mounted};
pub use open_writers::{
    OpenFile, OpenHow, OpenWriters, Searched, Stamp, Way, WriterSearch, open_writers,
};
pub use polling::Polling;
pub use resolver::Resolver;
pub use source::{
    AsOf, Barrier, ChangeSource, Description, Drained, Left, Names, ObjectPlace, Place, Places,
    Unwatched,
};
pub use trawl_model::change::{
    Change, Doubt, FileSystemId, NameChange, ObjectKey, ObjectRef, Reached, Receiver, SubtreeCause,
};
pub use trawl_sys::fanotify::QueueSize;
