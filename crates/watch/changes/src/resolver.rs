//! Converts a directory's key to its path through file handles; needs root.
//!
//! Each directory is cached with its parent and its name there, so that a rename invalidates one
//! entry, whatever lies below. A path is checked before it is returned: if it leads elsewhere,
//! because a rename has not been reported yet, it is built again.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};

use trawl_model::change::{FileSystemId, ObjectKey, ObjectRef};
use trawl_model::path;
use trawl_sys::directory::{self, AccessTime, Purpose, ReadBuffer};
use trawl_sys::handle::{self, FileHandle, Use};
use trawl_sys::link::{TargetBuffer, read_link_at};
use trawl_sys::{CWD, Errno, SysError, filesystem, stat};

use crate::error::{About, Result};
use crate::inode::Numbering;
use crate::source::{KeyResolver, Names, ObjectPlace, ResolvedDirectory};

/// Number of directories in one generation of the cache; there are two generations.
const REMEMBERED: usize = 1 << 16;

/// Maximum number of times that a path is built before a directory that is constantly renamed is
/// considered removed.
const ATTEMPTS: usize = 8;

/// Maximum retries of opening an object that does not exist before it is considered removed.
const GONE_TRIES: usize = 4;

/// Paths of this length or longer cannot be passed to the kernel in one call.
const PATH_MAX: usize = 4096;

/// Place of a directory, as one step up.
#[derive(Clone, Debug)]
struct Step {
    parent: ObjectKey,
    name: Box<[u8]>,
}

/// Converts keys of one file system to paths.
#[derive(Debug)]
pub struct Resolver {
    /// A mount through which handles are opened; objects outside it are outside. It disappears with
    /// the descriptor with which it was made, and is used through a second one opened for reading.
    _mount: OwnedFd,
    mount_root: OwnedFd,
    file_system: FileSystemId,
    numbering: Numbering,
    /// The directory whose path is known, open in that mount, and its path.
    anchor: ObjectKey,
    anchor_fd: OwnedFd,
    anchor_path: Vec<u8>,
    /// Paths that are not below this one are outside.
    root: Vec<u8>,
    /// Two generations of the cache: when the young one is full, the old one is dropped.
    young: HashMap<ObjectKey, Step>,
    old: HashMap<ObjectKey, Step>,
    target: TargetBuffer,
}

/// The steps up from a directory.
#[derive(Default)]
struct Climb {
    /// Each directory on the way with its name, the lowest first.
    steps: Vec<(ObjectKey, Box<[u8]>)>,
    /// Set if the way does not lead to the anchor.
    nowhere: Option<ResolvedDirectory>,
}

impl Climb {
    fn below_anchor(&self) -> Vec<u8> {
        let names = self.steps.iter().rev().map(|(_, name)| &name[..]);
        names.collect::<Vec<_>>().join(&b'/')
    }
}

/// Result of going one step up.
enum Up {
    Step(Step),
    Outside,
    Gone,
}

impl Resolver {
    /// Makes a resolver for the file system of `mount`, in which the directory with the handle
    /// `anchor` has the path `anchor_path`. Paths outside `root` are not returned.
    pub(crate) fn new(
        mount: OwnedFd,
        file_system: FileSystemId,
        anchor: &FileHandle,
        anchor_path: Vec<u8>,
        root: Vec<u8>,
    ) -> std::result::Result<Self, SysError> {
        let mount_root = directory::open_at(&mount, c".", Purpose::List(AccessTime::Keep))?;
        let anchor_fd = handle::open(&mount_root, anchor)?;
        let magic = filesystem::of_fd(&mount_root)?.magic;
        Ok(Resolver {
            _mount: mount,
            mount_root,
            file_system,
            numbering: Numbering::of(magic),
            anchor: ObjectKey::new(file_system, anchor.kind(), anchor.bytes()),
            anchor_fd,
            anchor_path,
            root,
            young: HashMap::new(),
            old: HashMap::new(),
            target: TargetBuffer::default(),
        })
    }

    /// Returns the key of the directory whose path is known.
    pub(crate) fn anchor(&self) -> &ObjectKey {
        &self.anchor
    }

    /// Removes a directory that was moved or deleted from the cache.
    pub(crate) fn forget(&mut self, directory: ObjectRef<'_>) {
        self.young.remove(directory.as_bytes());
        self.old.remove(directory.as_bytes());
    }

    /// Clears the cache.
    pub(crate) fn forget_all(&mut self) {
        self.young.clear();
        self.old.clear();
    }

    fn key(&self, handle: &FileHandle) -> ObjectKey {
        ObjectKey::new(self.file_system, handle.kind(), handle.bytes())
    }

    fn open(&self, object: ObjectRef<'_>) -> std::result::Result<OwnedFd, SysError> {
        let handle = FileHandle::new(object.kind(), object.handle())
            .ok_or_else(|| SysError::new(trawl_sys::Op::OpenByHandleAt, Errno::OVERFLOW))?;
        let mut tries = 0;
        loop {
            match handle::open(&self.mount_root, &handle) {
                // It is gone; or the kernel, while going up from it, met a concurrent rename of
                // another object.
                Err(e) if e.is_vanished() && tries < GONE_TRIES => {
                    tries += 1;
                    std::thread::yield_now();
                }
                opened => return opened,
            }
        }
    }

    fn open_with_attributes(
        &self,
        object: ObjectRef<'_>,
    ) -> std::result::Result<(stat::Stat, OwnedFd), SysError> {
        let fd = self.open(object)?;
        Ok((stat::stat_fd(&fd)?, fd))
    }

    fn step_up(&mut self, directory: ObjectRef<'_>) -> Result<Up> {
        if let Some(step) = self.young.get(directory.as_bytes()) {
            return Ok(Up::Step(step.clone()));
        }
        let step = match self.old.remove(directory.as_bytes()) {
            Some(step) => step,
            None => match self.look_up(directory)? {
                Up::Step(step) => step,
                other => return Ok(other),
            },
        };
        if self.young.len() >= REMEMBERED {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(directory.to_key(), step.clone());
        Ok(Up::Step(step))
    }

    fn look_up(&mut self, directory: ObjectRef<'_>) -> Result<Up> {
        for _ in 0..ATTEMPTS {
            let fd = match self.open(directory) {
                Ok(fd) => fd,
                Err(e) if e.is_vanished() => return Ok(Up::Gone),
                Err(e) => return Err(e).about("open by its handle a directory below", &self.root),
            };
            let looked = self.look_above(directory, &fd);
            match looked {
                Ok(Some(up)) => return Ok(up),
                Ok(None) => {}
                Err(e) if e.is_vanished() => {}
                Err(e) => return Err(e).about("find the parent of a directory below", &self.root),
            }
        }
        Ok(Up::Gone)
    }

    /// Looks up the parent and the name of an open directory; returns `None` if a rename
    /// interfered.
    fn look_above(
        &mut self,
        directory: ObjectRef<'_>,
        fd: &OwnedFd,
    ) -> std::result::Result<Option<Up>, SysError> {
        let found = stat::stat_fd(fd)?;
        if found.nlink == 0 || !found.is_directory() {
            return Ok(Some(Up::Gone));
        }
        let above = match directory::open_at(fd, c"..", Purpose::Pass) {
            Ok(above) => above,
            // It is not below the root of the mount through which it is seen.
            Err(e) if e.errno == Errno::NOENT => return Ok(Some(Up::Outside)),
            Err(e) => return Err(e),
        };
        let parent = self.key(&handle::of_fd(&above, Use::Compare)?);
        if parent.as_ref() == directory {
            return Ok(Some(Up::Outside));
        }
        let name = match self.own_name(fd) {
            Some(name) if self.is_called(&above, &name, directory) => Some(name),
            _ => self.search(&above, found.ino, directory)?,
        };
        Ok(name.map(|name| {
            let name = name.into_bytes().into();
            Up::Step(Step { parent, name })
        }))
    }

    /// Returns the last component of the path by which the kernel knows an open directory.
    fn own_name(&mut self, fd: &OwnedFd) -> Option<CString> {
        let path = known_path(fd, &mut self.target)?;
        let name = path.rsplit(|byte| *byte == b'/').next()?;
        CString::new(name).ok().filter(|name| !name.is_empty())
    }

    fn is_called(&self, above: &OwnedFd, name: &CString, directory: ObjectRef<'_>) -> bool {
        handle::of_name(above, name, Use::Compare)
            .is_ok_and(|handle| self.key(&handle).as_ref() == directory)
    }

    /// Searches the parent's names for the directory: its path is longer than the kernel shows, or
    /// has just changed.
    fn search(
        &self,
        above: &OwnedFd,
        ino: u64,
        directory: ObjectRef<'_>,
    ) -> std::result::Result<Option<CString>, SysError> {
        let list = directory::open_at(above, c".", Purpose::List(AccessTime::Keep))?;
        let mut buffer = ReadBuffer::new(1 << 16);
        let mut reader = buffer.read(&list);
        while let Some(entry) = reader.next() {
            let entry = entry?;
            let name = entry.name().to_owned();
            if entry.ino() == ino && !entry.is_dot() && self.is_called(above, &name, directory) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Returns the directories from this one up to the anchor, or to the point where the way ends.
    fn climb(&mut self, directory: ObjectRef<'_>) -> Result<Climb> {
        let mut climb = Climb::default();
        let mut at = directory.to_key();
        while at != self.anchor {
            match self.step_up(at.as_ref())? {
                Up::Step(step) => {
                    let parent = step.parent.clone();
                    climb
                        .steps
                        .push((std::mem::replace(&mut at, parent), step.name));
                }
                Up::Outside => climb.nowhere = Some(ResolvedDirectory::Outside),
                Up::Gone => climb.nowhere = Some(ResolvedDirectory::Gone),
            }
            // If cached before and after a rename, two directories can be each other's parents.
            let is_circle = climb.steps.len() > self.young.len() + self.old.len() + 1;
            if is_circle {
                climb.nowhere = Some(ResolvedDirectory::Gone);
            }
            if climb.nowhere.is_some() {
                break;
            }
        }
        Ok(climb)
    }

    /// Returns the path of an object that has one name, relative to the root of the mount, if the
    /// kernel knows the object by that name. It may know it by a name that was removed since, under
    /// which a process has opened it.
    fn only_path(&mut self, fd: &OwnedFd, found: &stat::Stat) -> Option<Vec<u8>> {
        let path = self.path_in_mount(fd)?;
        let there = CString::new(&path[..]).ok()?;
        let now = stat::stat_at(&self.mount_root, &there).ok()?;
        ((now.dev, now.ino) == (found.dev, found.ino)).then_some(path)
    }

    /// Returns the path by which the kernel knows an open object, relative to the root of the mount.
    fn path_in_mount(&mut self, fd: &OwnedFd) -> Option<Vec<u8>> {
        let path = known_path(fd, &mut self.target)?;
        path.strip_prefix(b"/").map(<[u8]>::to_vec)
    }

    /// Returns the part of a path in the mount that is below the anchor.
    fn below_anchor(&mut self, path: &[u8]) -> Option<Vec<u8>> {
        let anchor = known_path(&self.anchor_fd, &mut self.target)?.strip_prefix(b"/")?;
        let below = path.strip_prefix(anchor)?;
        match anchor.is_empty() {
            true => Some(below.to_vec()),
            false => below.strip_prefix(b"/").map(<[u8]>::to_vec),
        }
    }

    /// Returns true if the kernel knows the directory by a path that does not lead to the anchor or
    /// below. The kernel does not tell paths that are longer than `PATH_MAX`.
    fn is_outside_now(&mut self, directory: ObjectRef<'_>) -> bool {
        let Ok(fd) = self.open(directory) else {
            return false;
        };
        let Some(path) = self.path_in_mount(&fd) else {
            return false;
        };
        let anchor = known_path(&self.anchor_fd, &mut self.target);
        let Some(anchor) = anchor.and_then(|anchor| anchor.strip_prefix(b"/")) else {
            return false;
        };
        !anchor.is_empty() && !path::is_within(&path, anchor)
    }

    /// Splits a path in the mount into the key of its directory and its name.
    fn split(&self, path: &[u8]) -> Option<(ObjectKey, Box<[u8]>)> {
        let (above, name) = path::split(path).unwrap_or((b"", path));
        let above = if above.is_empty() { b"." } else { above };
        let above = CString::new(above).ok()?;
        let handle = handle::of_name(&self.mount_root, &above, Use::Compare).ok()?;
        Some((self.key(&handle), name.into()))
    }

    /// Returns true if the path leads to the directory at this moment.
    fn leads_to(&self, below: &[u8], directory: ObjectRef<'_>) -> bool {
        if below.len() >= PATH_MAX {
            return true;
        }
        let path = if below.is_empty() { b"." } else { below };
        CString::new(path).is_ok_and(|path| {
            handle::of_name(&self.anchor_fd, &path, Use::Compare)
                .is_ok_and(|handle| self.key(&handle).as_ref() == directory)
        })
    }

    fn shown(&self, below: &[u8]) -> ResolvedDirectory {
        let mut path = self.anchor_path.clone();
        if !below.is_empty() {
            path.push(b'/');
            path.extend(below);
        }
        let rest = path.strip_prefix(&self.root[..]);
        match rest {
            Some(rest) if rest.is_empty() || rest.starts_with(b"/") => ResolvedDirectory::At(path),
            _ => ResolvedDirectory::Outside,
        }
    }
}

/// Returns the path by which the kernel knows an open object.
fn known_path<'t>(fd: &OwnedFd, target: &'t mut TargetBuffer) -> Option<&'t [u8]> {
    let link = CString::new(format!("/proc/self/fd/{}", fd.as_raw_fd())).ok()?;
    read_link_at(CWD, &link, target).ok()
}

impl KeyResolver for Resolver {
    fn place(&mut self, directory: ObjectRef<'_>) -> Result<ResolvedDirectory> {
        let mut found = ResolvedDirectory::Gone;
        for _ in 0..ATTEMPTS {
            let climb = self.climb(directory)?;
            found = match climb.nowhere {
                // No cached step was used, so this is true.
                Some(nowhere) if climb.steps.is_empty() => return Ok(nowhere),
                // Climbing again would look at each directory above, for each of a deep chain.
                Some(nowhere @ ResolvedDirectory::Outside) if self.is_outside_now(directory) => {
                    return Ok(nowhere);
                }
                Some(ref nowhere) if *nowhere == found => return Ok(found),
                Some(nowhere) => nowhere,
                None => {
                    let below = climb.below_anchor();
                    let place = self.shown(&below);
                    if self.leads_to(&below, directory) {
                        return Ok(place);
                    }
                    place
                }
            };
            for (passed, _) in climb.steps {
                self.forget(passed.as_ref());
            }
        }
        Ok(found)
    }

    fn parent(&mut self, directory: ObjectRef<'_>) -> Option<ObjectKey> {
        if self.anchor.as_ref() == directory {
            return None;
        }
        match self.step_up(directory) {
            Ok(Up::Step(step)) => Some(step.parent),
            _ => None,
        }
    }

    fn names_of(&mut self, object: ObjectRef<'_>) -> Names {
        let (found, fd) = match self.open_with_attributes(object) {
            Ok(opened) => opened,
            Err(e) if e.is_vanished() => return Names::None,
            Err(_) => return Names::Several,
        };
        let path = match found.nlink {
            0 => return Names::None,
            1 => self.only_path(&fd, &found),
            _ => None,
        };
        match path.and_then(|path| self.split(&path)) {
            Some((directory, name)) => Names::One { directory, name },
            None => Names::Several,
        }
    }

    fn inode_of(&mut self, object: ObjectRef<'_>) -> Option<u64> {
        let is_here = object.file_system() == self.file_system;
        is_here.then(|| self.numbering.inode(object))?
    }

    fn object(&mut self, object: ObjectRef<'_>) -> Result<ObjectPlace> {
        let (found, fd) = match self.open_with_attributes(object) {
            Ok((found, _)) if found.nlink == 0 => return Ok(ObjectPlace::Gone),
            Ok(opened) => opened,
            Err(e) if e.is_vanished() => return Ok(ObjectPlace::Gone),
            Err(e) => return Err(e).about("open by its handle a file below", &self.root),
        };
        if found.is_directory() {
            return Ok(match self.place(object)? {
                ResolvedDirectory::At(path) => ObjectPlace::Directory(path),
                ResolvedDirectory::Outside => ObjectPlace::Outside,
                ResolvedDirectory::Gone => ObjectPlace::Gone,
            });
        }
        if found.nlink == 1
            && let Some(path) = self.only_path(&fd, &found)
        {
            let shown = self.below_anchor(&path).map(|below| self.shown(&below));
            return Ok(match shown {
                Some(ResolvedDirectory::At(path)) => ObjectPlace::At(path),
                _ => ObjectPlace::Outside,
            });
        }
        let dev = found.dev;
        Ok(ObjectPlace::Object {
            dev: dev.as_u64(),
            ino: found.ino,
        })
    }
}
