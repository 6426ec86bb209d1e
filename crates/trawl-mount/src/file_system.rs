//! The tree as the kernel asks for it (FUSE).
//!
//! The kernel keeps what it is told as long as that may be told, so most questions never come
//! here; those that do are answered from memory where the bulk answers have it. Directories are
//! not opened (`ENOSYS`): the kernel keeps their names, and an offset says which listing it is
//! of, so that one that is replaced meanwhile is read to its end.
//!
//! Permissions are the kernel's to check (`default_permissions`), after the server's own.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyDirectoryPlus,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyXattr, Request,
};
use trawl_call::Attributes;
use trawl_sys::stat::Time;

use crate::nodes::{Nodes, TOP};
use crate::serving::Mounted;
use crate::tree::{Asking, Content, Entry, Listing, Tree, join, split};

/// What is asked of the kernel: names of directories and targets of links are kept, attributes
/// come with names, contents that have changed are read again.
const CAPABILITIES: [InitFlags; 6] = [
    InitFlags::FUSE_NO_OPENDIR_SUPPORT,
    InitFlags::FUSE_DO_READDIRPLUS,
    InitFlags::FUSE_READDIRPLUS_AUTO,
    InitFlags::FUSE_AUTO_INVAL_DATA,
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_CACHE_SYMLINKS,
];
/// Reads that may be on their way.
const BACKGROUND: u16 = 32;
/// Opened files of which it is known that they can be read; at so many all are forgotten.
const OPENED_MAX: usize = 16 << 10;
/// Where in an offset the listing's number is.
const NUMBER_SHIFT: u32 = 32;
const NUMBER_MASK: u64 = 0x7fff_ffff;
const PLACE_MASK: u64 = 0xffff_ffff;

/// What is shown as the number of a name of which nothing else is known.
const UNKNOWN: u64 = u64::MAX;

/// A file that was opened a moment ago, as it was then.
type Opened = (Instant, Time, u64);

/// A tree, for the kernel.
pub(crate) struct RemoteFiles {
    tree: Tree,
    nodes: Arc<Nodes>,
    is_probed: Arc<AtomicBool>,
    contents: Mutex<HashMap<u64, Content>>,
    next_handle: AtomicU64,
    opened: Mutex<HashMap<Vec<u8>, Opened>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn errno(errno: trawl_sys::Errno) -> Errno {
    Errno::from_i32(errno.0)
}

/// Gives the bytes, or how many they are if there is no room for any.
fn answer_sized(found: Result<Vec<u8>, Errno>, room: u32, reply: ReplyXattr) {
    match found {
        Err(errno) => reply.error(errno),
        Ok(bytes) if room == 0 => reply.size(u32::try_from(bytes.len()).unwrap_or(u32::MAX)),
        Ok(bytes) if bytes.len() > room as usize => reply.error(Errno::ERANGE),
        Ok(bytes) => reply.data(&bytes),
    }
}

impl RemoteFiles {
    pub(crate) fn new(mounted: &Mounted) -> RemoteFiles {
        RemoteFiles {
            nodes: Arc::clone(&mounted.nodes),
            is_probed: Arc::clone(&mounted.is_probed),
            tree: mounted.tree.clone(),
            contents: Mutex::default(),
            next_handle: AtomicU64::new(1),
            opened: Mutex::default(),
        }
    }

    fn path(&self, number: INodeNo) -> Result<Vec<u8>, Errno> {
        self.nodes.path(number.0).ok_or(Errno::ESTALE)
    }

    /// Tells of a name in a directory.
    fn find(&self, parent: INodeNo, name: &OsStr, tell: impl Tell) -> Result<(), Errno> {
        let (dir, name) = (self.path(parent)?, name.as_bytes());
        let known = self.tree.lookup(&dir, name).map_err(errno)?;
        let telling = self.tree.telling(&dir, [known.asked, known.at]);
        let Some(attributes) = known.what else {
            tell(&absent(), telling.absence());
            return Ok(());
        };
        let number = self.nodes.tell(&join(&dir, name), &attributes);
        let lasts = telling.entry(name, &attributes);
        tell(&file_attr(number, &attributes), lasts);
        Ok(())
    }

    /// Tells what stat(2) says of a number.
    fn attributes(&self, number: INodeNo, tell: impl Tell) -> Result<(), Errno> {
        let path = self.path(number)?;
        let known = self.tree.attributes(&path).map_err(errno)?;
        let times = [known.asked, known.at];
        if number.0 == TOP {
            let telling = self.tree.telling(b"", times);
            tell(&file_attr(known.what.ino, &known.what), telling.own());
        } else {
            let (dir, name) = split(&path);
            let telling = self.tree.telling(dir, times);
            let lasts = telling.entry(name, &known.what);
            tell(&file_attr(number.0, &known.what), lasts);
        }
        Ok(())
    }

    /// The listing that an offset is of, and where in it.
    fn listing(&self, number: INodeNo, offset: u64) -> Result<(Directory, u64), Errno> {
        let path = self.path(number)?;
        let listing = match offset {
            0 => self.tree.listing(&path).map_err(errno)?,
            offset => {
                let wanted = offset >> NUMBER_SHIFT;
                let found = self
                    .tree
                    .again(&path, |it| it.names() & NUMBER_MASK == wanted);
                // Better an error than names left out.
                found.ok_or(Errno::ESTALE)?
            }
        };
        if let Some(trouble) = listing.trouble {
            return Err(errno(trouble));
        }
        let dots = dots(&self.tree, &self.nodes, &path).map_err(errno)?;
        let directory = Directory {
            path,
            dots,
            listing,
        };
        Ok((directory, offset & PLACE_MASK))
    }

    fn open_file(&self, number: INodeNo) -> Result<(u64, FopenFlags), Errno> {
        let path = self.path(number)?;
        let known = self.tree.attributes(&path).map_err(errno)?;
        let content = self.tree.content(&path);
        let (mtime, size) = (known.what.mtime, known.what.size);
        let mut flags = FopenFlags::FOPEN_KEEP_CACHE;
        if size == 0 || !self.was_opened(&path, &known.what) {
            let at = Instant::now();
            let there = content.begin().map_err(errno)?;
            if size == 0 && there > 0 {
                // As in /proc: its size says nothing.
                flags = FopenFlags::FOPEN_DIRECT_IO;
            }
            let mut opened = lock(&self.opened);
            if opened.len() >= OPENED_MAX {
                opened.clear();
            }
            opened.insert(path, (at, mtime, size));
        }
        let handle = self.next_handle.fetch_add(1, Ordering::Relaxed);
        lock(&self.contents).insert(handle, content);
        Ok((handle, flags))
    }

    /// Whether it was opened a moment ago, or is watched, and is as it was.
    fn was_opened(&self, path: &[u8], now: &Attributes) -> bool {
        let opened = lock(&self.opened).get(path).copied();
        let Some((at, mtime, size)) = opened else {
            return false;
        };
        let (dir, name) = split(path);
        let lasts = self.tree.telling(dir, [at, at]).entry(name, now);
        !lasts.is_zero() && (mtime, size) == (now.mtime, now.size)
    }
}

/// Says something to the kernel, and how long it may believe that.
trait Tell: FnOnce(&FileAttr, Duration) {}

impl<T: FnOnce(&FileAttr, Duration)> Tell for T {}

/// The numbers that a directory shows of itself and of the one above.
pub(crate) fn dots(tree: &Tree, nodes: &Nodes, path: &[u8]) -> Result<[u64; 2], trawl_sys::Errno> {
    let above = path.iter().rposition(|byte| *byte == b'/');
    let shown = |path: &[u8]| {
        let known = tree.attributes(path);
        known.map(|known| match path {
            b"" => known.what.ino,
            _ => nodes.number(&known.what),
        })
    };
    Ok([shown(path)?, shown(&path[..above.unwrap_or(0)])?])
}

pub(crate) fn below(dir: &[u8], name: &[u8]) -> Vec<u8> {
    match dir {
        b"" => name.to_vec(),
        dir => [dir, b"/", name].concat(),
    }
}

/// A directory that is read.
struct Directory {
    path: Vec<u8>,
    /// Its number and that of the directory above.
    dots: [u64; 2],
    listing: Arc<Listing>,
}

/// What stands at a place in a directory.
enum Item<'a> {
    /// `.` or `..`, and its number.
    Dots(&'static str, u64),
    Entry(&'a Entry),
}

impl Directory {
    fn get(&self, place: u64) -> Option<Item<'_>> {
        match place {
            0 => Some(Item::Dots(".", self.dots[0])),
            1 => Some(Item::Dots("..", self.dots[1])),
            place => {
                let at = usize::try_from(place - 2).ok()?;
                self.listing.entries.get(at).map(Item::Entry)
            }
        }
    }

    /// What an offset behind a place is.
    fn behind(&self, place: u64) -> u64 {
        (self.listing.names() & NUMBER_MASK) << NUMBER_SHIFT | (place + 1)
    }
}

fn time(time: Time) -> SystemTime {
    let since = Duration::from_secs(time.secs.unsigned_abs());
    let whole = match time.secs < 0 {
        true => UNIX_EPOCH.checked_sub(since),
        false => UNIX_EPOCH.checked_add(since),
    };
    let nanos = Duration::from_nanos(time.nanos.into());
    let exact = whole.and_then(|whole| whole.checked_add(nanos));
    exact.unwrap_or(UNIX_EPOCH)
}

fn kind(mode: u32) -> FileType {
    match mode & 0o170_000 {
        0o040_000 => FileType::Directory,
        0o120_000 => FileType::Symlink,
        0o060_000 => FileType::BlockDevice,
        0o020_000 => FileType::CharDevice,
        0o010_000 => FileType::NamedPipe,
        0o140_000 => FileType::Socket,
        _ => FileType::RegularFile,
    }
}

pub(crate) fn file_attr(number: u64, of: &Attributes) -> FileAttr {
    FileAttr {
        ino: INodeNo(number),
        size: of.size,
        blocks: of.blocks,
        atime: time(of.atime),
        mtime: time(of.mtime),
        ctime: time(of.ctime),
        crtime: UNIX_EPOCH,
        kind: kind(of.mode),
        perm: (of.mode & 0o7777) as u16,
        nlink: u32::try_from(of.nlink).unwrap_or(u32::MAX),
        uid: of.uid,
        gid: of.gid,
        // The kernel's packing: the lower half of makedev(3)'s.
        rdev: of.rdev as u32,
        blksize: of.blksize,
        flags: 0,
    }
}

/// What says that there is no such name.
fn absent() -> FileAttr {
    file_attr(0, &Attributes::default())
}

impl Filesystem for RemoteFiles {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let is_plus = InitFlags::FUSE_DO_READDIRPLUS | InitFlags::FUSE_READDIRPLUS_AUTO;
        for capability in CAPABILITIES {
            // Call by call, names come alone.
            if self.tree.asking() == Asking::Each && is_plus.contains(capability) {
                continue;
            }
            // An older kernel asks more often.
            let _ = config.add_capabilities(capability);
        }
        let _ = config.set_max_background(BACKGROUND);
        Ok(())
    }

    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut reply = Some(reply);
        let found = self.find(parent, name, |attr, lasts| {
            if let Some(reply) = reply.take() {
                reply.entry(&lasts, attr, Generation(0));
            }
        });
        if let (Err(errno), Some(reply)) = (found, reply) {
            reply.error(errno);
        }
    }

    fn forget(&self, _req: &Request, ino: INodeNo, nlookup: u64) {
        self.nodes.forget(ino.0, nlookup);
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let mut reply = Some(reply);
        let found = self.attributes(ino, |attr, lasts| {
            if let Some(reply) = reply.take() {
                reply.attr(&lasts, attr);
            }
        });
        if let (Err(errno), Some(reply)) = (found, reply) {
            reply.error(errno);
        }
    }

    fn readlink(&self, _req: &Request, ino: INodeNo, reply: ReplyData) {
        let target = self.path(ino);
        match target.and_then(|path| self.tree.target(&path).map_err(errno)) {
            Ok(target) => reply.data(&target),
            Err(errno) => reply.error(errno),
        }
    }

    fn getxattr(&self, _req: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        if ino.0 == TOP && self.is_probed.load(Ordering::SeqCst) {
            return reply.error(Errno::ENODATA);
        }
        let found = self.path(ino).and_then(|path| {
            let all = self.tree.xattrs(&path).map_err(errno)?;
            let one = all.iter().find(|(known, _)| *known == name.as_bytes());
            let (_, value) = one.ok_or(Errno::ENODATA)?;
            value.clone().map_err(errno)
        });
        answer_sized(found, size, reply);
    }

    fn listxattr(&self, req: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        let found = self.path(ino).and_then(|path| {
            let all = self.tree.xattrs(&path).map_err(errno)?;
            // As the kernel has it elsewhere: others may not have these, so they are not told.
            let is_shown = |name: &[u8]| req.uid() == 0 || !name.starts_with(b"trusted.");
            let shown = all.iter().filter(|(name, _)| is_shown(name));
            let names = shown.map(|(name, _)| [&name[..], b"\0"].concat());
            Ok(names.collect::<Vec<_>>().concat())
        });
        answer_sized(found, size, reply);
    }

    fn opendir(&self, _req: &Request, _ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply.error(Errno::ENOSYS);
    }

    fn readdir(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let (directory, mut place) = match self.listing(ino, offset) {
            Ok(found) => found,
            Err(errno) => return reply.error(errno),
        };
        while let Some(item) = directory.get(place) {
            let behind = directory.behind(place);
            let is_full = match item {
                Item::Dots(name, number) => {
                    reply.add(INodeNo(number), behind, FileType::Directory, name)
                }
                Item::Entry(entry) => {
                    let (number, kind) = match &entry.found {
                        Ok(found) => (self.nodes.number(found), kind(found.mode)),
                        Err(_) => (UNKNOWN, FileType::RegularFile),
                    };
                    reply.add(
                        INodeNo(number),
                        behind,
                        kind,
                        OsStr::from_bytes(&entry.name),
                    )
                }
            };
            if is_full {
                break;
            }
            place += 1;
        }
        reply.ok();
    }

    fn readdirplus(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let (directory, mut place) = match self.listing(ino, offset) {
            Ok(found) => found,
            Err(errno) => return reply.error(errno),
        };
        let listing = &directory.listing;
        let times = [listing.asked, listing.at];
        let telling = self.tree.telling(&directory.path, times);
        while let Some(item) = directory.get(place) {
            let (name, attr, lasts) = match item {
                // The kernel takes nothing but the names of these.
                Item::Dots(name, number) => {
                    let plain = file_attr(number, &Attributes::default());
                    let kind = FileType::Directory;
                    (name.as_bytes(), FileAttr { kind, ..plain }, Duration::ZERO)
                }
                Item::Entry(entry) => {
                    let (attr, lasts) = match &entry.found {
                        // Nor of this one, which has a size that no file can have: it asks when
                        // it must.
                        Err(_) => {
                            let size = u64::MAX;
                            let plain = file_attr(UNKNOWN, &Attributes::default());
                            (FileAttr { size, ..plain }, Duration::ZERO)
                        }
                        Ok(found) => {
                            let path = join(&directory.path, &entry.name);
                            let attr = file_attr(self.nodes.tell(&path, found), found);
                            (attr, telling.entry(&entry.name, found))
                        }
                    };
                    (&*entry.name, attr, lasts)
                }
            };
            let (behind, name) = (directory.behind(place), OsStr::from_bytes(name));
            if reply.add(attr.ino, behind, name, &lasts, &attr, Generation(0)) {
                if place > 1 {
                    self.nodes.forget(attr.ino.0, 1);
                }
                break;
            }
            place += 1;
        }
        reply.ok();
    }

    fn open(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.open_file(ino) {
            Ok((handle, flags)) => reply.opened(FileHandle(handle), flags),
            Err(errno) => reply.error(errno),
        }
    }

    fn read(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let content = lock(&self.contents).get(&fh.0).cloned();
        let Some(content) = content else {
            return reply.error(Errno::EBADF);
        };
        match content.read(offset, size as usize) {
            Ok(bytes) => reply.data(&bytes),
            Err(failed) => reply.error(errno(failed)),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn release(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        lock(&self.contents).remove(&fh.0);
        reply.ok();
    }

    fn statfs(&self, _req: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        reply.statfs(0, 0, 0, 0, 0, 4096, 255, 4096);
    }
}
