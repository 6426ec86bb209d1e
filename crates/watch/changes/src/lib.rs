//! Change sources: detect that a file system is no longer as it was recorded.
//!
//! A [`ChangeSource`] yields [`Change`]s: hints about names, objects, directories and subtrees,
//! identified by file handles. A [`DirtySet`] collects them in bounded memory; [`KeyResolver`] converts
//! keys to paths. Each source states its guarantees and limits ([`ChangeSource::describe`]).
//!
//! [`SOURCES`] is the table of sources, and [`open`] chooses one for a tree.
//!
//! [`Mounted`] adds detection of mounts below the root to any source. A [`WriterSearch`] finds
//! files that may currently be changing without causing events.
//!
//! Open a source before scanning: changes made during the scan are then reported.
//!
//! This crate has no index, no clock of its own and no threads, and does not decide how to react to
//! a change.

#![forbid(unsafe_code)]

mod choice;
mod directories;
mod dirty_set;
mod error;
mod fanotify;
mod inode;
mod mount_table;
mod mounted;
mod open_writers;
mod polling;
mod resolver;
mod source;

pub use choice::{AnySource, Attempt, Begun, SourceKind, Tree, Watch, Watched, Wish, open};
pub use directories::Directories;
pub use dirty_set::{Dirty, DirtyDirectory, DirtySet, Limits};
pub use error::{LiveError, Result};
pub use fanotify::Fanotify;
pub use mount_table::mounts_below;
pub use mounted::{Crossing, Mounted};
pub use open_writers::{
    OpenFile, OpenHow, OpenWriters, SearchMethod, Searched, Stamp, WriterSearch,
};
pub use polling::Polling;
pub use resolver::Resolver;
pub use source::{
    AsOf, Barrier, ChangeSource, Description, Drained, KeyResolver, Names, ObjectPlace, Remainder,
    ResolvedDirectory, Unwatched,
};
pub use trawl_model::change::{
    Change, Doubt, FileSystemId, NameChange, ObjectKey, ObjectRef, Reached, Receiver, SubtreeCause,
};
pub use trawl_sys::fanotify::QueueSize;

/// The change sources, in the order in which they are tried for a tree.
pub static SOURCES: &[SourceKind] = &[
    SourceKind::of::<Fanotify>("first, by the superuser", |attempt| {
        attempt.wish == Wish::Best && attempt.failed.is_none()
    }),
    SourceKind::of::<Directories>("by other users", |attempt| {
        matches!(attempt.failed, Some(LiveError::Privilege { .. }))
    }),
    SourceKind::of::<Polling>("with `--poll`, or if no other source fits", |attempt| {
        attempt.wish == Wish::Polling
            || matches!(
                attempt.failed,
                Some(LiveError::Unwatchable { .. } | LiveError::TooManyMarks { .. })
            )
    })
    .warns(|tree| {
        let every = tree.interval.as_secs_f32();
        format!("looking at its directories every {every} s instead")
    }),
];
