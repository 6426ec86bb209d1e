//! The interface of change sources, and their guarantees.

use std::os::fd::AsFd;
use std::time::Duration;

use trawl_model::change::{FileSystemId, ObjectKey, ObjectRef, Receiver};
use trawl_model::time::Timestamp;

use crate::error::Result;

/// A source of changes below a root.
///
/// Guarantee, apart from the limits in [`Description::unseen`]: for everything that was changed by
/// a system call that had returned before a call of [`ChangeSource::barrier`] began, a change has
/// been reported when the barrier returns. For a source that only polls
/// ([`Description::interval`]), this holds for changes before [`Barrier::as_of`].
///
/// More than that is reported: later changes, names that have not changed, and objects outside the
/// root (a mark covers a whole file system).
///
/// The descriptor becomes readable when a drain has something to do.
pub trait ChangeSource: AsFd {
    /// Returns the source's coverage and its limits.
    fn describe(&self) -> Description;

    /// Reads pending events, but not more than about `limit` (at most one buffer beyond). Never
    /// waits for events.
    ///
    /// # Errors
    /// Fails if the source cannot continue. It must then be opened again, and everything is in
    /// doubt.
    fn drain(&mut self, limit: usize, into: &mut dyn Receiver) -> Result<Drained>;

    /// Reads the events that were pending when it was called, and hardly more, however fast others
    /// write.
    ///
    /// # Errors
    /// Returns the errors of [`ChangeSource::drain`].
    fn barrier(&mut self, into: &mut dyn Receiver) -> Result<Barrier>;

    /// Returns the lookup of the places of directories.
    fn places(&mut self) -> &mut dyn KeyResolver;

    /// Returns the id of the file system whose handles identify directories, if its handles can be
    /// opened.
    fn handles(&self) -> Option<FileSystemId> {
        None
    }

    /// Tells the source that something was mounted or unmounted below the root, before that is
    /// reported. The source adapts its watches here if necessary.
    ///
    /// # Errors
    /// Returns the errors of [`ChangeSource::drain`].
    fn mounts_changed(&mut self, _into: &mut dyn Receiver) -> Result<()> {
        Ok(())
    }

    /// Returns a message for users about the source, once.
    fn news(&mut self) -> Option<String> {
        None
    }

    /// Returns a number that identifies the set of mounts below the root; it differs when the
    /// mounts differ, and is valid while the system runs.
    fn mounts(&self) -> u64 {
        0
    }
}

/// Result of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Number of events read (or of directories examined).
    pub events: u64,
    /// Whether anything was left.
    pub left: Remainder,
}

/// Remainder after a bounded read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remainder {
    /// Nothing was left at some moment of the call.
    Nothing,
    /// More events may be pending.
    More,
}

/// Result of a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// Number of events pending when it began.
    pub waiting: u64,
    /// Number of events that it read: at least those, and at most a small buffer more.
    pub events: u64,
    /// The moment up to which everything is reported.
    pub as_of: AsOf,
}

/// The moment up to which changes are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsOf {
    /// The call of the barrier.
    Now,
    /// The beginning of the last complete pass; `None` before the first.
    Pass(Option<Timestamp>),
}

/// Coverage of a source, in words for people and programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The directory below which it detects changes.
    pub root: Vec<u8>,
    /// Type of the file system there.
    pub file_system: String,
    /// How it detects changes.
    pub how: &'static str,
    /// Polling interval, if the source is not notified of changes.
    pub interval: Option<Duration>,
    /// Changes that it cannot detect, one sentence each.
    pub unseen: Vec<&'static str>,
    /// Number of directories below the root that it cannot watch.
    pub uncovered: u64,
    /// Parts of the tree in which no changes are detected.
    pub unwatched: Vec<Unwatched>,
}

/// A part of a tree that is not watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwatched {
    /// A directory; everything below it is included.
    pub path: Vec<u8>,
    /// The reason, in words.
    pub why: String,
}

/// Converts keys to current paths and attributes.
///
/// A result is true at some moment of the call; a rename may invalidate it immediately afterwards.
pub trait KeyResolver {
    /// Returns the place of a directory.
    ///
    /// # Errors
    /// Fails if the file system cannot be queried.
    fn place(&mut self, directory: ObjectRef<'_>) -> Result<ResolvedDirectory>;

    /// Returns the directory's other paths below the root, which exist if an ancestor of it is
    /// mounted there a second time.
    ///
    /// # Errors
    /// Fails if the file system cannot be queried.
    fn also(&mut self, _directory: ObjectRef<'_>) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }

    /// Returns the parent of a directory; `None` if the directory is gone, outside, the root, or
    /// unknown.
    fn parent(&mut self, directory: ObjectRef<'_>) -> Option<ObjectKey>;

    /// Returns what is known of an object's names.
    fn names_of(&mut self, object: ObjectRef<'_>) -> Names;

    /// Returns the inode number of an object if its key contains it and the file system has only
    /// one device, so that no two objects have the same number at one time. The object may be gone.
    fn inode_of(&mut self, _object: ObjectRef<'_>) -> Option<u64> {
        None
    }

    /// Returns the place of an object of any type.
    ///
    /// # Errors
    /// Fails if the file system cannot be queried.
    fn object(&mut self, object: ObjectRef<'_>) -> Result<ObjectPlace> {
        Ok(match self.place(object)? {
            ResolvedDirectory::At(path) => ObjectPlace::Directory(path),
            ResolvedDirectory::Outside => ObjectPlace::Outside,
            ResolvedDirectory::Gone => ObjectPlace::Unknown,
        })
    }
}

/// Place of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectPlace {
    /// A directory at this path, in the form of [`ResolvedDirectory::At`].
    Directory(Vec<u8>),
    /// An object of another type, which has only this path.
    At(Vec<u8>),
    /// Not below the source's root.
    Outside,
    /// Removed.
    Gone,
    /// An existing object, which may have several names.
    Object {
        /// Device number, as in [`trawl_model::Dev::as_u64`].
        dev: u64,
        /// Inode number.
        ino: u64,
    },
    /// Unknown: the object cannot be identified.
    Unknown,
}

/// Place of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedDirectory {
    /// At this path, absolute without a trailing slash (`/` is empty).
    At(Vec<u8>),
    /// Not below the source's root.
    Outside,
    /// Removed.
    Gone,
}

/// Names of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// It has none: it was removed.
    None,
    /// It has one.
    One {
        /// The directory.
        directory: ObjectKey,
        /// The name in it.
        name: Box<[u8]>,
    },
    /// It has several, or they are unknown.
    Several,
}
