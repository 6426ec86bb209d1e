//! Sources for mounts below a root that belong to its tree. Each of these file systems has a source
//! of its own, which only determines whether anything changed below its mount point.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_model::change::{Change, ObjectKey, ObjectRef, Reached, Receiver};
use trawl_model::path;
use trawl_sys::device::DeviceNumber;
use trawl_sys::fanotify::QueueSize;

use crate::directories::Directories;
use crate::error::{LiveError, Result};
use crate::fanotify::Fanotify;
use crate::source::{ChangeSource, ResolvedDirectory, Unwatched};

/// Maximum number of changed directories whose places are looked up; with more, anything may have
/// changed.
const ASKED_MAX: usize = 64;

/// A mount point at which a directory of another file system is visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Point {
    /// Its path.
    pub(super) path: Vec<u8>,
    /// Unique id of the mount, if the kernel reports it.
    pub(super) mount: Option<u64>,
    /// Device number of the mounted file system.
    pub(super) device: Option<DeviceNumber>,
    /// Whether an access may have to wait for another machine or program.
    pub(super) is_remote: bool,
}

/// All mounts that belong to the tree.
#[derive(Debug, Default)]
pub(super) struct Crossed {
    watched: Vec<Watched>,
    unwatched: Vec<(Point, Unwatched)>,
    /// Changes below these paths are not reported.
    without: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct Watched {
    point: Point,
    source: Source,
}

#[derive(Debug)]
enum Source {
    FileSystem(Box<Fanotify>),
    Directories(Box<Directories>),
}

impl Source {
    fn open(point: &Point) -> std::result::Result<Source, String> {
        if point.is_remote {
            return Err("others can change it without an event here".to_owned());
        }
        let root = Path::new(OsStr::from_bytes(&point.path));
        let opened = match Fanotify::open(root, QueueSize::Unlimited) {
            Err(LiveError::Privilege { .. }) => {
                let opened = Directories::open(root);
                opened.map(|source| Source::Directories(Box::new(source)))
            }
            opened => opened.map(|source| Source::FileSystem(Box::new(source))),
        };
        opened.map_err(|error| match error {
            LiveError::Unwatchable {
                file_system, why, ..
            } => format!("{file_system}: {why}"),
            error => error.to_string(),
        })
    }

    fn as_source(&mut self) -> &mut dyn ChangeSource {
        match self {
            Source::FileSystem(source) => &mut **source,
            Source::Directories(source) => &mut **source,
        }
    }
}

impl AsFd for Watched {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.source {
            Source::FileSystem(source) => source.as_fd(),
            Source::Directories(source) => source.as_fd(),
        }
    }
}

/// The amount to read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Extent {
    /// This number of events.
    AtMost(usize),
    /// All pending events.
    Barrier,
}

impl Crossed {
    /// Opens sources for the current mounts; sources of unchanged mounts are kept.
    pub(super) fn renew(&mut self, points: Vec<Point>) {
        let mut before = std::mem::take(self);
        self.without = std::mem::take(&mut before.without);
        for point in points {
            let is_it = |one: &Watched| one.point == point;
            match before.watched.iter().position(is_it) {
                Some(at) => self.watched.push(before.watched.swap_remove(at)),
                None => self.watch(point),
            }
        }
    }

    fn watch(&mut self, point: Point) {
        match Source::open(&point) {
            Ok(source) => self.watched.push(Watched { point, source }),
            Err(why) => {
                let path = point.path.clone();
                let why = format!("changes in it are not noticed ({why})");
                self.unwatched.push((point, Unwatched { path, why }));
            }
        }
    }

    /// Excludes changes below these paths.
    pub(super) fn leave_out(&mut self, without: Vec<Vec<u8>>) {
        self.without = without;
    }

    /// Returns the mounts that are not watched, with the reasons.
    pub(super) fn unwatched(&self) -> Vec<Unwatched> {
        let unwatched = self.unwatched.iter();
        unwatched.map(|(_, unwatched)| unwatched.clone()).collect()
    }

    /// Returns descriptors that become readable when there are events to read.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.watched.iter().map(AsFd::as_fd)
    }

    /// Reads events, and returns the mount points below which anything changed. A source that
    /// cannot continue is opened again; then everything counts as changed.
    pub(super) fn read(&mut self, extent: Extent) -> Vec<Vec<u8>> {
        let mut changed = Vec::new();
        let mut failed = Vec::new();
        for (at, watched) in self.watched.iter_mut().enumerate() {
            match watched.has_changed(extent, &self.without) {
                Ok(false) => continue,
                Ok(true) => {}
                Err(_) => failed.push(at),
            }
            changed.push(watched.point.path.clone());
        }
        for at in failed.into_iter().rev() {
            let Watched { point, .. } = self.watched.swap_remove(at);
            self.watch(point);
        }
        changed
    }
}

impl Watched {
    fn has_changed(&mut self, extent: Extent, without: &[Vec<u8>]) -> Result<bool> {
        let mut touched = Touched::default();
        let source = self.source.as_source();
        match extent {
            Extent::AtMost(limit) => source.drain(limit, &mut touched).map(drop)?,
            Extent::Barrier => source.barrier(&mut touched).map(drop)?,
        }
        if touched.is_unknown {
            return Ok(true);
        }
        for key in &touched.directories {
            let is_left_out = |at: &[u8]| without.iter().any(|one| path::is_within(at, one));
            match source.places().place(key.as_ref())? {
                ResolvedDirectory::At(at) if !is_left_out(&at) => return Ok(true),
                _ => {}
            }
        }
        Ok(false)
    }
}

/// Directories in which something changed.
#[derive(Debug, Default)]
struct Touched {
    directories: HashSet<ObjectKey>,
    /// Whether there are more than these, or the directories are unknown.
    is_unknown: bool,
}

impl Touched {
    fn touch(&mut self, directory: ObjectRef<'_>) {
        match self.directories.len() {
            ASKED_MAX => self.is_unknown |= !self.directories.contains(directory.as_bytes()),
            _ => drop(self.directories.insert(directory.to_key())),
        }
    }
}

impl Receiver for Touched {
    fn change(&mut self, change: Change<'_>) {
        match change {
            Change::Name { directory, .. }
            | Change::Listing { directory }
            | Change::Subtree { directory, .. } => self.touch(directory),
            // A change of its name is also reported.
            Change::Object {
                reached: Reached::ByName,
                ..
            } => {}
            Change::Object { .. } | Change::Everything { .. } => self.is_unknown = true,
        }
    }
}
