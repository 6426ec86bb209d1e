//! Answers the kernel's requests about the tree (FUSE).
//!
//! The kernel caches answers as long as they are valid, so most system calls do not get here;
//! requests that do are answered from memory where the bulk answers suffice. Directories are not
//! opened (`ENOSYS`), so that the kernel caches their names. An offset in a directory identifies
//! its listing, so that a listing that is replaced meanwhile is read to its end.
//!
//! The kernel checks permissions (`default_permissions`), after the server has checked its own.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyDirectoryPlus,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyXattr, Request,
};
use trawl_call::Attributes;
use trawl_model::relative_path::{join, split};
use trawl_model::sync::lock;
use trawl_sys::stat::Time;

use crate::files::{Files, Handle, Reading};
use crate::nodes::{Nodes, TOP};
use crate::serving::Mounted;
use crate::tree::{Asking, Entry, Listing, Timed, Tree, is_directory};

/// Requested capabilities: the kernel caches directory entries and link targets, gets attributes
/// together with names, and drops cached contents that have changed.
const CAPABILITIES: [InitFlags; 6] = [
    InitFlags::FUSE_NO_OPENDIR_SUPPORT,
    InitFlags::FUSE_DO_READDIRPLUS,
    InitFlags::FUSE_READDIRPLUS_AUTO,
    InitFlags::FUSE_AUTO_INVAL_DATA,
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_CACHE_SYMLINKS,
];
/// Maximum number of reads in flight.
const BACKGROUND: u16 = 32;
/// Position of the listing's number in an offset.
const NUMBER_SHIFT: u32 = 32;
const NUMBER_MASK: u64 = 0x7fff_ffff;
const PLACE_MASK: u64 = 0xffff_ffff;

/// Number of attempts to answer when the file is opened meanwhile.
const TRIES: usize = 3;

/// The inode number that is shown for a name without known attributes.
const UNKNOWN: u64 = u64::MAX;

/// A tree, as a FUSE file system.
pub(crate) struct RemoteFiles {
    tree: Tree,
    nodes: Arc<Nodes>,
    is_probed: Arc<AtomicBool>,
    files: Arc<Files>,
    /// Open handles, and how each is read.
    handles: Mutex<HashMap<u64, (Handle, Reading)>>,
    next_handle: AtomicU64,
    /// Whether files may be read with `FOPEN_DIRECT_IO` and still be mapped.
    may_be_direct: bool,
}

fn errno(errno: trawl_sys::Errno) -> Errno {
    Errno::from_i32(errno.0)
}

/// Replies with the bytes, or with their number if the caller's buffer has size 0.
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
            files: Files::new(mounted.tree.clone(), Arc::clone(&mounted.nodes)),
            handles: Mutex::default(),
            next_handle: AtomicU64::new(1),
            may_be_direct: false,
        }
    }

    /// Returns the opened files.
    pub(crate) fn files(&self) -> &Arc<Files> {
        &self.files
    }

    fn path(&self, number: INodeNo) -> Result<Vec<u8>, Errno> {
        self.nodes.path(number.0).ok_or(Errno::ESTALE)
    }

    /// Returns the number for a file that is now told to the kernel.
    fn number(&self, path: &[u8], attributes: &Attributes) -> u64 {
        let (number, stale) = self.nodes.tell(path, attributes);
        if let Some(stale) = stale {
            self.files.part(stale);
        }
        number
    }

    /// Replies to the lookup of a name in a directory.
    fn find(&self, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.path(parent).and_then(|dir| {
            let known = self.tree.lookup(&dir, name.as_bytes()).map_err(errno)?;
            Ok((dir, known))
        });
        let (dir, known) = match found {
            Ok(found) => found,
            Err(errno) => return reply.fail(errno),
        };
        let name = name.as_bytes();
        let Some(what) = known.what else {
            let telling = self.tree.telling(&dir, [known.asked, known.at]);
            return reply.tell(&absent(), telling.absence());
        };
        let path = join(&dir, name);
        let mut number = self.number(&path, &what);
        let Timed { at, asked, .. } = known;
        for _ in 0..TRIES {
            let known = match self.files.of_open(number, &path) {
                Some(Ok(open)) => open,
                Some(Err(_)) | None => Timed { what, at, asked },
            };
            // The open file may prove to be another file, which then keeps the number.
            if !is_directory(&what) && !self.nodes.is_of(number, &path, &what) {
                self.nodes.forget(number, 1);
                number = self.number(&path, &what);
                continue;
            }
            if let Some(told) = self.files.to_tell(number, known) {
                return self.tell((number, &dir, name), told, reply);
            }
        }
        self.nodes.forget(number, 1);
        reply.fail(Errno::ESTALE);
    }

    /// Replies with the attributes of a number, which has a name in a directory.
    fn tell<R: Answer + Send + 'static>(
        &self,
        (number, dir, name): (u64, &[u8], &[u8]),
        (known, is_at_once): (Timed<Attributes>, bool),
        reply: R,
    ) {
        let attr = file_attr(number, &known.what);
        if !is_at_once {
            // The attributes may change until the pages are dropped, so the kernel must ask again.
            let then = move || reply.tell(&attr, Duration::ZERO);
            return self.files.tell(number, Box::new(then));
        }
        let telling = self.tree.telling(dir, [known.asked, known.at]);
        reply.tell(&attr, telling.entry(name, &known.what));
    }

    /// Replies with the attributes of a number.
    fn attributes(&self, number: INodeNo, handle: Option<FileHandle>, reply: ReplyAttr) {
        let handle = handle.and_then(|fh| lock(&self.handles).get(&fh.0).cloned());
        for _ in 0..TRIES {
            let found = self.path(number).and_then(|path| {
                let known = match &handle {
                    Some((handle, _)) => self.files.of_handle(handle, &path),
                    None => {
                        let open = self.files.of_open(number.0, &path);
                        open.unwrap_or_else(|| self.tree.attributes(&path))
                    }
                };
                Ok((path, known.map_err(errno)?))
            });
            let (path, known) = match found {
                Ok(found) => found,
                Err(errno) => return reply.fail(errno),
            };
            if number.0 == TOP {
                let telling = self.tree.telling(b"", [known.asked, known.at]);
                let attr = file_attr(known.what.ino, &known.what);
                return reply.tell(&attr, telling.own());
            }
            if let Some(told) = self.files.to_tell(number.0, known) {
                let (dir, name) = split(&path);
                return self.tell((number.0, dir, name), told, reply);
            }
        }
        reply.fail(Errno::ESTALE);
    }

    /// Returns the listing that an offset belongs to, and the position in it.
    fn listing(&self, number: INodeNo, offset: u64) -> Result<(Directory, u64), Errno> {
        let path = self.path(number)?;
        let listing = match offset {
            0 => self.tree.listing(&path).map_err(errno)?,
            offset => {
                let wanted = offset >> NUMBER_SHIFT;
                let found = self
                    .tree
                    .again(&path, |it| it.names() & NUMBER_MASK == wanted);
                // An error is better than missing names.
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

    fn open_file(&self, number: INodeNo, reply: ReplyOpen) {
        let opened = self.path(number).and_then(|path| {
            let opened = self.files.open(number.0, &path);
            opened.map_err(errno)
        });
        let opened = match opened {
            Ok(opened) => opened,
            Err(errno) => return reply.error(errno),
        };
        let is_now = self.tree.max_age().is_zero();
        let is_direct = self.may_be_direct && (is_now || !opened.is_stable);
        let flags = match opened.is_made_up || is_direct {
            true => FopenFlags::FOPEN_DIRECT_IO,
            false => FopenFlags::FOPEN_KEEP_CACHE,
        };
        // A file that the server generates on reading is read to its end as it was first generated.
        let way = match is_direct && is_now && !opened.is_made_up {
            true => Reading::Now,
            false => Reading::Kept,
        };
        let handle = self.next_handle.fetch_add(1, Ordering::Relaxed);
        lock(&self.handles).insert(handle, (opened.handle.clone(), way));
        let then = move || reply.opened(FileHandle(handle), flags);
        match opened.is_kept {
            true => then(),
            false => self.files.opened(&opened.handle, Box::new(then)),
        }
    }
}

/// A reply that contains attributes.
trait Answer {
    fn tell(self, attr: &FileAttr, lasts: Duration);
    fn fail(self, errno: Errno);
}

impl Answer for ReplyEntry {
    fn tell(self, attr: &FileAttr, lasts: Duration) {
        self.entry(&lasts, attr, Generation(0));
    }

    fn fail(self, errno: Errno) {
        self.error(errno);
    }
}

impl Answer for ReplyAttr {
    fn tell(self, attr: &FileAttr, lasts: Duration) {
        self.attr(&lasts, attr);
    }

    fn fail(self, errno: Errno) {
        self.error(errno);
    }
}

/// Returns the inode numbers of a directory and its parent, as shown for `.` and `..`.
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

/// A directory that is being read.
struct Directory {
    path: Vec<u8>,
    /// Its inode number and its parent's.
    dots: [u64; 2],
    listing: Arc<Listing>,
}

/// An item of a directory.
enum Item<'a> {
    /// `.` or `..`, and its inode number.
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

    /// Returns the offset after a position.
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
        // The kernel's 32-bit encoding: the lower half of makedev(3)'s.
        rdev: of.rdev as u32,
        blksize: of.blksize,
        flags: 0,
    }
}

/// Returns the attributes of a name as of a listing.
fn of(listing: &Listing, what: Attributes) -> Timed<Attributes> {
    let (at, asked) = (listing.at, listing.asked);
    Timed { what, at, asked }
}

/// Returns attributes with an impossible file size: the kernel takes only the name, and asks for
/// the attributes when it needs them.
fn unsaid() -> (FileAttr, Duration) {
    let size = u64::MAX;
    let plain = file_attr(UNKNOWN, &Attributes::default());
    (FileAttr { size, ..plain }, Duration::ZERO)
}

/// Returns the attributes that mean that the name does not exist.
fn absent() -> FileAttr {
    file_attr(0, &Attributes::default())
}

impl Filesystem for RemoteFiles {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let is_plus = InitFlags::FUSE_DO_READDIRPLUS | InitFlags::FUSE_READDIRPLUS_AUTO;
        for capability in CAPABILITIES {
            // In the mode that asks call by call, names come without attributes.
            if self.tree.asking() == Asking::Each && is_plus.contains(capability) {
                continue;
            }
            // An older kernel without the capability asks more often.
            let _ = config.add_capabilities(capability);
        }
        let mapped = InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP;
        self.may_be_direct = config.add_capabilities(mapped).is_ok();
        let _ = config.set_max_background(BACKGROUND);
        Ok(())
    }

    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.find(parent, name, reply);
    }

    fn forget(&self, _req: &Request, ino: INodeNo, nlookup: u64) {
        self.nodes.forget(ino.0, nlookup);
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, fh: Option<FileHandle>, reply: ReplyAttr) {
        self.attributes(ino, fh, reply);
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
            // Like other file systems, hides these names from other users, who may not read them.
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
                // The kernel ignores all but the names of these.
                Item::Dots(name, number) => {
                    let plain = file_attr(number, &Attributes::default());
                    let kind = FileType::Directory;
                    (name.as_bytes(), FileAttr { kind, ..plain }, Duration::ZERO)
                }
                Item::Entry(entry) => {
                    let (attr, lasts) = match &entry.found {
                        Err(_) => unsaid(),
                        Ok(found) => {
                            let path = join(&directory.path, &entry.name);
                            let number = self.number(&path, found);
                            let known = of(listing, *found);
                            match self.files.to_tell(number, known) {
                                Some((Timed { what, .. }, true)) => {
                                    (file_attr(number, &what), telling.entry(&entry.name, &what))
                                }
                                _ => {
                                    self.nodes.forget(number, 1);
                                    unsaid()
                                }
                            }
                        }
                    };
                    (&*entry.name, attr, lasts)
                }
            };
            let (behind, name) = (directory.behind(place), OsStr::from_bytes(name));
            if reply.add(attr.ino, behind, name, &lasts, &attr, Generation(0)) {
                if place > 1 && attr.ino.0 != UNKNOWN {
                    self.nodes.forget(attr.ino.0, 1);
                }
                break;
            }
            place += 1;
        }
        reply.ok();
    }

    fn open(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        self.open_file(ino, reply);
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
        let handle = lock(&self.handles).get(&fh.0).cloned();
        let Some((handle, way)) = handle else {
            return reply.error(Errno::EBADF);
        };
        match self.files.read(&handle, (offset, size as usize), way) {
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
        if let Some((handle, _)) = lock(&self.handles).remove(&fh.0) {
            self.files.close(&handle);
        }
        reply.ok();
    }

    fn statfs(&self, _req: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        reply.statfs(0, 0, 0, 0, 0, 4096, 255, 4096);
    }
}
