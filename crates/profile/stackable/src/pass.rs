//! Performs each operation on the file system below, with the rights of the caller.
//!
//! The kernel has checked the caller's permissions before it asks, with attributes that it has just
//! been told. So most operations are done with the server's own rights. Those that make files or take
//! space are done with the caller's ids, so that owners, quotas and reserved blocks are right, and
//! set-user-ID bits are cleared where the caller's write clears them.

use std::cell::Cell;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use fuser::TimeOrNow;
use rustix::fs::{
    AtFlags, FallocateFlags, FileType, Gid, Mode, OFlags, RenameFlags, SeekFrom, StatFs, Statx,
    Timestamps, Uid, XattrFlags,
};
use rustix::io::{Errno, IoSlice, ReadWriteFlags};
use trawl_sys::acting::{Checks, Person, acting_as, own_umask, set_umask};

use crate::attributes::wanted;
use crate::below::{Below, check_name, number, path, stat};
use crate::meter::Meter;
use crate::nodes::{Node, Nodes, held};
use crate::open::{Entry, Handles, OpenDirectory, OpenFile};
use crate::operations::Operation;

/// Flags of open(2) that are passed on. O_TRUNC arrives as a change of attributes, O_APPEND with each
/// write. O_DIRECT would need aligned memory here.
const PASSED_ON: OFlags = OFlags::RWMODE
    .union(OFlags::SYNC)
    .union(OFlags::DSYNC)
    .union(OFlags::NOATIME)
    .union(OFlags::NONBLOCK);

/// The greatest number of bytes of one copy: what the kernel's answer can say.
const COPY_BYTES_MAX: u64 = 1 << 30;

thread_local! {
    /// Whether this thread has a umask of its own.
    static HAS_UMASK: Cell<bool> = const { Cell::new(false) };
}

/// A caller that makes something: its ids and its umask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Maker {
    pub(crate) person: Option<Person>,
    pub(crate) umask: u32,
}

/// The attributes that setattr changes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Change {
    pub(crate) mode: Option<u32>,
    pub(crate) uid: Option<u32>,
    pub(crate) gid: Option<u32>,
    pub(crate) size: Option<u64>,
    pub(crate) atime: Option<TimeOrNow>,
    pub(crate) mtime: Option<TimeOrNow>,
}

/// The source, and what the kernel knows of it.
#[derive(Debug)]
pub(crate) struct Pass {
    pub(crate) below: Below,
    pub(crate) nodes: Nodes,
    pub(crate) files: Handles<OpenFile>,
    pub(crate) directories: Handles<OpenDirectory>,
    pub(crate) meter: Arc<Meter>,
}

/// A file with its attributes.
pub(crate) type Found = (Arc<Node>, Statx);

/// Does `work` as this person; as the server if the request is the kernel's own.
fn acting<T>(
    person: Option<Person>,
    checks: Checks,
    work: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    match person {
        Some(person) => acting_as(person, checks, work)?,
        None => work(),
    }
}

fn mode(bits: u32) -> Mode {
    Mode::from_bits_truncate(bits & 0o7777)
}

impl Pass {
    pub(crate) fn new(source: &Path, meter: Arc<Meter>) -> io::Result<Pass> {
        let below = Below::new()?;
        let root = below.source(source)?;
        let attributes = stat(&root)?;
        Ok(Pass {
            below,
            nodes: Nodes::new(root, &attributes),
            files: Handles::default(),
            directories: Handles::default(),
            meter,
        })
    }

    fn node(&self, number: u64) -> io::Result<Arc<Node>> {
        self.nodes.get(number).ok_or_else(|| Errno::STALE.into())
    }

    /// Returns the node of a file that was just found, for the kernel to know.
    fn known(&self, file: OwnedFd, of: &Statx, parent: u64, name: &OsStr) -> Arc<Node> {
        self.nodes.found(file, of, parent, name)
    }

    pub(crate) fn lookup(&self, parent: u64, name: &OsStr) -> io::Result<Found> {
        let (directory, name) = (self.node(parent)?, check_name(name)?);
        let (file, attributes) = self.meter.measure(Operation::Lookup, || {
            let file = self.below.find(directory.as_fd(), name)?;
            let attributes = stat(&file)?;
            io::Result::Ok((file, attributes))
        })?;
        let node = self.known(file, &attributes, parent, name);
        Ok((node, attributes))
    }

    /// Finds what was just made, without measuring it.
    fn made(&self, parent: u64, name: &OsStr) -> io::Result<Found> {
        let file = self.below.find(self.node(parent)?.as_fd(), name)?;
        let attributes = stat(&file)?;
        let node = self.known(file, &attributes, parent, name);
        Ok((node, attributes))
    }

    /// Makes something in a directory as its maker, and returns it.
    fn make(
        &self,
        operation: Operation,
        (parent, name): (u64, &OsStr),
        maker: Maker,
        work: impl FnOnce(BorrowedFd<'_>, &OsStr) -> io::Result<()>,
    ) -> io::Result<Found> {
        let (directory, name) = (self.node(parent)?, check_name(name)?);
        self.as_maker(operation, maker, || work(directory.as_fd(), name))?;
        self.made(parent, name)
    }

    fn as_maker<T>(
        &self,
        operation: Operation,
        maker: Maker,
        work: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        if !HAS_UMASK.get() {
            own_umask()?;
            HAS_UMASK.set(true);
        }
        set_umask(maker.umask);
        acting(maker.person, Checks::Done, || {
            self.meter.measure(operation, work)
        })
    }

    pub(crate) fn make_directory(
        &self,
        place: (u64, &OsStr),
        bits: u32,
        maker: Maker,
    ) -> io::Result<Found> {
        self.make(Operation::MakeDirectory, place, maker, |parent, name| {
            Ok(rustix::fs::mkdirat(parent, name, mode(bits))?)
        })
    }

    pub(crate) fn make_node(
        &self,
        place: (u64, &OsStr),
        bits: u32,
        device: u64,
        maker: Maker,
    ) -> io::Result<Found> {
        self.make(Operation::MakeNode, place, maker, |parent, name| {
            let kind = FileType::from_raw_mode(bits);
            Ok(rustix::fs::mknodat(parent, name, kind, mode(bits), device)?)
        })
    }

    pub(crate) fn make_symlink(
        &self,
        place: (u64, &OsStr),
        target: &Path,
        maker: Maker,
    ) -> io::Result<Found> {
        self.make(Operation::MakeSymlink, place, maker, |parent, name| {
            Ok(rustix::fs::symlinkat(target, parent, name)?)
        })
    }

    pub(crate) fn link(&self, number_of: u64, place: (u64, &OsStr)) -> io::Result<Found> {
        let file = self.node(number_of)?;
        let (directory, name) = (self.node(place.0)?, check_name(place.1)?);
        self.meter.measure(Operation::Link, || {
            rustix::fs::linkat(
                &self.below,
                number(file.as_fd()),
                directory.as_fd(),
                name,
                AtFlags::SYMLINK_FOLLOW,
            )
        })?;
        self.made(place.0, name)
    }

    /// Makes and opens a file. Its name is new, or the caller's permissions were not checked: then the
    /// kernel is told to look the name up again.
    pub(crate) fn create(
        &self,
        (parent, name): (u64, &OsStr),
        bits: u32,
        flags: i32,
        maker: Maker,
    ) -> io::Result<(Found, u64, Arc<OpenFile>)> {
        let (directory, name) = (self.node(parent)?, check_name(name)?);
        let asked = OFlags::from_bits_retain(flags.cast_unsigned());
        let new = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let flags = (asked & PASSED_ON) | new;
        let file = self.as_maker(Operation::Create, maker, || {
            Ok(rustix::fs::openat(
                directory.as_fd(),
                name,
                flags,
                mode(bits),
            )?)
        });
        let file = match file {
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists
                    && !asked.contains(OFlags::EXCL) =>
            {
                return Err(Errno::STALE.into());
            }
            other => other?,
        };
        let named = self.below.reopen(file.as_fd(), OFlags::PATH)?;
        let attributes = stat(&named)?;
        let node = self.known(named, &attributes, parent, name);
        let open = Arc::new(OpenFile::new(file, Arc::clone(&node)));
        let handle = self.files.add(Arc::clone(&open));
        Ok(((node, attributes), handle, open))
    }

    pub(crate) fn remove(&self, parent: u64, name: &OsStr, is_directory: bool) -> io::Result<()> {
        let (directory, name) = (self.node(parent)?, check_name(name)?);
        let (operation, flags) = match is_directory {
            true => (Operation::RemoveDirectory, AtFlags::REMOVEDIR),
            false => (Operation::Unlink, AtFlags::empty()),
        };
        let remove = || rustix::fs::unlinkat(directory.as_fd(), name, flags);
        Ok(self.meter.measure(operation, remove)?)
    }

    pub(crate) fn rename(
        &self,
        from: (u64, &OsStr),
        to: (u64, &OsStr),
        flags: u32,
    ) -> io::Result<()> {
        let (old, new) = (self.node(from.0)?, self.node(to.0)?);
        let (old_name, new_name) = (check_name(from.1)?, check_name(to.1)?);
        let flags = RenameFlags::from_bits_retain(flags);
        let rename =
            || rustix::fs::renameat_with(old.as_fd(), old_name, new.as_fd(), new_name, flags);
        Ok(self.meter.measure(Operation::Rename, rename)?)
    }

    pub(crate) fn attributes(&self, of: u64, handle: Option<u64>) -> io::Result<Found> {
        let node = self.node(of)?;
        let open = handle.and_then(|handle| self.files.get(handle).ok());
        let attributes = self
            .meter
            .measure(Operation::GetAttributes, || match &open {
                Some(open) => stat(&open.file),
                None => stat(&*node),
            })?;
        Ok((node, attributes))
    }

    pub(crate) fn change(
        &self,
        of: u64,
        change: &Change,
        handle: Option<u64>,
        person: Option<Person>,
    ) -> io::Result<Found> {
        let node = self.node(of)?;
        let open = handle.and_then(|handle| self.files.get(handle).ok());
        let attributes = self.meter.measure(Operation::SetAttributes, || {
            self.change_owner_and_mode(&node, change)?;
            if let Some(size) = change.size {
                self.truncate(&node, open.as_deref(), size, person)?;
            }
            if change.atime.is_some() || change.mtime.is_some() {
                let times = Timestamps {
                    last_access: wanted(change.atime),
                    last_modification: wanted(change.mtime),
                };
                let name = number(node.as_fd());
                rustix::fs::utimensat(&self.below, name, &times, AtFlags::empty())?;
            }
            stat(&*node)
        })?;
        Ok((node, attributes))
    }

    fn change_owner_and_mode(&self, node: &Node, change: &Change) -> io::Result<()> {
        if change.uid.is_some() || change.gid.is_some() {
            let (uid, gid) = (change.uid.map(Uid::from_raw), change.gid.map(Gid::from_raw));
            rustix::fs::chownat(node.as_fd(), c"", uid, gid, AtFlags::EMPTY_PATH)?;
        }
        // The owner first: changing it clears bits of the mode.
        if let Some(bits) = change.mode {
            let name = number(node.as_fd());
            rustix::fs::chmodat(&self.below, name, mode(bits), AtFlags::empty())?;
        }
        Ok(())
    }

    fn truncate(
        &self,
        node: &Node,
        open: Option<&OpenFile>,
        size: u64,
        person: Option<Person>,
    ) -> io::Result<()> {
        let opened;
        let file = match open {
            Some(open) => &open.file,
            None => {
                let flags = OFlags::WRONLY | OFlags::NONBLOCK;
                opened = self.below.reopen(node.as_fd(), flags)?;
                &opened
            }
        };
        acting(person, Checks::Ids, || {
            Ok(rustix::fs::ftruncate(file, size)?)
        })
    }

    pub(crate) fn read_link(&self, of: u64) -> io::Result<Vec<u8>> {
        let node = self.node(of)?;
        let read = || rustix::fs::readlinkat(node.as_fd(), c"", Vec::new());
        Ok(self.meter.measure(Operation::ReadLink, read)?.into_bytes())
    }

    pub(crate) fn open(&self, of: u64, flags: i32) -> io::Result<(u64, Arc<Node>, Arc<OpenFile>)> {
        let node = self.node(of)?;
        let flags = OFlags::from_bits_retain(flags.cast_unsigned()) & PASSED_ON;
        let open = || self.below.reopen(node.as_fd(), flags);
        let file = self.meter.measure(Operation::Open, open)?;
        let open = Arc::new(OpenFile::new(file, Arc::clone(&node)));
        let handle = self.files.add(Arc::clone(&open));
        Ok((handle, node, open))
    }

    /// Reads into the buffer and returns the number of bytes.
    pub(crate) fn read(&self, handle: u64, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let open = self.files.get(handle)?;
        let read = || rustix::io::pread(&open.file, &mut *into, offset);
        Ok(self.meter.measure(Operation::Read, read)?)
    }

    pub(crate) fn write(
        &self,
        handle: u64,
        offset: u64,
        data: &[u8],
        flags: i32,
        person: Option<Person>,
    ) -> io::Result<usize> {
        let open = self.files.get(handle)?;
        let flags = OFlags::from_bits_retain(flags.cast_unsigned());
        acting(person, Checks::Ids, || {
            let written =
                self.meter
                    .measure(Operation::Write, || match flags.contains(OFlags::APPEND) {
                        true => {
                            let parts = [IoSlice::new(data)];
                            rustix::io::pwritev2(&open.file, &parts, offset, ReadWriteFlags::APPEND)
                        }
                        false => rustix::io::pwrite(&open.file, data, offset),
                    });
            Ok(written?)
        })
    }

    /// Closes a duplicate, at which the file system below may report late errors.
    pub(crate) fn flush(&self, handle: u64) -> io::Result<()> {
        let open = self.files.get(handle)?;
        let copy = rustix::io::fcntl_dupfd_cloexec(&open.file, 0)?;
        self.meter.measure(Operation::Flush, || drop(copy));
        Ok(())
    }

    pub(crate) fn release(&self, handle: u64) {
        let open = self.files.remove(handle);
        self.meter.measure(Operation::Release, || drop(open));
    }

    pub(crate) fn sync(&self, handle: u64, is_data_only: bool) -> io::Result<()> {
        let open = self.files.get(handle)?;
        let sync = || sync(&open.file, is_data_only);
        self.meter.measure(Operation::Sync, sync)
    }

    pub(crate) fn open_directory(&self, of: u64) -> io::Result<u64> {
        let node = self.node(of)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let open = || self.below.reopen(node.as_fd(), flags);
        let file = self.meter.measure(Operation::OpenDirectory, open)?;
        Ok(self.directories.add(Arc::new(OpenDirectory::new(file))))
    }

    /// Gives the entries behind an offset to `add`, until it says that there is no room.
    pub(crate) fn read_directory(
        &self,
        handle: u64,
        offset: u64,
        mut add: impl FnMut(&Entry) -> bool,
    ) -> io::Result<()> {
        let open = self.directories.get(handle)?;
        let mut reading = held(&open.reading);
        reading.go(&open.file, offset)?;
        loop {
            if reading.ahead.is_empty() {
                let fill = || reading.fill(&open.file);
                self.meter.measure(Operation::ReadDirectory, fill)?;
            }
            let Some(entry) = reading.ahead.front() else {
                return Ok(());
            };
            if add(entry) {
                return Ok(());
            }
            reading.at = entry.next;
            reading.ahead.pop_front();
        }
    }

    pub(crate) fn release_directory(&self, handle: u64) {
        let open = self.directories.remove(handle);
        self.meter
            .measure(Operation::ReleaseDirectory, || drop(open));
    }

    pub(crate) fn sync_directory(&self, handle: u64, is_data_only: bool) -> io::Result<()> {
        let open = self.directories.get(handle)?;
        let sync = || sync(&open.file, is_data_only);
        self.meter.measure(Operation::SyncDirectory, sync)
    }

    pub(crate) fn stat_fs(&self, of: u64) -> io::Result<StatFs> {
        let node = self.node(of)?;
        let ask = || rustix::fs::fstatfs(node.as_fd());
        Ok(self.meter.measure(Operation::StatFs, ask)?)
    }

    pub(crate) fn set_xattr(
        &self,
        of: u64,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        person: Option<Person>,
    ) -> io::Result<()> {
        let node = self.node(of)?;
        let (path, flags) = (
            path(node.as_fd()),
            XattrFlags::from_bits_retain(flags.cast_unsigned()),
        );
        acting(person, Checks::Done, || {
            let set = || rustix::fs::setxattr(&path, name, value, flags);
            Ok(self.meter.measure(Operation::SetXattr, set)?)
        })
    }

    /// Reads an attribute into the buffer; only asks for its size if the buffer is empty.
    pub(crate) fn xattr(&self, of: u64, name: &OsStr, into: &mut [u8]) -> io::Result<usize> {
        let node = self.node(of)?;
        let path = path(node.as_fd());
        let get = || match into.is_empty() {
            true => rustix::fs::getxattr_query(&path, name),
            false => rustix::fs::getxattr(&path, name, into),
        };
        Ok(self.meter.measure(Operation::GetXattr, get)?)
    }

    /// Lists attributes into the buffer; only asks for the size if the buffer is empty.
    pub(crate) fn xattrs(&self, of: u64, into: &mut [u8]) -> io::Result<usize> {
        let node = self.node(of)?;
        let path = path(node.as_fd());
        let list = || match into.is_empty() {
            true => rustix::fs::listxattr_query(&path),
            false => rustix::fs::listxattr(&path, into),
        };
        Ok(self.meter.measure(Operation::ListXattr, list)?)
    }

    pub(crate) fn remove_xattr(
        &self,
        of: u64,
        name: &OsStr,
        person: Option<Person>,
    ) -> io::Result<()> {
        let node = self.node(of)?;
        let path = path(node.as_fd());
        acting(person, Checks::Done, || {
            let remove = || rustix::fs::removexattr(&path, name);
            Ok(self.meter.measure(Operation::RemoveXattr, remove)?)
        })
    }

    pub(crate) fn allocate(
        &self,
        handle: u64,
        (offset, length): (u64, u64),
        mode: i32,
        person: Option<Person>,
    ) -> io::Result<()> {
        let open = self.files.get(handle)?;
        let mode = FallocateFlags::from_bits_retain(mode.cast_unsigned());
        acting(person, Checks::Ids, || {
            let allocate = || rustix::fs::fallocate(&open.file, mode, offset, length);
            Ok(self.meter.measure(Operation::Allocate, allocate)?)
        })
    }

    /// Finds data or a hole: the kernel itself answers the other ways to seek.
    pub(crate) fn seek(&self, handle: u64, offset: u64, is_for_data: bool) -> io::Result<u64> {
        let open = self.files.get(handle)?;
        let from = match is_for_data {
            true => SeekFrom::Data(offset),
            false => SeekFrom::Hole(offset),
        };
        let seek = || rustix::fs::seek(&open.file, from);
        Ok(self.meter.measure(Operation::Seek, seek)?)
    }

    pub(crate) fn copy(
        &self,
        (from, mut from_offset): (u64, u64),
        (to, mut to_offset): (u64, u64),
        length: u64,
        person: Option<Person>,
    ) -> io::Result<usize> {
        let (from, to) = (self.files.get(from)?, self.files.get(to)?);
        let length = usize::try_from(length.min(COPY_BYTES_MAX)).unwrap_or(usize::MAX);
        acting(person, Checks::Ids, || {
            let copied = self.meter.measure(Operation::CopyRange, || {
                rustix::fs::copy_file_range(
                    &from.file,
                    Some(&mut from_offset),
                    &to.file,
                    Some(&mut to_offset),
                    length,
                )
            });
            Ok(copied?)
        })
    }
}

fn sync(file: &OwnedFd, is_data_only: bool) -> io::Result<()> {
    let synced = match is_data_only {
        true => rustix::fs::fdatasync(file),
        false => rustix::fs::fsync(file),
    };
    Ok(synced?)
}
