//! The interface through which a source delivers its records. The scanner knows this trait and
//! nothing about the index behind it.

use crate::entry::{DirAccess, DirBatch, Entry, Xattr};
use crate::id::DirId;
use crate::issue::Issue;

/// The root of a source, delivered before anything below it.
#[derive(Clone, Debug, Default)]
pub struct SourceRoot {
    /// Absolute path without a trailing slash; empty for `/`.
    pub path: Vec<u8>,
    /// Permissions of every directory above the root, outermost (`/`) first; empty if the root is
    /// `/` or the source is a recording.
    pub above: Vec<DirAccess>,
    /// Number of these directories, counted from the innermost, that lie on the root's own file
    /// system.
    pub above_on_device: usize,
    /// The root's own entry; its spans point into `heap`.
    pub entry: Entry,
    /// Values of its extended attributes (all for entry 0), without ACLs.
    pub xattrs: Vec<Xattr>,
    /// Heap bytes that the spans of `entry` and `xattrs` refer to.
    pub heap: Vec<u8>,
}

/// Knowledge about a source from before a scan.
pub trait KnownListings: Sync + std::fmt::Debug {
    /// Returns true if the directory had exactly these entries with these attributes when it was
    /// last read, none of them had an extended attribute or an ACL, and none has changed since.
    /// `batch` holds all entries of the directory in order, without extended attributes.
    fn is_known(&self, batch: &DirBatch) -> bool;
}

/// Receives a source, in an order in which nothing has to be looked up again:
///
/// 1. [`Sink::root`], once.
/// 2. For each directory, [`Sink::batch`] one or more times (an empty directory gives one empty
///    batch). Its first batch follows the first batch of its parent.
/// 3. [`Sink::subtree_done`] once for each directory that had a batch, after every batch and every
///    `subtree_done` below it.
///
/// A directory that cannot be opened has no batch. Instead its parent's batch has an issue, or, if
/// the error is found later, [`Sink::issue`] is called.
pub trait Sink {
    /// The error that ends the scan if the sink cannot continue (a full disk).
    type Error;

    /// Receives the source's root.
    fn root(&mut self, root: SourceRoot) -> Result<(), Self::Error>;

    /// Receives some or all entries of a directory.
    fn batch(&mut self, batch: DirBatch) -> Result<(), Self::Error>;

    /// Receives the end of the subtree at `dir`: nothing below it follows.
    fn subtree_done(&mut self, dir: DirId) -> Result<(), Self::Error>;

    /// Receives an issue found after the batch of the directory that contains the path was
    /// delivered. `dir` is that directory: users who may list it may see the issue. It is `None` if
    /// the issue concerns the root itself.
    fn issue(&mut self, dir: Option<DirId>, issue: Issue) -> Result<(), Self::Error>;
}

/// Receives parts of a source that was received before: current listings of single directories, and
/// whole subtrees.
///
/// [`Sink::root`] is not called. Before the first batch of a part, each directory above it is
/// delivered by [`PartSink::passed`] or by a batch, starting with the source's root. Each of them
/// gets a [`Sink::subtree_done`] when nothing below it follows.
pub trait PartSink: Sink {
    /// Receives a directory on the way to a part; its own entries are not delivered. `path` is
    /// absolute.
    fn passed(
        &mut self,
        dir: DirId,
        parent: Option<DirId>,
        path: &[u8],
        access: &DirAccess,
    ) -> Result<(), Self::Error>;
}
