//! Where a source's records go. The scanner knows this trait and nothing of
//! the index behind it.

use crate::entry::{DirAccess, DirBatch, Entry, Xattr};
use crate::id::DirId;
use crate::issue::Issue;

/// The root of a source, told before anything below it.
#[derive(Clone, Debug, Default)]
pub struct SourceRoot {
    /// Absolute path, no trailing slash, empty for `/`.
    pub path: Vec<u8>,
    /// Search permission of every directory above the root, outermost
    /// (`/`) first; empty if the root is `/` or the source is a recording.
    pub above: Vec<DirAccess>,
    /// How many of these, the innermost, lie on the root's own file system.
    pub above_on_device: usize,
    /// The root's own entry; its spans point into `heap`.
    pub entry: Entry,
    /// Values of its extended attributes (all of entry 0), ACLs aside.
    pub xattrs: Vec<Xattr>,
    /// The bytes of `entry` and `xattrs`.
    pub heap: Vec<u8>,
}

/// What was known of a source before a scan.
pub trait KnownListings: Sync + std::fmt::Debug {
    /// True if a directory had these very entries, with these attributes,
    /// when it was read before, none of them had an extended attribute or an
    /// ACL, and none has changed since. `batch` is all of the directory's
    /// entries in order, without extended attributes.
    fn is_known(&self, batch: &DirBatch) -> bool;
}

/// Receives a source in an order in which nothing has to be looked up again:
///
/// 1. [`Sink::root`], once;
/// 2. for each directory, [`Sink::batch`] one or more times (an empty
///    directory gives one empty batch), its first batch after the first of
///    its parent's;
/// 3. [`Sink::subtree_done`] once per directory that had a batch, after
///    every batch and every `subtree_done` below it.
///
/// A directory that cannot be opened has no batch: it has an issue in its
/// parent's batch, or, if it is found out later, through [`Sink::issue`].
pub trait Sink {
    /// What ends the scan when the sink can take no more (a full disk).
    type Error;

    /// The source's root is known.
    fn root(&mut self, root: SourceRoot) -> Result<(), Self::Error>;

    /// Some or all entries of a directory.
    fn batch(&mut self, batch: DirBatch) -> Result<(), Self::Error>;

    /// Nothing below `dir` is still to come.
    fn subtree_done(&mut self, dir: DirId) -> Result<(), Self::Error>;

    /// Something that could not be read, found after the batch of the
    /// directory that holds it was delivered. `dir` is that directory: who
    /// may list it may know of the issue. `None` if it is the root itself.
    fn issue(&mut self, dir: Option<DirId>, issue: Issue) -> Result<(), Self::Error>;
}

/// Receives parts of a source that was received before: listings of single directories, and
/// whole subtrees, as they are now.
///
/// [`Sink::root`] is not called. Before the first batch of a part each directory above it was
/// either [`PartSink::passed`] or had a batch, the outermost, the source's root, first; each of
/// them is [`Sink::subtree_done`] when nothing below it is still to come.
pub trait PartSink: Sink {
    /// A directory on the way to a part, whose own entries do not come. `path` is absolute.
    fn passed(
        &mut self,
        dir: DirId,
        parent: Option<DirId>,
        path: &[u8],
        access: &DirAccess,
    ) -> Result<(), Self::Error>;
}
