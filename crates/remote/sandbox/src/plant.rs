//! Creates names and contents in the file system in memory when they are first needed.
//!
//! A directory is planted with all names that the server reports, and updated with the differences
//! once the server reports a change. A planted file has its length and no contents until it is
//! opened. If the server replaces a file by another one of the same name, the planted file is
//! replaced, too; programs that have the old one open keep it. Only this process can write there.
//!
//! Invariants: the planted listing of each directory is the one requested last, and calls are
//! answered from it; a file that a call may be about to open never appears without its contents.

use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, chmodat, chownat, fchmod, ftruncate,
    linkat, mkdirat, mknodat, openat, symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno as Failure;
use trawl_call::Attributes;
use trawl_model::relative_path::{join, split};
use trawl_model::sync::lock;
use trawl_mount::tree::{Entry, Listing, is_directory, is_link};
use trawl_mount::{Asking, ExtendedAttributes, Tree};
use trawl_sys::Errno;

use crate::awaited::Awaited;
use crate::contents::Contents;

/// Maximum number of links followed for one path.
const LINKS_MAX: usize = 40;

/// A tree and its planted copy.
pub(crate) struct Plant {
    pub(crate) tree: Tree,
    pub(crate) root: OwnedFd,
    /// The point at which it appears.
    pub(crate) point: Vec<u8>,
    state: Mutex<State>,
    pub(crate) contents: Contents,
    pub(crate) is_superuser: bool,
}

#[derive(Default)]
pub(crate) struct State {
    listed: HashMap<Vec<u8>, Arc<Listing>>,
    /// The planted directories that cannot be listed on the server.
    pub(crate) shut: HashSet<Vec<u8>>,
    /// Files with several names, with the name planted first.
    pub(crate) names: HashMap<(u64, u64), Vec<u8>>,
    /// The paths of calls that were allowed to continue and open something.
    pub(crate) awaited: Awaited,
}

impl State {
    /// Returns the attributes of the file planted at a path.
    pub(crate) fn planted(&self, path: &[u8]) -> Option<Attributes> {
        let entry = self.listed.get(split(path).0)?.get(split(path).1)?;
        entry.found.ok()
    }
}

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathTarget {
    /// A path in the tree, without links.
    Here(Vec<u8>, Attributes),
    /// The kernel reports the error.
    Nothing,
    /// The kernel reports a missing name: the path, and the length of its part up to and including
    /// that name.
    Missing(Vec<u8>, usize),
    /// A place outside of the tree, by its absolute path.
    Elsewhere(Vec<u8>),
}

/// Returns the identity of a file, independent of its name.
pub(crate) fn identity(attributes: &Attributes) -> (u64, u64) {
    (attributes.dev, attributes.ino)
}

pub(crate) fn stamps(attributes: &Attributes) -> Timestamps {
    let spec = |time: trawl_sys::stat::Time| Timespec {
        tv_sec: time.secs,
        tv_nsec: time.nanos.into(),
    };
    Timestamps {
        last_access: spec(attributes.atime),
        last_modification: spec(attributes.mtime),
    }
}

pub(crate) fn mode(attributes: &Attributes) -> Mode {
    // Set-user-id and set-group-id bits are removed.
    Mode::from_raw_mode(attributes.mode & 0o1777)
}

pub(crate) fn errno(failure: Failure) -> Errno {
    Errno(failure.raw_os_error())
}

impl Plant {
    /// Creates an empty copy of a tree that keeps at most `memory_bytes` bytes of contents.
    pub(crate) fn new(tree: Tree, root: OwnedFd, point: Vec<u8>, memory_bytes: u64) -> Plant {
        Plant {
            tree,
            root,
            point,
            state: Mutex::default(),
            contents: Contents::new(memory_bytes),
            is_superuser: trawl_sys::identity::effective_uid() == 0,
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Plants all names on the way to a path, and the entries of the path if it is a directory.
    /// Returns what the path leads to. An error is that of the call.
    pub(crate) fn find(&self, path: &[u8], is_followed: bool) -> Result<PathTarget, Errno> {
        let mut left: Vec<Vec<u8>> = names(path).rev().map(<[u8]>::to_vec).collect();
        let mut here = Vec::new();
        let mut attributes = self.tree.attributes(b"")?.what;
        let mut links = 0;
        loop {
            let listing = match is_directory(&attributes) {
                true => Some(self.list(&here, &attributes)?),
                false => None,
            };
            let Some(name) = left.pop() else {
                return Ok(PathTarget::Here(here, attributes));
            };
            if name == b".." {
                here = split(&here).0.to_vec();
                attributes = self.tree.attributes(&here)?.what;
                continue;
            }
            let Some(listing) = listing else {
                return Ok(PathTarget::Nothing);
            };
            let next = join(&here, &name);
            let Some(found) = self.entry(&listing, &attributes, &next)? else {
                let (length, mut path) = (next.len(), next);
                for name in left.iter().rev() {
                    path = join(&path, name);
                }
                return Ok(PathTarget::Missing(path, length));
            };
            if !is_link(&found) || (left.is_empty() && !is_followed) {
                (here, attributes) = (next, found);
                continue;
            }
            links += 1;
            if links > LINKS_MAX {
                return Ok(PathTarget::Nothing);
            }
            let target = self.tree.target(&next)?;
            if target.starts_with(b"/") {
                let rest: Vec<Vec<u8>> = left.into_iter().rev().collect();
                let rest = rest.join(&b'/');
                return Ok(PathTarget::Elsewhere([&target[..], b"/", &rest].concat()));
            }
            left.extend(names(&target).rev().map(<[u8]>::to_vec));
        }
    }

    /// Opens the planted copy of a path.
    pub(crate) fn open(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = match path {
            b"" => b".",
            path => path,
        };
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        openat(&self.root, path, flags, Mode::empty()).map_err(errno)
    }

    /// Returns the attributes of a path as its directory's planted listing has them.
    fn entry(
        &self,
        listing: &Listing,
        dir: &Attributes,
        path: &[u8],
    ) -> Result<Option<Attributes>, Errno> {
        let planted = |listing: &Listing| {
            let entry = listing.get(split(path).1);
            entry.map(|entry| entry.found).transpose()
        };
        let is_shut = listing.trouble.is_some();
        if !is_shut && self.tree.asking() == Asking::Bulk {
            return planted(listing);
        }
        // The directory cannot be listed but may be traversed.
        let now = self.tree.lookup(split(path).0, split(path).1)?.what;
        let is_planted = match (planted(listing)?, &now) {
            (None, None) => true,
            (Some(then), Some(now)) => is_same_file(&then, now),
            _ => false,
        };
        if is_shut || is_planted {
            return Ok(now);
        }
        self.tree.look_again(path)?;
        planted(&*self.list(split(path).0, dir)?)
    }

    /// Returns whether the kernel may report that a name is missing: it is not planted. `length` is
    /// the length of the path up to that name. If a file is planted at the path later, it will have
    /// its contents.
    pub(crate) fn goes_without(&self, path: &[u8], length: usize) -> bool {
        let mut state = self.state();
        state.awaited.insert(path);
        state.planted(&path[..length]).is_none()
    }

    /// Plants the entries of a directory, or the differences from those planted before, and returns
    /// the planted listing.
    fn list(&self, dir: &[u8], attributes: &Attributes) -> Result<Arc<Listing>, Errno> {
        let begun = Instant::now();
        let mut listing = self.tree.listing(dir)?;
        let mut state = self.state();
        // Another call may have planted a listing that was requested later.
        while let Some(planted) = state.listed.get(dir).filter(|it| it.asked >= listing.asked) {
            let is_told = planted.number == listing.number
                || planted.at >= begun
                || planted.at.elapsed() < self.tree.max_age();
            if is_told {
                return Ok(Arc::clone(planted));
            }
            drop(state);
            listing = self.tree.list_again(dir)?;
            state = self.state();
        }
        let before = state.listed.get(dir).cloned();
        match listing.trouble {
            // The directory cannot be listed but may be traversed.
            Some(Errno::ACCES) => {
                state.shut.insert(dir.to_vec());
            }
            Some(trouble) => return Err(trouble),
            None => {
                state.shut.remove(dir);
            }
        }
        let here = self.open_directory(dir)?;
        self.change(&mut state, (&here, dir), before.as_deref(), &listing)?;
        self.dress(&here, b".", attributes)?;
        state.listed.insert(dir.to_vec(), Arc::clone(&listing));
        Ok(listing)
    }

    /// Opens a planted directory, and makes it writable.
    fn open_directory(&self, dir: &[u8]) -> Result<OwnedFd, Errno> {
        let here = self.open(dir, OFlags::DIRECTORY | OFlags::RDONLY)?;
        fchmod(&here, Mode::from_raw_mode(0o700)).map_err(errno)?;
        Ok(here)
    }

    fn change(
        &self,
        state: &mut State,
        (here, dir): (&OwnedFd, &[u8]),
        before: Option<&Listing>,
        now: &Listing,
    ) -> Result<(), Errno> {
        let entries = before.map_or(&[][..], |before| &before.entries);
        for entry in entries {
            if !now
                .get(&entry.name)
                .is_some_and(|now| self.stays(dir, entry, now))
            {
                self.uproot(state, here, dir, entry)?;
            }
        }
        for entry in &now.entries {
            let old = before.and_then(|before| before.get(&entry.name));
            match old.filter(|old| self.stays(dir, old, entry)) {
                None => self.plant(state, here, dir, entry)?,
                Some(old) if old.found != entry.found => self.redress(here, dir, entry)?,
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Returns whether the planted file for a name remains. A file that a program may be about to
    /// open is replaced only together with its contents, when it is opened.
    fn stays(&self, dir: &[u8], before: &Entry, now: &Entry) -> bool {
        let is_file = |entry: &Entry| {
            let is_file = |of: &Attributes| {
                FileType::from_raw_mode(of.mode) == FileType::RegularFile && of.nlink < 2
            };
            entry.found.as_ref().is_ok_and(is_file)
        };
        let is_used = || self.contents.is_used(&join(dir, &now.name));
        is_same(before, now) || is_file(before) && is_file(now) && is_used()
    }

    /// Removes the planted file for a name, and everything below it.
    fn uproot(
        &self,
        state: &mut State,
        here: &OwnedFd,
        dir: &[u8],
        entry: &Entry,
    ) -> Result<(), Errno> {
        let Ok(attributes) = entry.found else {
            return Ok(());
        };
        let path = join(dir, &entry.name);
        let mut flags = AtFlags::empty();
        if is_directory(&attributes) {
            flags = AtFlags::REMOVEDIR;
            state.shut.remove(&path);
            if let Some(listing) = state.listed.remove(&path) {
                let within = self.open_directory(&path)?;
                for entry in &listing.entries {
                    self.uproot(state, &within, &path, entry)?;
                }
            }
        } else if state.names.get(&identity(&attributes)) == Some(&path) {
            state.names.remove(&identity(&attributes));
        }
        self.contents.forget(&path);
        match unlinkat(here, &*entry.name, flags) {
            Err(Failure::NOENT) => Ok(()),
            gone => gone.map_err(errno),
        }
    }

    /// Updates the attributes of the planted file for a name. Its contents are updated when it is
    /// used.
    fn redress(&self, here: &OwnedFd, dir: &[u8], entry: &Entry) -> Result<(), Errno> {
        let (name, Ok(of)) = (&*entry.name, entry.found) else {
            return Ok(());
        };
        let is_file = FileType::from_raw_mode(of.mode) == FileType::RegularFile;
        if is_file && !self.contents.is_used(&join(dir, name)) && of.nlink < 2 {
            chmodat(here, name, Mode::from_raw_mode(0o600), AtFlags::empty()).map_err(errno)?;
            let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let file = openat(here, name, flags, Mode::empty()).map_err(errno)?;
            ftruncate(&file, of.size).map_err(errno)?;
        }
        self.dress(here, name, &of)
    }

    fn plant(
        &self,
        state: &mut State,
        here: &OwnedFd,
        dir: &[u8],
        entry: &Entry,
    ) -> Result<(), Errno> {
        let (name, Ok(attributes)) = (&*entry.name, entry.found) else {
            return Ok(());
        };
        let path = join(dir, name);
        let planted = self.plant_new(state, here, &path, &attributes);
        match planted {
            // A call that failed midway left it.
            Err(Errno::EXIST) => {
                self.uproot(state, here, dir, entry)?;
                self.plant_new(state, here, &path, &attributes)
            }
            planted => planted,
        }
    }

    fn plant_new(
        &self,
        state: &mut State,
        here: &OwnedFd,
        path: &[u8],
        of: &Attributes,
    ) -> Result<(), Errno> {
        let name = split(path).1;
        if is_link(of) {
            let target = match self.tree.target(path) {
                // It was removed meanwhile.
                Err(Errno::NOENT | Errno::INVAL) => return Ok(()),
                target => target?,
            };
            symlinkat(&target[..], here, name).map_err(errno)?;
        } else if is_directory(of) {
            mkdirat(here, name, Mode::from_raw_mode(0o700)).map_err(errno)?;
        } else {
            if let Some(first) = state.names.get(&identity(of)) {
                return linkat(&self.root, &first[..], here, name, AtFlags::empty()).map_err(errno);
            }
            let is_file = FileType::from_raw_mode(of.mode) == FileType::RegularFile;
            let is_awaited = is_file && state.awaited.contains(path);
            // If that fails, opening the file reports the error.
            if !(is_awaited && self.plant_filled(here, path, of).is_ok()) {
                self.plant_file(here, name, of)?;
            }
            if of.nlink > 1 {
                state.names.insert(identity(of), path.to_vec());
            }
        }
        self.dress(here, name, of)
    }

    fn plant_file(&self, here: &OwnedFd, name: &[u8], of: &Attributes) -> Result<(), Errno> {
        let kind = FileType::from_raw_mode(of.mode);
        if kind == FileType::RegularFile {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let file = openat(here, name, flags, Mode::from_raw_mode(0o600)).map_err(errno)?;
            return ftruncate(&file, of.size).map_err(errno);
        }
        let bits = Mode::from_raw_mode(0o600);
        let made = mknodat(here, name, kind, bits, of.rdev);
        match made {
            // Only the superuser can create devices; a socket at least shows the name.
            Err(Failure::PERM) => mknodat(here, name, FileType::Socket, bits, 0).map_err(errno),
            made => made.map_err(errno),
        }
    }

    /// Sets owner, mode and times.
    fn dress(&self, here: &OwnedFd, name: &[u8], of: &Attributes) -> Result<(), Errno> {
        let link = AtFlags::SYMLINK_NOFOLLOW;
        if self.is_superuser {
            let (uid, gid) = (
                rustix::fs::Uid::from_raw(of.uid),
                rustix::fs::Gid::from_raw(of.gid),
            );
            chownat(here, name, Some(uid), Some(gid), link).map_err(errno)?;
        }
        if !is_link(of) {
            chmodat(here, name, mode(of), AtFlags::empty()).map_err(errno)?;
        }
        utimensat(here, name, &stamps(of), link).map_err(errno)
    }

    /// Returns the extended attributes of a path in the tree, as the server reports them now.
    pub(crate) fn xattrs(&self, path: &[u8]) -> Result<Arc<ExtendedAttributes>, Errno> {
        self.tree.xattrs(path)
    }
}

/// Whether a call can continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    Yes,
    /// The name leads elsewhere by now.
    LookAgain,
}

/// Returns whether both entries can have the same planted file.
fn is_same(one: &Entry, other: &Entry) -> bool {
    let (Ok(one), Ok(other)) = (one.found, other.found) else {
        return one.found.is_err() && other.found.is_err();
    };
    is_same_file(&one, &other)
}

fn is_same_file(one: &Attributes, other: &Attributes) -> bool {
    let kind = |of: &Attributes| FileType::from_raw_mode(of.mode);
    identity(one) == identity(other) && kind(one) == kind(other)
}

fn names(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    let names = path.split(|byte| *byte == b'/');
    names.filter(|name| !matches!(*name, b"" | b"."))
}
