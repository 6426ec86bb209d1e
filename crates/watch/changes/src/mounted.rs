//! Detects mounts below a source's root, for which its file system has no events.
//!
//! Mounting, unmounting and moving a mount change the object at a path. The kernel reports that its
//! mount table has changed; the differences are reported by path ([`path_key`]), because the object
//! found there may belong to another file system. Each barrier also checks the directory or file
//! visible at each mount point. If the content of a mount belongs to the tree
//! ([`Crossing::Crosses`]), it is watched by a source of its own; any change in it is reported as a
//! change of everything below the mount point.
//!
//! A directory of the source's own file system that is mounted a second time below the root is in
//! the index twice, but events name it once: [`KeyResolver::also`] returns its other paths.
//!
//! The mounts are those that this process sees: a mount in another mount namespace only is not
//! detected.

mod below;
mod crossed;

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use trawl_model::change::{
    Change, FileSystemId, NameChange, ObjectKey, ObjectRef, Receiver, SubtreeCause,
};
use trawl_model::escape::escape;
use trawl_model::path;
use trawl_sys::directory::{Links, Purpose, open_path};
use trawl_sys::handle::{self, Use};
use trawl_sys::wait::Either;
use trawl_sys::{CWD, mount, stat};

use crate::error::{About, LiveError, Result};
use crate::fanotify::Root;
use crate::mount_table::Table;
use crate::resolver::Resolver;
use crate::source::{
    Barrier, ChangeSource, Description, Drained, KeyResolver, Names, ObjectPlace, ResolvedDirectory,
};
pub use below::Crossing;
use below::{Below, Differs};
use crossed::{Crossed, Extent};

/// Type of keys that are paths; no file system uses it.
const PATH_KEY: i32 = -3;

/// A source that also detects mounts; see the module documentation.
#[derive(Debug)]
pub struct Mounted<S> {
    source: S,
    table: Table,
    both: Either,
    root: Root,
    crossing: Crossing,
    below: Below,
    /// Directories of the source's file system that are mounted again below the root.
    copies: Vec<Resolver>,
    /// The same if their handles cannot be opened, with their original places: they are read again
    /// whenever anything changes.
    unresolved: Vec<Vec<u8>>,
    /// Sources for mounts below the root that belong to the tree.
    crossed: Crossed,
    news: Option<String>,
    /// Whether the next barrier must report all mount points.
    all_are_due: bool,
}

/// Makes the key of the object at a path.
fn path_key(path: &[u8]) -> ObjectKey {
    ObjectKey::new(FileSystemId::default(), PATH_KEY, path)
}

/// Returns the path if the key is a path.
fn path_of(key: ObjectRef<'_>) -> Option<Vec<u8>> {
    let is_path = key.kind() == PATH_KEY && key.file_system() == FileSystemId::default();
    is_path.then(|| key.handle().to_vec())
}

/// Detects whether paths may have changed.
struct Spy<'a> {
    into: &'a mut dyn Receiver,
    has_moved: bool,
}

impl Receiver for Spy<'_> {
    fn change(&mut self, change: Change<'_>) {
        self.has_moved |= matches!(change, Change::Subtree { .. } | Change::Everything { .. });
        self.into.change(change);
    }
}

impl<S: ChangeSource> Mounted<S> {
    /// Adds the detection of mounts to a source of changes below `root`. The current mounts are the
    /// initial state.
    ///
    /// # Errors
    /// Fails if the mount table cannot be read.
    pub fn new(source: S, root: &Path, crossing: Crossing) -> Result<Self> {
        let root = Root::new(root)?;
        let mut table = Table::open()?;
        let both = Either::new(&source, &table).about("wait for changes of", &root.bytes())?;
        let below = Below::of(&table.read()?, &root.bytes(), crossing);
        let mut mounted = Mounted {
            source,
            table,
            both,
            root,
            crossing,
            below,
            copies: Vec::new(),
            unresolved: Vec::new(),
            crossed: Crossed::default(),
            news: None,
            all_are_due: false,
        };
        mounted.find_copies()?;
        mounted.find_crossed()?;
        Ok(mounted)
    }

    /// Excludes changes below these paths, in mounts below the root, from being reported.
    #[must_use]
    pub fn without(mut self, paths: Vec<Vec<u8>>) -> Self {
        self.crossed.leave_out(paths);
        self
    }

    /// Makes the next barrier report all mount points, because they were last seen some time ago.
    #[must_use]
    pub fn with_all_due(mut self) -> Self {
        self.all_are_due = true;
        self
    }

    /// Reports the differences if the mount table has changed.
    fn follow(&mut self, into: &mut dyn Receiver) -> Result<()> {
        if !self.table.has_changed()? {
            return Ok(());
        }
        self.read_table(into)
    }

    fn read_table(&mut self, into: &mut dyn Receiver) -> Result<()> {
        let mounts = self.table.read()?;
        if self.root.check().is_err() {
            return Err(self.gone());
        }
        let now = Below::of(&mounts, &self.root.bytes(), self.crossing);
        let before = std::mem::replace(&mut self.below, now);
        let differs = before.compare(&self.below);
        if self.below.is_read_only() != before.is_read_only() {
            let how = match self.below.is_read_only() {
                true => "read-only",
                false => "writable again",
            };
            self.news = Some(format!("its file system was made {how}"));
        }
        if differs.is_empty() {
            return Ok(());
        }
        self.source.mounts_changed(into)?;
        // Sources are opened before the change is reported, so that later changes are detected.
        self.find_crossed()?;
        for (point, differs) in differs {
            if differs == Differs::Another {
                tell_subtree(&point, into);
            }
            if point != self.root.bytes() {
                tell_name(&point, into);
            }
        }
        self.find_copies()
    }

    /// Checks the objects visible at the mount points.
    fn look(&mut self, into: &mut dyn Receiver) -> Result<()> {
        if std::mem::take(&mut self.all_are_due) {
            self.below.points().for_each(|point| tell_name(point, into));
        }
        let differs = self.below.look_again();
        if differs.iter().any(|(_, what)| *what == Differs::Another) {
            // A directory above may have been renamed.
            return self.read_table(into);
        }
        for (point, _) in differs {
            tell_name(&point, into);
        }
        Ok(())
    }

    /// Reads the source's own events, and reports their consequences.
    fn read<T>(
        &mut self,
        into: &mut dyn Receiver,
        read: impl FnOnce(&mut S, &mut dyn Receiver) -> Result<T>,
        events: impl FnOnce(&T) -> u64,
    ) -> Result<T> {
        let has_moved = false;
        let mut spy = Spy { into, has_moved };
        let done = match read(&mut self.source, &mut spy) {
            Err(LiveError::RootGone { .. }) => return Err(self.gone()),
            done => done?,
        };
        let has_moved = spy.has_moved;
        if events(&done) > 0 {
            for point in &self.unresolved {
                tell_subtree(point, into);
            }
        }
        if has_moved && !self.below.is_empty() {
            self.read_table(into)?;
        }
        Ok(done)
    }

    /// Returns the error for a root that was replaced, with the reason if it is known.
    fn gone(&mut self) -> LiveError {
        let path = self.root.bytes();
        let now = self.table.read().unwrap_or_default();
        match self.below.what_became(&now, &path) {
            Some(what) => LiveError::Replaced { path, what },
            None => LiveError::RootGone { path },
        }
    }

    /// Opens sources for mounts below the root, if they belong to the tree.
    fn find_crossed(&mut self) -> Result<()> {
        if self.crossing == Crossing::Stays {
            return Ok(());
        }
        self.crossed.renew(self.below.of_other_devices());
        for descriptor in self.crossed.descriptors() {
            let added = self.both.also(descriptor);
            added.about("wait for changes of", &self.root.bytes())?;
        }
        Ok(())
    }

    /// Reports changes in mounts below the root.
    fn read_crossed(&mut self, extent: Extent, into: &mut dyn Receiver) {
        for point in self.crossed.read(extent) {
            tell_subtree(&point, into);
        }
    }

    /// Finds directories of the source's own file system that are also visible at mount points.
    fn find_copies(&mut self) -> Result<()> {
        self.copies.clear();
        self.unresolved.clear();
        let root = self.root.bytes();
        for point in self.below.of_same_device() {
            let Some(file_system) = self.source.handles() else {
                // Events may name either of its places, depending on which was found first.
                self.unresolved.extend(self.below.bound_from(&point));
                self.unresolved.push(point);
                continue;
            };
            // A mount that was removed meanwhile is skipped; the table reports that.
            let Some(mut copy) = copy(&point, file_system, &root) else {
                continue;
            };
            let top = copy.anchor().clone();
            let own = self.source.places().place(top.as_ref())?;
            if own != ResolvedDirectory::At(point) {
                copy.forget_all();
                self.copies.push(copy);
            }
        }
        Ok(())
    }

    /// Returns true if one key may stand for several paths.
    fn has_copies(&self) -> bool {
        !self.copies.is_empty()
    }
}

/// Makes a resolver of handles through the mount at `point`.
fn copy(point: &[u8], file_system: FileSystemId, root: &[u8]) -> Option<Resolver> {
    let name = CString::new(point).ok()?;
    let top = open_path(CWD, &name, Purpose::Pass, Links::Refused).ok()?;
    let anchor = handle::of_fd(&top, Use::Open).ok()?;
    let mount = mount::private_copy(&top).ok()?;
    let (point, root) = (point.to_vec(), root.to_vec());
    Resolver::new(mount, file_system, &anchor, point, root).ok()
}

fn tell_subtree(path: &[u8], into: &mut dyn Receiver) {
    into.change(Change::Subtree {
        directory: path_key(path).as_ref(),
        cause: SubtreeCause::Moved,
    });
}

fn tell_name(path: &[u8], into: &mut dyn Receiver) {
    if let Some((above, name)) = path::split(path) {
        into.change(Change::Name {
            directory: path_key(above).as_ref(),
            name,
            what: NameChange::Listing,
        });
    }
}

impl<S: ChangeSource> AsFd for Mounted<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.both.as_fd()
    }
}

impl<S: ChangeSource> ChangeSource for Mounted<S> {
    fn describe(&self) -> Description {
        let mut description = self.source.describe();
        if self.below.is_read_only() {
            description.file_system.push_str(", read-only");
        }
        description.unwatched = self.crossed.unwatched();
        description
    }

    fn drain(&mut self, limit: usize, into: &mut dyn Receiver) -> Result<Drained> {
        self.follow(into)?;
        self.read_crossed(Extent::AtMost(limit), into);
        let events = |drained: &Drained| drained.events;
        self.read(into, |source, into| source.drain(limit, into), events)
    }

    fn barrier(&mut self, into: &mut dyn Receiver) -> Result<Barrier> {
        self.follow(into)?;
        self.look(into)?;
        self.read_crossed(Extent::Barrier, into);
        let events = |barrier: &Barrier| barrier.events;
        self.read(into, |source, into| source.barrier(into), events)
    }

    fn places(&mut self) -> &mut dyn KeyResolver {
        self
    }

    fn news(&mut self) -> Option<String> {
        self.news.take()
    }

    fn mounts(&self) -> u64 {
        self.below.number()
    }
}

impl<S: ChangeSource> KeyResolver for Mounted<S> {
    fn place(&mut self, directory: ObjectRef<'_>) -> Result<ResolvedDirectory> {
        if let Some(path) = path_of(directory) {
            return Ok(ResolvedDirectory::At(path));
        }
        let place = self.source.places().place(directory)?;
        if matches!(place, ResolvedDirectory::At(_)) {
            return Ok(place);
        }
        for copy in &mut self.copies {
            let copied = copy.place(directory)?;
            if matches!(copied, ResolvedDirectory::At(_)) {
                return Ok(copied);
            }
        }
        Ok(place)
    }

    fn also(&mut self, directory: ObjectRef<'_>) -> Result<Vec<Vec<u8>>> {
        if !self.has_copies() || path_of(directory).is_some() {
            return Ok(Vec::new());
        }
        let first = self.place(directory)?;
        let mut others = Vec::new();
        for copy in &mut self.copies {
            match copy.place(directory)? {
                ResolvedDirectory::At(path) if first != ResolvedDirectory::At(path.clone()) => {
                    others.push(path)
                }
                _ => {}
            }
        }
        Ok(others)
    }

    fn parent(&mut self, directory: ObjectRef<'_>) -> Option<ObjectKey> {
        match path_of(directory) {
            Some(_) => None,
            None => self.source.places().parent(directory),
        }
    }

    fn inode_of(&mut self, object: ObjectRef<'_>) -> Option<u64> {
        // An object visible at two places has two rows, and one look does not settle both.
        match self.has_copies() || path_of(object).is_some() {
            true => None,
            false => self.source.places().inode_of(object),
        }
    }

    fn names_of(&mut self, object: ObjectRef<'_>) -> Names {
        self.source.places().names_of(object)
    }

    fn object(&mut self, object: ObjectRef<'_>) -> Result<ObjectPlace> {
        if path_of(object).is_some() {
            return Ok(ObjectPlace::Unknown);
        }
        let place = self.source.places().object(object)?;
        match place {
            ObjectPlace::At(path) if self.has_copies() => Ok(by_number(path)),
            ObjectPlace::Outside if self.has_copies() => {
                for copy in &mut self.copies {
                    match copy.object(object)? {
                        ObjectPlace::Outside => {}
                        ObjectPlace::At(path) => return Ok(by_number(path)),
                        found => return Ok(found),
                    }
                }
                Ok(place)
            }
            place => Ok(place),
        }
    }
}

/// Returns the place by number: a file with one name has several rows if its directory is mounted
/// twice.
fn by_number(path: Vec<u8>) -> ObjectPlace {
    let found = CString::new(&path[..])
        .ok()
        .and_then(|name| stat::stat_at(CWD, &name).ok());
    found.map_or(ObjectPlace::At(path), |found| ObjectPlace::Object {
        dev: found.dev.as_u64(),
        ino: found.ino,
    })
}

/// Returns `kind (source)`, for messages.
fn shown(kind: &[u8], source: &[u8]) -> String {
    format!("{} ({})", escape(kind), escape(source))
}
