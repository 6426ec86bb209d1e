//! Fills files with their contents before a call opens them, and again when they have changed.
//!
//! Each opening asks the server after it has got the turn to fill the file, so its answer is never
//! older than that of the previous opening. A file that the server has replaced is replaced here as
//! a whole.
//!
//! Invariant: something is put at a path only while the planted listing has this file there. The
//! kernel refuses names that a listing lacks without asking this process, so a file left at such a
//! name would be shown in its old state.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, Uid, chmodat, fchmod, fchown, fstat, futimens,
    linkat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno as Failure;
use trawl_call::Attributes;
use trawl_model::relative_path::split;
use trawl_mount::tree::{OpenFile, Version};
use trawl_sys::Errno;

use crate::contents::{Filled, Gathered, Refused};
use crate::plant::{Plant, Ready, State, errno, identity, mode, stamps};

/// Temporary name of a file that is about to replace another one.
const STAGED: &std::ffi::CStr = c".trawl-staged";

impl Plant {
    /// Fills a file with its current contents; fails for a directory that may not be listed.
    pub(crate) fn fill(&self, path: &[u8], attributes: &Attributes) -> Result<Ready, Errno> {
        let kind = FileType::from_raw_mode(attributes.mode);
        {
            let mut state = self.state();
            if kind == FileType::Directory {
                // The kernel might allow listing it here, and would show an empty directory.
                let is_shut = state.shut.contains(path);
                return if is_shut {
                    Err(Errno::ACCES)
                } else {
                    Ok(Ready::Yes)
                };
            }
            if state.shut.contains(split(path).0) {
                return Err(Errno::NOENT);
            }
            state.awaited.insert(path);
        }
        if kind != FileType::RegularFile {
            return Ok(Ready::Yes);
        }
        let first = &self.first(path, attributes)[..];
        let before = self.contents.begin(first);
        let filled = self.filled(first, attributes, before.as_ref());
        let now = filled.as_ref().ok().cloned().flatten();
        let is_there = self.contents.end(first, now);
        match filled {
            Ok(_) if is_there => Ok(Ready::Yes),
            Ok(_) => Ok(Ready::LookAgain),
            Err(Refused::Elsewhere | Refused::Failed(Errno::STALE | Errno::NOENT)) => {
                if first != path {
                    // The first name leads elsewhere; from now on this name stands for itself.
                    self.state().names.remove(&identity(attributes));
                }
                self.tree.look_again(path)?;
                Ok(Ready::LookAgain)
            }
            Err(refused) => Err(refused.told(&self.tree, path)),
        }
    }

    /// Makes a file have its current contents; `None` if it already has.
    fn filled(
        &self,
        path: &[u8],
        attributes: &Attributes,
        before: Option<&Filled>,
    ) -> Result<Option<Filled>, Refused> {
        let wanted = identity(attributes);
        let held = before.map_or_else(|| self.tree.held(path), |before| before.held.clone());
        let now = match held.look() {
            Ok(seen) if identity(&seen.attributes) == wanted => seen.attributes,
            // Another program may be about to open the file at the path, and must not find it
            // empty.
            Ok(_) | Err(Errno::STALE | Errno::NOENT) if before.is_some() => {
                return self.replaced(path, wanted, before).map(Some);
            }
            Ok(_) | Err(Errno::STALE | Errno::NOENT) => return Err(Refused::Elsewhere),
            Err(errno) => return Err(errno.into()),
        };
        if before.is_some_and(|before| before.seen.is_of(&now)) {
            return Ok(None);
        }
        self.contents.room_for(now.size, before)?;
        let (file, written) = match self.write(path, wanted, before, (&held, now.size)) {
            // A program that executes the old file keeps it.
            Err(Refused::Busy) => return self.replaced(path, wanted, before).map(Some),
            written => written?,
        };
        // Whatever the result, the file gets its attributes.
        let now = written
            .as_ref()
            .map_or(now, |filled| filled.seen.attributes);
        futimens(&file, &stamps(&now)).map_err(errno)?;
        fchmod(&file, mode(&now)).map_err(errno)?;
        // A file that is open for writing cannot be executed, so it is closed before the call
        // continues.
        drop(file);
        written.map(Some)
    }

    /// Replaces the file at a path by another one with complete contents. Programs that have the
    /// old file open, or execute it, keep it.
    fn replaced(
        &self,
        path: &[u8],
        wanted: (u64, u64),
        before: Option<&Filled>,
    ) -> Result<Filled, Refused> {
        let held = self.tree.held(path);
        let now = held.look()?.attributes;
        if identity(&now) != wanted {
            return Err(Refused::Elsewhere);
        }
        self.contents.room_for(now.size, before)?;
        let file = {
            let _state = self.state();
            self.within(split(path).0, |here| self.staged(here))?
        };
        let filled = self.write_staged(&file, &held, now.size)?;
        let state = self.state();
        if !self.may_fill(&state, path, wanted) {
            return Err(Refused::Elsewhere);
        }
        self.within(split(path).0, |here| self.put(here, split(path).1, &file))?;
        Ok(filled)
    }

    /// Plants a new file with complete contents at a free name. A program that opened an earlier
    /// file of that name, or was told that there is none, must not find the file empty.
    pub(crate) fn plant_filled(
        &self,
        here: &OwnedFd,
        path: &[u8],
        attributes: &Attributes,
    ) -> Result<(), Refused> {
        let held = self.tree.held(path);
        let now = held.look()?.attributes;
        if identity(&now) != identity(attributes) {
            return Err(Refused::Elsewhere);
        }
        self.contents.room_for(now.size, None)?;
        let file = self.staged(here)?;
        let filled = self.write_staged(&file, &held, now.size)?;
        self.put(here, split(path).1, &file)?;
        self.contents.put(path, filled);
        Ok(())
    }

    /// Returns whether this file is planted at a path, and has not been replaced since the filling
    /// call began.
    fn may_fill(&self, state: &State, path: &[u8], wanted: (u64, u64)) -> bool {
        state
            .planted(path)
            .is_some_and(|of| identity(&of) == wanted)
            && self.contents.is_there(path)
    }

    /// Creates a file without a name in a writable directory.
    fn staged(&self, here: &OwnedFd) -> Result<File, Refused> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let made = openat(here, c".", flags, Mode::from_raw_mode(0o600)).map_err(errno)?;
        Ok(File::from(made))
    }

    fn write_staged(&self, file: &File, held: &OpenFile, size: u64) -> Result<Filled, Refused> {
        let filled = self.contents.write(file, held, size)?;
        let now = filled.seen.attributes;
        if self.is_superuser {
            let (uid, gid) = (Uid::from_raw(now.uid), Gid::from_raw(now.gid));
            fchown(file, Some(uid), Some(gid)).map_err(errno)?;
        }
        fchmod(file, mode(&now)).map_err(errno)?;
        futimens(file, &stamps(&now)).map_err(errno)?;
        Ok(filled)
    }

    /// Gives a file without a name this name, replacing any other file.
    fn put(&self, here: &OwnedFd, name: &[u8], file: &File) -> Result<(), Refused> {
        let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
        linkat(CWD, &opened, here, STAGED, AtFlags::SYMLINK_FOLLOW).map_err(errno)?;
        let put = renameat(here, STAGED, here, name);
        if put.is_err() {
            let _ = unlinkat(here, STAGED, AtFlags::empty());
        }
        Ok(put.map_err(errno)?)
    }

    /// Runs `work` in a directory that is made writable for it. The caller holds the lock of the
    /// state.
    fn within<T>(
        &self,
        dir: &[u8],
        work: impl FnOnce(&OwnedFd) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let here = self.open(dir, OFlags::DIRECTORY | OFlags::RDONLY)?;
        let bits = Mode::from_raw_mode(fstat(&here).map_err(errno)?.st_mode);
        fchmod(&here, bits | Mode::RWXU).map_err(errno)?;
        let done = work(&here);
        fchmod(&here, bits).map_err(errno)?;
        done
    }

    /// Returns the name under which a file with several names is filled: the first planted one.
    fn first(&self, path: &[u8], attributes: &Attributes) -> Vec<u8> {
        let first = match attributes.nlink {
            2.. => {
                let state = self.state();
                let first = state.names.get(&identity(attributes)).cloned();
                first.filter(|first| self.is_one(first, path))
            }
            _ => None,
        };
        first.unwrap_or_else(|| path.to_vec())
    }

    /// Returns whether two names lead to the same file here; one of them may have been replaced.
    fn is_one(&self, one: &[u8], other: &[u8]) -> bool {
        let number = |path| statat(&self.root, path, AtFlags::SYMLINK_NOFOLLOW).map(|it| it.st_ino);
        matches!((number(one), number(other)), (Ok(one), Ok(other)) if one == other)
    }

    /// Returns whether the open file that the kernel's link leads to is the one planted at this
    /// path.
    pub(crate) fn is_open(&self, path: &[u8], link: &str) -> bool {
        let here = match path {
            b"" => fstat(&self.root),
            path => statat(&self.root, path, AtFlags::SYMLINK_NOFOLLOW),
        };
        let open = statat(CWD, link, AtFlags::empty());
        let is_one =
            |one: Stat, other: Stat| (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino);
        matches!((here, open), (Ok(here), Ok(open)) if is_one(here, open))
    }

    /// Refreshes the contents of an opened file before its new attributes are told.
    pub(crate) fn follow(&self, path: &[u8], of: &Attributes) -> Result<Ready, Errno> {
        match self.contents.filled(&self.first(path, of)) {
            Some(filled) if !filled.seen.is_of(of) => {}
            _ => return Ok(Ready::Yes),
        }
        match self.fill(path, of) {
            // Getting the attributes needs no memory; the user was already told that the file is
            // too large.
            Err(Errno::NOMEM) => Ok(Ready::Yes),
            Err(errno) if errno.0 == Failure::FBIG.raw_os_error() => Ok(Ready::Yes),
            ready => ready,
        }
    }

    /// Returns the attributes to tell for a file: those that belong to its contents here.
    pub(crate) fn told(&self, path: &[u8], of: &Attributes) -> Attributes {
        let filled = self.contents.filled(&self.first(path, of));
        let here = filled.map(|filled| filled.seen.attributes);
        let is_it = |here: &Attributes| {
            identity(here) == identity(of) && Version::of(here) != Version::of(of)
        };
        here.filter(is_it).unwrap_or(*of)
    }

    /// Writes the current contents of a file in place. Contents that are already there are not
    /// written again: a program may be about to execute the file.
    fn write(
        &self,
        path: &[u8],
        wanted: (u64, u64),
        before: Option<&Filled>,
        (held, size): (&OpenFile, u64),
    ) -> Result<(File, Result<Filled, Refused>), Refused> {
        let Some(before) = before else {
            let file = self.open_to_fill(path, wanted, OFlags::WRONLY)?;
            let written = self.contents.write(&file, held, size);
            return Ok((file, written));
        };
        let now = Gathered::of(&before.held, self.contents.most_bytes())?;
        let file = self.open_to_fill(path, wanted, OFlags::RDONLY)?;
        if now.is_in(&file) {
            return Ok((file, Ok(self.contents.keep(path, now))));
        }
        let file = self.open_to_fill(path, wanted, OFlags::WRONLY)?;
        let written = self.contents.write_over(path, &file, now);
        Ok((file, written))
    }

    /// Opens the file planted at a path. If its name is removed later, that removes this file's
    /// name.
    fn open_to_fill(
        &self,
        path: &[u8],
        wanted: (u64, u64),
        flags: OFlags,
    ) -> Result<File, Refused> {
        let state = self.state();
        if !self.may_fill(&state, path, wanted) {
            return Err(Refused::Elsewhere);
        }
        // Keeps the execute permission of those who have it.
        let now = statat(&self.root, path, AtFlags::SYMLINK_NOFOLLOW).map_err(errno)?;
        let bits = Mode::from_raw_mode(now.st_mode) | Mode::RUSR | Mode::WUSR;
        chmodat(&self.root, path, bits, AtFlags::empty()).map_err(errno)?;
        match self.open(path, flags) {
            Err(busy) if busy.0 == Failure::TXTBSY.raw_os_error() => Err(Refused::Busy),
            opened => Ok(File::from(opened?)),
        }
    }
}

#[cfg(test)]
mod tests;
