//! The operations in the form of the kernel's requests (FUSE).

use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{
    BackingId, BsdFileFlags, CopyFileRangeFlags, Errno, FileHandle, Filesystem, FopenFlags,
    Generation, INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr,
    ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen,
    ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use trawl_sys::acting::Person;

use crate::attributes::{attributes, device};
use crate::forgetting::Forgetting;
use crate::nodes::{Node, ROOT, held};
use crate::open::OpenFile;
use crate::pass::{Change, Found, Maker, Pass};
use crate::serving::Data;

/// Each read and write of a program is one request; the kernel keeps no second copy of the data.
const DIRECT: FopenFlags =
    FopenFlags::FOPEN_DIRECT_IO.union(FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);
/// `SEEK_DATA` of lseek(2).
const SEEK_DATA: i32 = 3;
/// How deep the mount may lie under and above other stacked file systems, for passing data by the
/// kernel.
const STACK_DEPTH: u32 = 2;
/// The user of requests that the kernel makes itself.
const NOBODY: u32 = u32::MAX;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The file system that is mounted.
#[derive(Debug)]
pub(crate) struct PassThrough {
    pub(crate) pass: Arc<Pass>,
    pub(crate) forgetting: Forgetting,
    /// For how long the kernel uses names and attributes without asking again.
    pub(crate) cache: Duration,
    pub(crate) data: Data,
}

fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_i32)
}

fn person(request: &Request) -> Option<Person> {
    let (uid, gid) = (request.uid(), request.gid());
    (uid != NOBODY && gid != NOBODY).then_some(Person { uid, gid })
}

fn maker(request: &Request, umask: u32) -> Maker {
    Maker {
        person: person(request),
        umask,
    }
}

fn empty(result: io::Result<()>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(&error)),
    }
}

fn xattr(size: u32, reply: ReplyXattr, get: impl FnOnce(&mut [u8]) -> io::Result<usize>) {
    with_buffer(size, |buffer| match get(buffer) {
        Ok(length) if size == 0 => reply.size(u32::try_from(length).unwrap_or(u32::MAX)),
        Ok(length) => reply.data(buffer.get(..length).unwrap_or_default()),
        Err(error) => reply.error(errno(&error)),
    });
}

/// Gives this thread's buffer to `work`.
fn with_buffer(size: u32, work: impl FnOnce(&mut [u8])) {
    BUFFER.with_borrow_mut(|buffer| {
        let size = size as usize;
        if buffer.len() < size {
            buffer.resize(size, 0);
        }
        work(buffer.get_mut(..size).unwrap_or_default());
    });
}

impl PassThrough {
    fn entry(&self, result: io::Result<Found>, reply: ReplyEntry) {
        match result {
            Ok((node, stat)) => {
                let attributes = attributes(&stat, node.number);
                reply.entry(&self.cache, &attributes, Generation(0));
                self.forgetting.look(self.pass.nodes.count());
            }
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn attr(&self, result: io::Result<Found>, reply: ReplyAttr) {
        match result {
            Ok((node, stat)) => reply.attr(&self.cache, &attributes(&stat, node.shown())),
            Err(error) => reply.error(errno(&error)),
        }
    }

    /// Returns what the kernel reads and writes itself, if it is to; `None` if it cannot. All opens of
    /// a file share it.
    fn backing(
        &self,
        node: &Node,
        open: &OpenFile,
        register: impl FnOnce() -> io::Result<BackingId>,
    ) -> Option<Arc<BackingId>> {
        if self.data != Data::Kernel {
            return None;
        }
        let mut shared = held(&node.backing);
        let backing = match shared.upgrade() {
            Some(backing) => backing,
            None => Arc::new(register().ok()?),
        };
        *shared = Arc::downgrade(&backing);
        *held(&open.backing) = Some(Arc::clone(&backing));
        Some(backing)
    }
}

impl Filesystem for PassThrough {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // What an older kernel lacks, it does differently by itself.
        let wanted = [
            InitFlags::FUSE_POSIX_ACL,
            InitFlags::FUSE_DONT_MASK,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
        ];
        for flag in wanted {
            let _ = config.add_capabilities(flag);
        }
        if self.data == Data::Kernel && config.add_capabilities(InitFlags::FUSE_PASSTHROUGH).is_ok()
        {
            let _ = config.set_max_stack_depth(STACK_DEPTH);
        }
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.entry(self.pass.lookup(parent.0, name), reply);
    }

    fn forget(&self, _: &Request, node: INodeNo, lookups: u64) {
        self.pass.nodes.forget(node.0, lookups);
    }

    fn getattr(&self, _: &Request, node: INodeNo, handle: Option<FileHandle>, reply: ReplyAttr) {
        let handle = handle.map(|handle| handle.0);
        self.attr(self.pass.attributes(node.0, handle), reply);
    }

    fn setattr(
        &self,
        request: &Request,
        node: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = Change {
            mode,
            uid,
            gid,
            size,
            atime,
            mtime,
        };
        let handle = handle.map(|handle| handle.0);
        let changed = self.pass.change(node.0, &change, handle, person(request));
        self.attr(changed, reply);
    }

    fn readlink(&self, _: &Request, node: INodeNo, reply: ReplyData) {
        match self.pass.read_link(node.0) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        let (place, maker) = ((parent.0, name), maker(request, umask));
        let made = self.pass.make_node(place, mode, device(rdev), maker);
        self.entry(made, reply);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let (place, maker) = ((parent.0, name), maker(request, umask));
        self.entry(self.pass.make_directory(place, mode, maker), reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(self.pass.remove(parent.0, name, false), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(self.pass.remove(parent.0, name, true), reply);
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let (place, maker) = ((parent.0, name), maker(request, 0));
        self.entry(self.pass.make_symlink(place, target, maker), reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (from, to) = ((parent.0, name), (new_parent.0, new_name));
        empty(self.pass.rename(from, to, flags.bits()), reply);
    }

    fn link(
        &self,
        _: &Request,
        node: INodeNo,
        new_parent: INodeNo,
        new_name: &OsStr,
        reply: ReplyEntry,
    ) {
        self.entry(self.pass.link(node.0, (new_parent.0, new_name)), reply);
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let (place, maker) = ((parent.0, name), maker(request, umask));
        let ((node, stat), handle, open) = match self.pass.create(place, mode, flags, maker) {
            Ok(created) => created,
            Err(error) => return reply.error(errno(&error)),
        };
        let (attributes, handle) = (attributes(&stat, node.number), FileHandle(handle));
        let (cache, first) = (&self.cache, Generation(0));
        match self.backing(&node, &open, || reply.open_backing(&open.file)) {
            Some(backing) => {
                let none = FopenFlags::empty();
                reply.created_passthrough(cache, &attributes, first, handle, none, &backing);
            }
            None => reply.created(cache, &attributes, first, handle, DIRECT),
        }
        self.forgetting.look(self.pass.nodes.count());
    }

    fn open(&self, _: &Request, node: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let (handle, node, open) = match self.pass.open(node.0, flags.0) {
            Ok(opened) => opened,
            Err(error) => return reply.error(errno(&error)),
        };
        let handle = FileHandle(handle);
        match self.backing(&node, &open, || reply.open_backing(&open.file)) {
            Some(backing) => reply.opened_passthrough(handle, FopenFlags::empty(), &backing),
            None => reply.opened(handle, DIRECT),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        with_buffer(size, |buffer| {
            match self.pass.read(handle.0, offset, buffer) {
                Ok(length) => reply.data(buffer.get(..length).unwrap_or_default()),
                Err(error) => reply.error(errno(&error)),
            }
        });
    }

    fn write(
        &self,
        request: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        how: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        // Pages of a mapping are written by the kernel, at a time and an offset of its own.
        let (person, flags) = match how.contains(WriteFlags::FUSE_WRITE_CACHE) {
            true => (None, 0),
            false => (person(request), flags.0),
        };
        match self.pass.write(handle.0, offset, data, flags, person) {
            Ok(length) => reply.written(u32::try_from(length).unwrap_or(u32::MAX)),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, handle: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        empty(self.pass.flush(handle.0), reply);
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.pass.release(handle.0);
        reply.ok();
    }

    fn fsync(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        is_data_only: bool,
        reply: ReplyEmpty,
    ) {
        empty(self.pass.sync(handle.0, is_data_only), reply);
    }

    fn opendir(&self, _: &Request, node: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.pass.open_directory(node.0) {
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        node: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let mut has_any = false;
        let read = self.pass.read_directory(handle.0, offset, |entry| {
            // What lies above the source is nobody's business.
            let inode = match node.0 == ROOT && entry.name == ".." {
                true => ROOT,
                false => entry.inode,
            };
            let is_full = reply.add(INodeNo(inode), entry.next, entry.kind, &entry.name);
            has_any |= !is_full;
            is_full
        });
        match read {
            Err(error) if !has_any => reply.error(errno(&error)),
            // An error behind the first entries comes again with the next request.
            _ => reply.ok(),
        }
    }

    fn releasedir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.pass.release_directory(handle.0);
        reply.ok();
    }

    fn fsyncdir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        is_data_only: bool,
        reply: ReplyEmpty,
    ) {
        empty(self.pass.sync_directory(handle.0, is_data_only), reply);
    }

    fn statfs(&self, _: &Request, node: INodeNo, reply: ReplyStatfs) {
        let stat = match self.pass.stat_fs(node.0) {
            Ok(stat) => stat,
            Err(error) => return reply.error(errno(&error)),
        };
        let small = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
        reply.statfs(
            stat.f_blocks,
            stat.f_bfree,
            stat.f_bavail,
            stat.f_files,
            stat.f_ffree,
            small(stat.f_bsize),
            small(stat.f_namelen),
            small(stat.f_frsize),
        );
    }

    fn setxattr(
        &self,
        request: &Request,
        node: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        let person = person(request);
        empty(
            self.pass.set_xattr(node.0, name, value, flags, person),
            reply,
        );
    }

    fn getxattr(&self, _: &Request, node: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        xattr(size, reply, |buffer| self.pass.xattr(node.0, name, buffer));
    }

    fn listxattr(&self, _: &Request, node: INodeNo, size: u32, reply: ReplyXattr) {
        xattr(size, reply, |buffer| self.pass.xattrs(node.0, buffer));
    }

    fn removexattr(&self, request: &Request, node: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(self.pass.remove_xattr(node.0, name, person(request)), reply);
    }

    fn fallocate(
        &self,
        request: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let (range, person) = ((offset, length), person(request));
        empty(self.pass.allocate(handle.0, range, mode, person), reply);
    }

    fn lseek(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        let Ok(offset) = u64::try_from(offset) else {
            return reply.error(Errno::ENXIO);
        };
        match self.pass.seek(handle.0, offset, whence == SEEK_DATA) {
            Ok(offset) => reply.offset(offset.cast_signed()),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn copy_file_range(
        &self,
        request: &Request,
        _: INodeNo,
        from: FileHandle,
        from_offset: u64,
        _: INodeNo,
        to: FileHandle,
        to_offset: u64,
        length: u64,
        _: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        let (from, to) = ((from.0, from_offset), (to.0, to_offset));
        match self.pass.copy(from, to, length, person(request)) {
            Ok(length) => reply.written(u32::try_from(length).unwrap_or(u32::MAX)),
            Err(error) => reply.error(errno(&error)),
        }
    }
}
