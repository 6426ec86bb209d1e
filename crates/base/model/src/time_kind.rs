//! The times of an entry.

use crate::{Meta, Timestamp};

/// One of the times of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeKind {
    /// Last change of the content.
    #[default]
    Modified,
    /// Last access.
    Accessed,
    /// Last change of the inode.
    Changed,
    /// Creation, where it is known.
    Born,
}

impl TimeKind {
    /// Returns the time of this kind; `None` if it is not known.
    pub fn of(self, meta: &Meta) -> Option<Timestamp> {
        match self {
            TimeKind::Modified => Some(meta.mtime),
            TimeKind::Accessed => Some(meta.atime),
            TimeKind::Changed => Some(meta.ctime),
            TimeKind::Born => meta.btime,
        }
    }
}
