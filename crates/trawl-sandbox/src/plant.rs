//! Names and contents, put into the file system in memory when they are first needed.
//!
//! A directory is planted with all names that the server said, and again what differs once the
//! server says otherwise; what stands for a file has its length and nothing in it until it is
//! opened. Another file of the same name is another one here, too: who has the one before open
//! keeps it. Nobody but this process can write there.

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Timespec, Timestamps, Uid, chmodat, chownat, fchmod,
    ftruncate, futimens, linkat, mkdirat, mknodat, openat, renameat, symlinkat, unlinkat,
    utimensat,
};
use rustix::io::Errno as Failure;
use trawl_call::Attributes;
use trawl_mount::tree::{Entry, Listing, Version, is_directory, is_link};
use trawl_mount::{ExtendedAttributes, Tree};
use trawl_sys::Errno;

use crate::contents::{Contents, Filled, Refused};

/// The name of a file for the moment in which it takes another one's place.
const STAGED: &std::ffi::CStr = c".trawl-staged";
/// Links that lead to each other.
const LINKS_MAX: usize = 40;

/// A tree and what stands for it.
pub(crate) struct Plant {
    tree: Tree,
    root: OwnedFd,
    /// Where it is seen.
    pub(crate) point: Vec<u8>,
    state: Mutex<State>,
    contents: Contents,
    is_superuser: bool,
}

#[derive(Default)]
struct State {
    listed: HashMap<Vec<u8>, Arc<Listing>>,
    /// Those of them that may not be listed over there.
    shut: HashSet<Vec<u8>>,
    /// Files with several names: the first of them.
    names: HashMap<(u64, u64), Vec<u8>>,
}

/// What is at the end of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A path in the tree, without links.
    Here(Vec<u8>, Attributes),
    /// The kernel says what is wrong.
    Nothing,
    /// It lies elsewhere: an absolute path.
    Elsewhere(Vec<u8>),
}

fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    match dir {
        b"" => name.to_vec(),
        dir => [dir, b"/", name].concat(),
    }
}

fn parent(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte == b'/');
    &path[..end.unwrap_or(0)]
}

/// Which file it is, whatever its name.
fn identity(attributes: &Attributes) -> (u64, u64) {
    (attributes.dev, attributes.ino)
}

fn stamps(attributes: &Attributes) -> Timestamps {
    let spec = |time: trawl_sys::stat::Time| Timespec {
        tv_sec: time.secs,
        tv_nsec: time.nanos.into(),
    };
    Timestamps {
        last_access: spec(attributes.atime),
        last_modification: spec(attributes.mtime),
    }
}

fn mode(attributes: &Attributes) -> Mode {
    // Nobody becomes anybody here.
    Mode::from_raw_mode(attributes.mode & 0o1777)
}

fn errno(failure: Failure) -> Errno {
    Errno(failure.raw_os_error())
}

impl Plant {
    /// Keeps so much of what is in files.
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plants all names on the way to a path, and what is in it if it is a directory: what is
    /// there. An error is what the call is to fail with.
    pub(crate) fn find(&self, path: &[u8], is_followed: bool) -> Result<Found, Errno> {
        let mut left: Vec<Vec<u8>> = names(path).rev().map(<[u8]>::to_vec).collect();
        let mut here = Vec::new();
        let mut attributes = self.tree.attributes(b"")?.what;
        let mut links = 0;
        loop {
            if is_directory(&attributes) {
                self.list(&here, &attributes)?;
            }
            let Some(name) = left.pop() else {
                return Ok(Found::Here(here, attributes));
            };
            if name == b".." {
                here = parent(&here).to_vec();
                attributes = self.tree.attributes(&here)?.what;
                continue;
            }
            if !is_directory(&attributes) {
                return Ok(Found::Nothing);
            }
            let Some(found) = self.tree.lookup(&here, &name)?.what else {
                return Ok(Found::Nothing);
            };
            let next = join(&here, &name);
            if !is_link(&found) || (left.is_empty() && !is_followed) {
                (here, attributes) = (next, found);
                continue;
            }
            links += 1;
            if links > LINKS_MAX {
                return Ok(Found::Nothing);
            }
            let target = self.tree.target(&next)?;
            if target.starts_with(b"/") {
                let rest: Vec<Vec<u8>> = left.into_iter().rev().collect();
                let rest = rest.join(&b'/');
                return Ok(Found::Elsewhere([&target[..], b"/", &rest].concat()));
            }
            left.extend(names(&target).rev().map(<[u8]>::to_vec));
        }
    }

    /// Opens what stands for a path.
    fn open(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = match path {
            b"" => b".",
            path => path,
        };
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        openat(&self.root, path, flags, Mode::empty()).map_err(errno)
    }

    /// Plants what is in a directory, or what differs from what was in it.
    fn list(&self, dir: &[u8], attributes: &Attributes) -> Result<(), Errno> {
        let listing = self.tree.listing(dir)?;
        let mut state = self.state();
        let before = state.listed.get(dir).cloned();
        // Another call may have planted what was asked for after this.
        if before.as_ref().is_some_and(|it| it.asked >= listing.asked) {
            return Ok(());
        }
        match listing.trouble {
            // Who may not list may pass.
            Some(Errno::ACCES) => {
                state.shut.insert(dir.to_vec());
            }
            Some(trouble) => return Err(trouble),
            None => {
                state.shut.remove(dir);
                let here = self.open_directory(dir)?;
                self.change(&mut state, (&here, dir), before.as_deref(), &listing)?;
                self.dress(&here, b".", attributes)?;
            }
        }
        state.listed.insert(dir.to_vec(), listing);
        Ok(())
    }

    /// A directory in which names can be made and taken away.
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

    /// Whether what stands for a name goes on doing so. What somebody may be about to open is
    /// replaced with all that is in it, when that happens.
    fn stays(&self, dir: &[u8], before: &Entry, now: &Entry) -> bool {
        let is_file = |entry: &Entry| {
            let is_file = |of: &Attributes| {
                FileType::from_raw_mode(of.mode) == FileType::RegularFile && of.nlink < 2
            };
            entry.found.as_ref().is_ok_and(is_file)
        };
        let is_filled = || self.contents.filled(&join(dir, &now.name)).is_some();
        is_same(before, now) || is_file(before) && is_file(now) && is_filled()
    }

    /// Takes away what stands for a name, and all below it.
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

    /// What stands for a name looks as it does now. What is in a file follows when it is used.
    fn redress(&self, here: &OwnedFd, dir: &[u8], entry: &Entry) -> Result<(), Errno> {
        let (name, Ok(of)) = (&*entry.name, entry.found) else {
            return Ok(());
        };
        let is_file = FileType::from_raw_mode(of.mode) == FileType::RegularFile;
        if is_file && self.contents.filled(&join(dir, name)).is_none() && of.nlink < 2 {
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
        if is_link(&attributes) {
            let target = self.tree.target(&path)?;
            symlinkat(&target[..], here, name).map_err(errno)?;
        } else if is_directory(&attributes) {
            mkdirat(here, name, Mode::from_raw_mode(0o700)).map_err(errno)?;
        } else {
            let identity = identity(&attributes);
            if let Some(first) = state.names.get(&identity) {
                return linkat(&self.root, &first[..], here, name, AtFlags::empty()).map_err(errno);
            }
            if attributes.nlink > 1 {
                state.names.insert(identity, path);
            }
            self.plant_file(here, name, &attributes)?;
        }
        self.dress(here, name, &attributes)
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
            // Only the superuser makes devices: one that leads nowhere has the name at least.
            Err(Failure::PERM) => mknodat(here, name, FileType::Socket, bits, 0).map_err(errno),
            made => made.map_err(errno),
        }
    }

    /// Owner, mode and times.
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

    /// The extended attributes of a path in the tree, as the server says them now.
    pub(crate) fn xattrs(&self, path: &[u8]) -> Result<Arc<ExtendedAttributes>, Errno> {
        self.tree.xattrs(path)
    }

    /// Puts into a file what is in it now; refuses a directory that may not be listed.
    pub(crate) fn fill(&self, path: &[u8], attributes: &Attributes) -> Result<Ready, Errno> {
        match FileType::from_raw_mode(attributes.mode) {
            FileType::RegularFile => {}
            // The kernel here, which may let them, would show nothing.
            FileType::Directory if self.state().shut.contains(path) => return Err(Errno::ACCES),
            _ => return Ok(Ready::Yes),
        }
        let path = &self.first(path, attributes)[..];
        let before = self.contents.begin(path);
        let filled = match self.filled(path, attributes, before.as_ref()) {
            // Somebody may be about to open what is there, and is not to find it empty.
            Err(Refused::Elsewhere) if before.is_some() => self.replaced(path, before.as_ref()),
            filled => filled,
        };
        let is_gone = matches!(filled, Err(Refused::Elsewhere));
        let now = match &filled {
            Ok(filled) => Some(filled.clone()),
            Err(_) => before.filter(|_| !is_gone),
        };
        self.contents.end(path, now);
        match filled {
            Ok(_) => Ok(Ready::Yes),
            Err(Refused::Elsewhere) => {
                self.tree.look_again(path)?;
                Ok(Ready::LookAgain)
            }
            Err(refused) => Err(refused.told(&self.tree, path)),
        }
    }

    /// Puts another file, with all that is in it, in the place of the one that stands for a path:
    /// who has that open, or runs it, keeps it.
    fn replaced(&self, path: &[u8], before: Option<&Filled>) -> Result<Filled, Refused> {
        let held = self.tree.held(path);
        let now = match held.look() {
            Ok(seen) => seen.attributes,
            Err(Errno::STALE | Errno::NOENT) => return Err(Refused::Elsewhere),
            Err(errno) => return Err(errno.into()),
        };
        self.contents.room_for(now.size, before)?;
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let made = openat(&self.root, c".", flags, Mode::from_raw_mode(0o600)).map_err(errno)?;
        let file = std::fs::File::from(made);
        let filled = self.contents.write(&file, &held, now.size)?;
        let now = filled.seen.attributes;
        if self.is_superuser {
            let (uid, gid) = (Uid::from_raw(now.uid), Gid::from_raw(now.gid));
            rustix::fs::fchown(&file, Some(uid), Some(gid)).map_err(errno)?;
        }
        fchmod(&file, mode(&now)).map_err(errno)?;
        futimens(&file, &stamps(&now)).map_err(errno)?;
        let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
        let _state = self.state();
        let follow = AtFlags::SYMLINK_FOLLOW;
        linkat(CWD, &opened, &self.root, STAGED, follow).map_err(errno)?;
        let put = renameat(&self.root, STAGED, &self.root, path);
        if put.is_err() {
            let _ = unlinkat(&self.root, STAGED, AtFlags::empty());
        }
        match put {
            Err(Failure::NOENT) => return Err(Refused::Elsewhere),
            put => put.map_err(errno)?,
        }
        self.contents.forget(path);
        Ok(filled)
    }

    /// A file with several names is filled once, by the first of them.
    fn first(&self, path: &[u8], attributes: &Attributes) -> Vec<u8> {
        let first = match attributes.nlink {
            2.. => self.state().names.get(&identity(attributes)).cloned(),
            _ => None,
        };
        first.unwrap_or_else(|| path.to_vec())
    }

    /// What is in a file that was opened goes with what is told of it.
    pub(crate) fn follow(&self, path: &[u8], of: &Attributes) -> Result<Ready, Errno> {
        let path = &self.first(path, of)[..];
        match self.contents.filled(path) {
            Some(filled) if !filled.seen.is_of(of) => {}
            _ => return Ok(Ready::Yes),
        }
        match self.fill(path, of) {
            // Looking at it is free; that it has grown too large was said.
            Err(Errno::NOMEM) => Ok(Ready::Yes),
            Err(errno) if errno.0 == Failure::FBIG.raw_os_error() => Ok(Ready::Yes),
            ready => ready,
        }
    }

    /// What is told of a file: what goes with what is in it here.
    pub(crate) fn told(&self, path: &[u8], of: &Attributes) -> Attributes {
        let filled = self.contents.filled(&self.first(path, of));
        let here = filled.map(|filled| filled.seen.attributes);
        let is_it = |here: &Attributes| {
            identity(here) == identity(of) && Version::of(here) != Version::of(of)
        };
        here.filter(is_it).unwrap_or(*of)
    }

    fn filled(
        &self,
        path: &[u8],
        attributes: &Attributes,
        before: Option<&Filled>,
    ) -> Result<Filled, Refused> {
        let held = before.map_or_else(|| self.tree.held(path), |before| before.held.clone());
        let seen = match held.look() {
            Ok(seen) if identity(&seen.attributes) == identity(attributes) => seen,
            Ok(_) | Err(Errno::STALE | Errno::NOENT) => return Err(Refused::Elsewhere),
            Err(errno) => return Err(errno.into()),
        };
        let now = seen.attributes;
        if let Some(before) = before.filter(|before| before.seen.is_of(&now)) {
            return Ok(before.clone());
        }
        self.contents.room_for(now.size, before)?;
        let file = self.open_to_fill(path)?;
        let written = match before {
            Some(before) => self.contents.write_over(&file, before),
            None => self.contents.write(&file, &held, now.size),
        };
        // Whatever came of it, the file looks as it should.
        futimens(&file, &stamps(&now)).map_err(errno)?;
        fchmod(&file, mode(&now)).map_err(errno)?;
        // A file that is written cannot be executed: it is closed before anybody is told.
        drop(file);
        written
    }

    /// What stands for a file, to be written.
    fn open_to_fill(&self, path: &[u8]) -> Result<std::fs::File, Refused> {
        let bits = Mode::from_raw_mode(0o600);
        let _state = self.state();
        chmodat(&self.root, path, bits, AtFlags::empty()).map_err(errno)?;
        match self.open(path, OFlags::WRONLY) {
            // Who runs it keeps what is there.
            Err(busy) if busy.0 == Failure::TXTBSY.raw_os_error() => Err(Refused::Elsewhere),
            opened => Ok(std::fs::File::from(opened?)),
        }
    }
}

/// Whether a call can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    Yes,
    /// The name leads elsewhere by now.
    LookAgain,
}

/// Whether what stands for one of them stands for the other.
fn is_same(one: &Entry, other: &Entry) -> bool {
    let (Ok(one), Ok(other)) = (one.found, other.found) else {
        return one.found.is_err() && other.found.is_err();
    };
    let kind = |of: &Attributes| FileType::from_raw_mode(of.mode);
    identity(&one) == identity(&other) && kind(&one) == kind(&other)
}

fn names(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    let names = path.split(|byte| *byte == b'/');
    names.filter(|name| !matches!(*name, b"" | b"."))
}
