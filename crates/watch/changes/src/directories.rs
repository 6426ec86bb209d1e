//! A source with one mark per directory: for trees that the user may read, without any privilege.
//!
//! A directory is marked before it is listed, so that no change in it is missed. A directory that
//! is new to the source (created or moved in) is marked with everything below it and reported as a
//! subtree, because it may have had content before. Without privilege the kernel does not allow
//! handles to be opened, so the place of each marked directory is recorded here and updated after
//! renames.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use trawl_model::change::{
    Change, Doubt, FileSystemId, ObjectKey, ObjectRef, Receiver, SubtreeCause,
};
use trawl_sys::directory::{self, AccessTime, Purpose, ReadBuffer, TypeHint};
use trawl_sys::fanotify::{Event, Events, Group, Mask, Named, QueueSize, READ_BYTES_MIN, Scope};
use trawl_sys::handle::{self, FileHandle, Use};
use trawl_sys::{Errno, Op, SysError, filesystem, stat};

use crate::choice::{Begun, Tree, Watch};
use crate::error::{About, LiveError, Result};
use crate::fanotify::{BUFFER_BYTES, EVENT_BYTES_MIN, MASK, Root, refused, report};
use crate::inode::Numbering;
use crate::source::{
    AsOf, Barrier, ChangeSource, Description, Drained, KeyResolver, Names, ObjectPlace, Remainder,
    ResolvedDirectory,
};

const UNSEEN: [&str; 7] = [
    "access times, inode flags (chattr) and project ids change without an event",
    "files that are open for writing or mapped may change without an event until they are closed",
    "a file system may allocate or free blocks later without an event",
    "file systems mounted below the root are not covered by this source",
    "a file with several names may change without an event through a name outside the root, or in a directory created a moment before",
    "on file systems other than ext2 to ext4, xfs and tmpfs, a changed file is looked at under the name that was used only",
    "directories that the user may not read are not watched",
];

/// Watches a tree directory by directory; see the module documentation.
#[derive(Debug)]
pub struct Directories {
    group: Group,
    root: Root,
    /// The root, opened with `O_PATH`.
    root_fd: OwnedFd,
    device: trawl_sys::device::DeviceNumber,
    kind: &'static str,
    known: MarkedDirectories,
    /// New directories to be marked, at their reported places.
    new: Vec<Step>,
    /// Moved directories, each with all its reported places.
    moved: HashMap<ObjectKey, Vec<Step>>,
    /// Directories that cannot be read or belong to another file system.
    refused: Vec<Step>,
    buffer: Vec<u8>,
}

/// A parent directory and a name in it.
type Step = (ObjectKey, Box<[u8]>);

fn step_of(place: Named<'_>) -> Option<Step> {
    let directory = ObjectRef::parse(place.directory)?;
    Some((directory.to_key(), place.name.into()))
}

/// Converts a name from the kernel, which contains no NUL.
fn c_name(name: &[u8]) -> CString {
    CString::new(name).unwrap_or_default()
}

/// Places of the marked directories.
#[derive(Debug)]
struct MarkedDirectories {
    file_system: FileSystemId,
    root: ObjectKey,
    root_path: Vec<u8>,
    device: trawl_sys::device::DeviceNumber,
    /// How the keys of files, which have no place here, contain their inode numbers.
    numbering: Numbering,
    /// Each directory except the root, with its parent and its name there.
    steps: HashMap<ObjectKey, Step>,
    /// Directories that have left the tree while the steps of directories below them remain.
    left: HashSet<ObjectKey>,
}

/// Maximum number of directories that have left before the directories below them are removed.
const LEFT_MAX: usize = 1024;

impl MarkedDirectories {
    /// Makes the record of a tree of which only the root is known.
    fn new(root: &OwnedFd, root_path: Vec<u8>, (magic, kind): (u64, &str)) -> Result<Self> {
        let id = filesystem::id_of_fd(root).about("get the id of", &root_path)?;
        let file_system = FileSystemId(id);
        let handle = handle::of_fd(root, Use::Compare);
        let handle = handle.map_err(|e| refused(e, &root_path, kind))?;
        let device = stat::stat_fd(root).about("stat", &root_path)?.dev;
        Ok(MarkedDirectories {
            file_system,
            root: ObjectKey::new(file_system, handle.kind(), handle.bytes()),
            root_path,
            device,
            numbering: Numbering::of(magic),
            steps: HashMap::new(),
            left: HashSet::new(),
        })
    }

    /// Returns true if it is a marked directory, or one below that has left.
    fn is_directory(&self, object: ObjectRef<'_>) -> bool {
        object == self.root.as_ref() || self.steps.contains_key(object.as_bytes())
    }

    /// Returns a directory's path relative to the root; `None` if it is not known to be below the
    /// root.
    fn below_root(&self, directory: ObjectRef<'_>) -> Option<Vec<u8>> {
        let mut names: Vec<&[u8]> = Vec::new();
        let mut at = directory;
        while at != self.root.as_ref() {
            let (parent, name) = self.steps.get(at.as_bytes())?;
            names.push(name);
            // If only some of several renames were reported, the steps can form a cycle.
            if names.len() > self.steps.len() {
                return None;
            }
            at = parent.as_ref();
        }
        names.reverse();
        Some(names.join(&b'/'))
    }

    /// Returns true if the directory, or an ancestor of it, is known to have left the tree.
    fn is_outside(&self, directory: ObjectRef<'_>) -> bool {
        let mut at = directory;
        // If only some of several renames were reported, the steps can form a cycle; then the
        // answer is unknown.
        for _ in 0..=self.steps.len() {
            match self.steps.get(at.as_bytes()) {
                Some((parent, _)) => at = parent.as_ref(),
                None => return at != self.root.as_ref(),
            }
        }
        false
    }

    /// Records the place of a directory.
    fn insert(&mut self, directory: ObjectKey, step: Step) {
        if self.left.contains(&directory) {
            // Directories below it may be elsewhere by now, with content that was not reported.
            self.forget_outside();
        }
        self.steps.insert(directory, step);
    }

    /// Records that a directory has left the tree.
    fn leave(&mut self, directory: ObjectRef<'_>) {
        if self.steps.remove(directory.as_bytes()).is_some() {
            self.left.insert(directory.to_key());
        }
        if self.left.len() > LEFT_MAX {
            self.forget_outside();
        }
    }

    fn forget_outside(&mut self) {
        let outside = self
            .steps
            .keys()
            .filter(|key| self.is_outside(key.as_ref()));
        for key in outside.cloned().collect::<Vec<_>>() {
            self.steps.remove(&key);
        }
        self.left.clear();
    }
}

impl KeyResolver for MarkedDirectories {
    fn place(&mut self, directory: ObjectRef<'_>) -> Result<ResolvedDirectory> {
        Ok(match self.below_root(directory) {
            None => ResolvedDirectory::Outside,
            Some(below) if below.is_empty() => ResolvedDirectory::At(self.root_path.clone()),
            Some(below) => ResolvedDirectory::At([&self.root_path[..], &below].join(&b'/')),
        })
    }

    fn parent(&mut self, directory: ObjectRef<'_>) -> Option<ObjectKey> {
        let (parent, _) = self.steps.get(directory.as_bytes())?;
        Some(parent.clone())
    }

    fn names_of(&mut self, _: ObjectRef<'_>) -> Names {
        Names::Several
    }

    fn inode_of(&mut self, object: ObjectRef<'_>) -> Option<u64> {
        let is_here = object.file_system() == self.file_system;
        is_here.then(|| self.numbering.inode(object))?
    }

    /// Files cannot be opened by their handles here; their other names are found by their numbers.
    fn object(&mut self, object: ObjectRef<'_>) -> Result<ObjectPlace> {
        let number = self.inode_of(object);
        Ok(match (self.is_directory(object), number) {
            (false, Some(ino)) => ObjectPlace::Object {
                dev: self.device.as_u64(),
                ino,
            },
            _ => match self.place(object)? {
                ResolvedDirectory::At(path) => ObjectPlace::Directory(path),
                ResolvedDirectory::Outside => ObjectPlace::Outside,
                ResolvedDirectory::Gone => ObjectPlace::Unknown,
            },
        })
    }
}

/// Result of marking one directory.
enum Marked {
    /// Marked; with its key and the names of its subdirectories.
    Yes(ObjectKey, Vec<CString>),
    /// Not to be marked: it belongs to another file system, or the user may not read it.
    No,
    /// It does not exist there. If it matters, an event will report its place.
    Absent,
    /// Its parent is not at its recorded place.
    Unclear,
}

impl Directories {
    /// Marks every directory below `root`, on its file system, that this process may read.
    ///
    /// # Errors
    /// Fails if the root cannot be watched, or if the tree has more directories than the user may
    /// mark.
    pub fn open(root: &Path) -> Result<Self> {
        let root = Root::new(root)?;
        let path = root.bytes();
        let root_fd = root.open()?;
        let magic = filesystem::of_fd(&root_fd)
            .about("get the file system type of", &path)?
            .magic;
        let kind = filesystem::name(magic).unwrap_or("of an unknown kind");
        crate::fanotify::check_local(&path, kind)?;
        let group = Group::new(QueueSize::Limited).map_err(|e| refused(e, &path, kind))?;
        let found = stat::stat_fd(&root_fd).about("stat", &path)?;
        let mut source = Directories {
            group,
            root,
            known: MarkedDirectories::new(&root_fd, path, (magic, kind))?,
            root_fd,
            device: found.dev,
            kind,
            new: Vec::new(),
            moved: HashMap::new(),
            refused: Vec::new(),
            buffer: vec![0; BUFFER_BYTES],
        };
        source.watch_all()?;
        Ok(source)
    }

    /// Returns the file system's id, with which all keys begin.
    #[must_use]
    pub fn file_system(&self) -> FileSystemId {
        self.known.file_system
    }

    /// Returns the number of marked directories.
    #[must_use]
    pub fn marked(&self) -> usize {
        self.known.steps.len() + 1
    }

    fn watch_all(&mut self) -> Result<()> {
        self.known.steps.clear();
        self.known.left.clear();
        self.new.clear();
        self.moved.clear();
        self.refused.clear();
        let path = self.known.root_path.clone();
        let root = directory::open_at(&self.root_fd, c".", Purpose::List(AccessTime::Keep));
        let root = root.about("list", &path)?;
        match self.mark(&root)? {
            Marked::Yes(key, inside) => self.watch_below(&key, inside),
            _ => Err(LiveError::RootGone { path }),
        }
    }

    /// Marks an open directory and lists its subdirectories.
    fn mark(&self, fd: &OwnedFd) -> Result<Marked> {
        let path = &self.known.root_path;
        if stat::stat_fd(fd).about("stat", path)?.dev != self.device {
            return Ok(Marked::No);
        }
        let handle = handle::of_fd(fd, Use::Compare).about("get the handle of", path)?;
        let key = ObjectKey::new(self.known.file_system, handle.kind(), handle.bytes());
        match self
            .group
            .mark(fd, Scope::Directory, MASK.with(Mask::ON_CHILD))
        {
            Ok(()) => {}
            Err(e) if e.errno == Errno::NOSPC => {
                return Err(LiveError::TooManyMarks {
                    path: path.clone(),
                    marked: self.marked(),
                });
            }
            Err(e) if e.errno == Errno::ACCES => return Ok(Marked::No),
            Err(e) if e.is_vanished() => return Ok(Marked::Absent),
            Err(e) => return Err(refused(e, path, self.kind)),
        }
        // Opened again: some file systems list only the entries that existed at the time of
        // opening.
        let purpose = Purpose::List(AccessTime::Keep);
        let names = directory::open_at(fd, c".", purpose).and_then(|fd| directories_in(&fd));
        match names {
            Ok(names) => Ok(Marked::Yes(key, names)),
            Err(e) if e.is_vanished() => Ok(Marked::Absent),
            Err(e) => Err(e).about("list a directory below", path),
        }
    }

    /// Opens a known directory if it is at its recorded place. Names are then looked up in exactly
    /// this directory, whatever is renamed meanwhile.
    fn open_known(&self, directory: &ObjectKey) -> Option<OwnedFd> {
        let mut below = self.known.below_root(directory.as_ref())?;
        if below.is_empty() {
            below.push(b'.');
        }
        let links = directory::Links::Refused;
        directory::open_below(&self.root_fd, &c_name(&below), Purpose::Pass, links)
            .ok()
            .filter(|fd| self.is_object(fd, directory))
    }

    /// Marks the directory `name` in an open one.
    fn mark_in(&self, parent: &OwnedFd, name: &CStr) -> Result<Marked> {
        match directory::open_at(parent, name, Purpose::List(AccessTime::Keep)) {
            Ok(fd) => self.mark(&fd),
            Err(e) if e.errno == Errno::ACCES => Ok(Marked::No),
            Err(e) if e.is_vanished() || matches!(e.errno, Errno::NOTDIR | Errno::LOOP) => {
                Ok(Marked::Absent)
            }
            Err(e) => Err(e).about("open a directory below", &self.known.root_path),
        }
    }

    /// Marks the directory `name` in a known one.
    fn mark_at(&self, parent: &ObjectKey, name: &CStr) -> Result<Marked> {
        match self.open_known(parent) {
            Some(fd) => self.mark_in(&fd, name),
            None if self.known.is_outside(parent.as_ref()) => Ok(Marked::Absent),
            None => Ok(Marked::Unclear),
        }
    }

    /// Marks everything below a directory, given the names of its subdirectories.
    fn watch_below(&mut self, key: &ObjectKey, inside: Vec<CString>) -> Result<()> {
        let mut to_do = vec![(key.clone(), inside)];
        while let Some((parent, inside)) = to_do.pop() {
            let open = self.open_known(&parent);
            for name in inside {
                let marked = match &open {
                    Some(fd) => self.mark_in(fd, &name)?,
                    None => Marked::Unclear,
                };
                let step = (parent.clone(), name.into_bytes().into());
                match marked {
                    Marked::Yes(key, inside) => {
                        self.known.insert(key.clone(), step);
                        to_do.push((key, inside));
                    }
                    Marked::No => self.refused.push(step),
                    Marked::Absent => {}
                    Marked::Unclear => self.new.push(step),
                }
            }
        }
        Ok(())
    }

    /// Marks new directories and determines the places of renamed ones, as far as that is possible
    /// now. The rest waits for further events.
    ///
    /// Events report that something moved, not where it is: the kernel merges equal events, so
    /// their order is not that of the renames. What matters is which of the reported places is
    /// correct now. Finding one directory may make it possible to find another, so this repeats
    /// until nothing more is found.
    fn settle(&mut self, into: &mut dyn Receiver) -> Result<()> {
        loop {
            let mut found = false;
            for (key, places) in std::mem::take(&mut self.moved) {
                found |= self.settle_moved(key, places, into)?;
            }
            for (parent, name) in std::mem::take(&mut self.new) {
                found |= self.settle_new(parent, name, into)?;
            }
            if !found {
                return Ok(());
            }
        }
    }

    /// Determines the place of a moved directory; returns true if it was settled.
    fn settle_moved(
        &mut self,
        key: ObjectKey,
        mut places: Vec<Step>,
        into: &mut dyn Receiver,
    ) -> Result<bool> {
        // It may have been found since, on the way to another directory.
        places.extend(self.known.steps.get(&key).cloned());
        let mut is_unclear = false;
        for (parent, name) in &places {
            let Some(open) = self.open_known(parent) else {
                is_unclear |= !self.known.is_outside(parent.as_ref());
                continue;
            };
            let found = handle::of_name(&open, &c_name(name), Use::Compare);
            if !found.is_ok_and(|handle| self.key(&handle) == key) {
                continue;
            }
            if self.known.is_outside(key.as_ref()) {
                return self.settle_new(parent.clone(), name.clone(), into);
            }
            let step = (parent.clone(), name.clone());
            self.known.steps.insert(key, step);
            return Ok(true);
        }
        if is_unclear {
            self.moved.insert(key, places);
            return Ok(false);
        }
        self.known.leave(key.as_ref());
        Ok(true)
    }

    /// Marks a new directory and reports it; returns true if it was settled.
    fn settle_new(
        &mut self,
        parent: ObjectKey,
        name: Box<[u8]>,
        into: &mut dyn Receiver,
    ) -> Result<bool> {
        match self.mark_at(&parent, &c_name(&name))? {
            Marked::Yes(key, inside) => {
                self.known.insert(key.clone(), (parent, name));
                self.watch_below(&key, inside)?;
                into.change(Change::Subtree {
                    directory: key.as_ref(),
                    cause: SubtreeCause::New,
                });
            }
            Marked::No => self.refused.push((parent, name)),
            Marked::Absent => {}
            Marked::Unclear => {
                self.new.push((parent, name));
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn key(&self, handle: &FileHandle) -> ObjectKey {
        ObjectKey::new(self.file_system(), handle.kind(), handle.bytes())
    }

    fn is_object(&self, fd: impl AsFd, key: &ObjectKey) -> bool {
        handle::of_fd(fd, Use::Compare).is_ok_and(|handle| self.key(&handle) == *key)
    }

    /// Updates the directories after an event.
    fn follow(&mut self, event: &Event<'_>) {
        // A directory that is not marked, reported through its parent's mark: it may be readable
        // now.
        if event.mask.has(Mask::ATTRIB)
            && let Some(at) = event.at.and_then(|at| ObjectRef::parse(at.directory))
            && self.known.is_outside(at)
        {
            self.new.append(&mut self.refused);
        }
        let Some(object) = event.object.and_then(ObjectRef::parse) else {
            return;
        };
        if event.mask.has(Mask::DELETE) {
            self.known.steps.remove(object.as_bytes());
        }
        if event.mask.has(Mask::CREATE)
            && let Some(at) = event.at
        {
            self.new.extend(step_of(at));
        }
        if !event.mask.has(Mask::RENAME) {
            return;
        }
        if self.known.is_outside(object) {
            // It comes from outside, where changes in it were not reported.
            self.known.leave(object);
        }
        let told = [event.from, event.to].into_iter().flatten();
        let places = self.moved.entry(object.to_key()).or_default();
        for step in told.filter_map(step_of) {
            if !places.contains(&step) {
                places.push(step);
            }
        }
    }

    /// Reports the events in the first `length` bytes of the buffer; returns their number.
    fn take(&mut self, length: usize, into: &mut dyn Receiver) -> Result<u64> {
        let buffer = std::mem::take(&mut self.buffer);
        let file_system = self.known.file_system;
        let (mut count, mut doubt) = (0, None);
        for event in Events::new(&buffer[..length]) {
            count += 1;
            let Ok(event) = event else {
                doubt = Some(Doubt::Malformed);
                continue;
            };
            report(&event, file_system, into);
            if event.mask.has(Mask::QUEUE_OVERFLOW) {
                doubt = Some(Doubt::QueueOverflow);
            } else if event.mask.has(Mask::ONDIR) {
                self.follow(&event);
            }
        }
        self.buffer = buffer;
        match doubt {
            None => self.settle(into)?,
            Some(cause) => {
                self.watch_all()?;
                into.change(Change::Everything { file_system, cause });
            }
        }
        Ok(count)
    }

    /// Reads at least `wanted` events, unless there are fewer.
    fn read(&mut self, wanted: u64, into: &mut dyn Receiver) -> Result<Drained> {
        let mut events = 0;
        while events < wanted {
            let room = (wanted - events).saturating_mul(EVENT_BYTES_MIN);
            let room = usize::try_from(room).unwrap_or(BUFFER_BYTES);
            let room = room.clamp(READ_BYTES_MIN, BUFFER_BYTES);
            let bytes = self.group.read(&mut self.buffer[..room]);
            let length = bytes
                .about("read the events of", &self.known.root_path)?
                .len();
            if length == 0 {
                self.settle(into)?;
                let left = Remainder::Nothing;
                return Ok(Drained { events, left });
            }
            match self.take(length, into) {
                Err(e @ LiveError::TooManyMarks { .. }) => {
                    let file_system = self.known.file_system;
                    let cause = Doubt::TooManyDirectories;
                    into.change(Change::Everything { file_system, cause });
                    return Err(e);
                }
                taken => events += taken?,
            }
        }
        let left = Remainder::More;
        Ok(Drained { events, left })
    }
}

/// Returns the names of the subdirectories of an open directory, including entries of unknown type.
pub(crate) fn directories_in(fd: &OwnedFd) -> std::result::Result<Vec<CString>, SysError> {
    let mut names = Vec::new();
    let mut buffer = ReadBuffer::new(1 << 15);
    let mut reader = buffer.read(fd);
    while let Some(entry) = reader.next() {
        let entry = entry.map_err(|e| SysError::new(Op::Getdents64, e.errno))?;
        if entry.hint() != TypeHint::Other && !entry.is_dot() {
            names.push(entry.name().to_owned());
        }
    }
    Ok(names)
}

impl Watch for Directories {
    const NAME: &'static str = "Directories";
    const USED_FOR: &'static str = "trees that the user may read, on a local file system";
    const METHOD: &'static str = "fanotify, one mark a directory";

    fn watch(tree: &Tree<'_>, _: Option<OwnedFd>) -> Result<Begun<Directories>> {
        let source = Directories::open(tree.root)?;
        Ok(Begun {
            file_system: Some(source.file_system()),
            source,
            queue: None,
            is_taken_over: false,
        })
    }
}

impl AsFd for Directories {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.group.as_fd()
    }
}

impl ChangeSource for Directories {
    fn describe(&self) -> Description {
        Description {
            root: self.known.root_path.clone(),
            file_system: self.kind.to_owned(),
            how: Self::METHOD,
            interval: None,
            unseen: UNSEEN.to_vec(),
            uncovered: self.refused.len() as u64,
            unwatched: Vec::new(),
        }
    }

    fn drain(&mut self, limit: usize, into: &mut dyn Receiver) -> Result<Drained> {
        self.root.check()?;
        self.read(limit as u64, into)
    }

    fn barrier(&mut self, into: &mut dyn Receiver) -> Result<Barrier> {
        self.root.check()?;
        let queued = self.group.queued_events();
        let waiting = queued.about("count the queued events of", &self.known.root_path)?;
        let events = self.read(waiting, into)?.events;
        self.settle(into)?;
        Ok(Barrier {
            waiting,
            events,
            as_of: AsOf::Now,
        })
    }

    fn places(&mut self) -> &mut dyn KeyResolver {
        &mut self.known
    }

    /// Directories that are not marked may become visible.
    fn mounts_changed(&mut self, into: &mut dyn Receiver) -> Result<()> {
        self.watch_all()?;
        into.change(Change::Everything {
            file_system: self.file_system(),
            cause: Doubt::Mounts,
        });
        Ok(())
    }
}
