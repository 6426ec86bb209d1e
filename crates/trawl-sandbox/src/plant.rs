//! Names and contents, put into the file system in memory when they are first needed.
//!
//! A directory is planted once, with all names that the server said; what stands for a file has
//! its length and nothing in it until it is opened. Nobody but this process can write there.

use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, chmodat, chownat, fchmod, ftruncate,
    futimens, linkat, mkdirat, mknodat, openat, symlinkat, utimensat,
};
use rustix::io::Errno as Failure;
use trawl_call::Attributes;
use trawl_mount::tree::{Entry, is_directory, is_link};
use trawl_mount::{ExtendedAttributes, Tree};
use trawl_sys::Errno;

use crate::contents::{Contents, Refused};

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
    listed: HashSet<Vec<u8>>,
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

    /// Plants what is in a directory.
    fn list(&self, dir: &[u8], attributes: &Attributes) -> Result<(), Errno> {
        if self.state().listed.contains(dir) {
            return Ok(());
        }
        let listing = self.tree.listing(dir)?;
        let mut state = self.state();
        if state.listed.contains(dir) {
            return Ok(());
        }
        match listing.trouble {
            // Who may not list may pass.
            Some(Errno::ACCES) => {
                state.shut.insert(dir.to_vec());
            }
            Some(trouble) => return Err(trouble),
            None => {
                let here = self.open(dir, OFlags::DIRECTORY | OFlags::RDONLY)?;
                let all = Mode::from_raw_mode(0o700);
                fchmod(&here, all).map_err(errno)?;
                for entry in &listing.entries {
                    self.plant(&mut state, &here, dir, entry)?;
                }
                self.dress(&here, b".", attributes)?;
            }
        }
        state.listed.insert(dir.to_vec());
        Ok(())
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

    /// Puts into a file what is in it; refuses a directory that may not be listed.
    pub(crate) fn fill(&self, path: &[u8], attributes: &Attributes) -> Result<(), Errno> {
        match FileType::from_raw_mode(attributes.mode) {
            FileType::RegularFile => {}
            // The kernel here, which may let them, would show nothing.
            FileType::Directory if self.state().shut.contains(path) => return Err(Errno::ACCES),
            _ => return Ok(()),
        }
        // A file with several names is filled once, by the first of them.
        let first = match attributes.nlink {
            2.. => self.state().names.get(&identity(attributes)).cloned(),
            _ => None,
        };
        let path = first.as_deref().unwrap_or(path);
        if !self.contents.begin(path) {
            return Ok(());
        }
        let filled = self.filled(path, attributes);
        self.contents.end(path, filled.is_ok());
        filled.map_err(|refused| refused.told(&self.tree, path))
    }

    fn filled(&self, path: &[u8], attributes: &Attributes) -> Result<(), Refused> {
        self.contents.room_for(attributes.size)?;
        let content = self.tree.content(path);
        content.begin()?;
        let bits = Mode::from_raw_mode(0o600);
        let state = self.state();
        chmodat(&self.root, path, bits, AtFlags::empty()).map_err(errno)?;
        let opened = self.open(path, OFlags::WRONLY);
        drop(state);
        let file = std::fs::File::from(opened?);
        let written = self.contents.write(&file, &content, attributes.size);
        // Whatever came of it, the file looks as it should.
        futimens(&file, &stamps(attributes)).map_err(errno)?;
        fchmod(&file, mode(attributes)).map_err(errno)?;
        // A file that is written cannot be executed: it is closed before anybody is told.
        drop(file);
        written
    }
}

fn names(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    let names = path.split(|byte| *byte == b'/');
    names.filter(|name| !matches!(*name, b"" | b"."))
}
