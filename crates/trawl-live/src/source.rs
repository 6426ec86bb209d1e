//! What every source of changes offers, and what it promises.

use std::os::fd::AsFd;
use std::time::Duration;

use trawl_model::change::{FileSystemId, ObjectKey, ObjectRef, Receiver};
use trawl_model::time::Timestamp;

use crate::error::Result;

/// Something that notices changes below a root.
///
/// The promise, as far as [`Description::unseen`] does not take it back: of everything that was
/// changed before a call of [`ChangeSource::barrier`] began, by a system call that had returned, a
/// change is reported before that call returns, or was before. Where the source only looks now and
/// then ([`Description::interval`]), the moment is [`Barrier::as_of`].
///
/// More is reported than asked for: changes that came later, names that are as they were, objects
/// outside the root (a mark covers a file system).
///
/// The descriptor becomes readable when a drain has something to do.
pub trait ChangeSource: AsFd {
    /// What it covers and what it cannot see.
    fn describe(&self) -> Description;

    /// Reads what is there, and no more than about `limit` events (at most one buffer beyond).
    /// Never waits for anything to happen.
    ///
    /// # Errors
    /// Where the source cannot go on; it has to be opened again then, and everything is in doubt.
    fn drain(&mut self, limit: usize, into: &mut dyn Receiver) -> Result<Drained>;

    /// Reads what was waiting when it was called, and hardly more, however fast others write.
    ///
    /// # Errors
    /// As [`ChangeSource::drain`].
    fn barrier(&mut self, into: &mut dyn Receiver) -> Result<Barrier>;

    /// Where the directories that it names are.
    fn places(&mut self) -> &mut dyn Places;

    /// The file system by whose handles it names directories, if handles can be opened.
    fn handles(&self) -> Option<FileSystemId> {
        None
    }

    /// Something was mounted below the root, or unmounted, which is reported next. What is to be
    /// watched otherwise from then on, the source sees to here.
    ///
    /// # Errors
    /// As [`ChangeSource::drain`].
    fn mounts_changed(&mut self, _into: &mut dyn Receiver) -> Result<()> {
        Ok(())
    }

    /// What people should be told of the source, once.
    fn news(&mut self) -> Option<String> {
        None
    }

    /// A number for what is mounted below the root, another one when something else is; as long as
    /// the system runs.
    fn mounts(&self) -> u64 {
        0
    }
}

/// What a drain has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Events read (directories looked at, records).
    pub events: u64,
    /// Whether anything was left.
    pub left: Left,
}

/// What a bounded read leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Nothing, at some moment of the call.
    Nothing,
    /// Perhaps more.
    More,
}

/// What a barrier has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// Events that were waiting when it began.
    pub waiting: u64,
    /// Events that it read: those, and at most a small buffer's worth more.
    pub events: u64,
    /// Up to when everything is reported.
    pub as_of: AsOf,
}

/// Up to which moment changes are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsOf {
    /// The call of the barrier.
    Now,
    /// When the last whole look around began; `None` before the first.
    Pass(Option<Timestamp>),
    /// The last record of a recording; `None` where there is none.
    Record(Option<u64>),
}

/// What a source covers, in words for people and programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The directory below which it notices changes.
    pub root: Vec<u8>,
    /// The kind of file system there.
    pub file_system: String,
    /// How it notices.
    pub how: &'static str,
    /// How often it looks, if it is not told.
    pub interval: Option<Duration>,
    /// What it cannot see, one sentence each.
    pub unseen: Vec<&'static str>,
    /// Directories below the root that it cannot watch.
    pub uncovered: u64,
    /// Parts of the tree in which nothing is noticed at all.
    pub unwatched: Vec<Unwatched>,
}

/// A part of a tree that nobody watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwatched {
    /// A directory, with all below.
    pub path: Vec<u8>,
    /// Why, in words.
    pub why: String,
}

/// Turns keys into what is there now.
///
/// Answers are true at some moment of the call; renames may make them untrue at the next.
pub trait Places {
    /// Where a directory is.
    ///
    /// # Errors
    /// Where the file system cannot be asked.
    fn place(&mut self, directory: ObjectRef<'_>) -> Result<Place>;

    /// Where else below the root the directory is: something that holds it is mounted there.
    ///
    /// # Errors
    /// Where the file system cannot be asked.
    fn also(&mut self, _directory: ObjectRef<'_>) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }

    /// The directory that this one is in; `None` where it is gone, outside, the root, or unknown.
    fn parent(&mut self, directory: ObjectRef<'_>) -> Option<ObjectKey>;

    /// How many names an object has.
    fn names_of(&mut self, object: ObjectRef<'_>) -> Names;

    /// The inode number of an object, if its key says it and the file system has but one device,
    /// so that no two objects have one number at a time. The object may be gone.
    fn inode_of(&mut self, _object: ObjectRef<'_>) -> Option<u64> {
        None
    }

    /// Where an object is, whatever it is.
    ///
    /// # Errors
    /// Where the file system cannot be asked.
    fn object(&mut self, object: ObjectRef<'_>) -> Result<ObjectPlace> {
        Ok(match self.place(object)? {
            Place::At(path) => ObjectPlace::Directory(path),
            Place::Outside => ObjectPlace::Outside,
            Place::Gone => ObjectPlace::Unknown,
        })
    }
}

/// Where an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectPlace {
    /// A directory at this path, as [`Place::At`].
    Directory(Vec<u8>),
    /// Something else, which has this path and no other.
    At(Vec<u8>),
    /// Nowhere below the source's root.
    Outside,
    /// Nowhere: it was removed.
    Gone,
    /// Somewhere, perhaps under several names: this object.
    Object {
        /// The device, as [`trawl_model::Dev::as_u64`] has it.
        dev: u64,
        /// The inode number.
        ino: u64,
    },
    /// Somewhere, and nobody can tell what it is.
    Unknown,
}

/// Where a directory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At this path, absolute without a trailing slash (`/` is empty).
    At(Vec<u8>),
    /// Somewhere, but not below the source's root.
    Outside,
    /// Nowhere: it was removed.
    Gone,
}

/// How many names an object has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// None: it was removed.
    None,
    /// One.
    One,
    /// Several, or nobody knows.
    Several,
}
