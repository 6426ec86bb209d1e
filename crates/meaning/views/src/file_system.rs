//! The kernel's requests (FUSE).
//!
//! How long the kernel keeps names and attributes is decided in `timeouts`. Requests that need a
//! question are answered by threads of their own, so that nobody waits for another user's question.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyDirectoryPlus,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyXattr, Request,
};
use rustix::io::Errno as Code;
use trawl_sys::become_user::User;

use crate::asker::{Elsewhere, asker, is_answering};
use crate::by_group::BY_GROUP;
use crate::crowd::Crowd;
use crate::listing::{Entry, Listing};
use crate::lookup::{self, Found, Look};
use crate::nodes::{Content, Node, Nodes, ROOT};
use crate::question::{Narrowed, Question};
use crate::recent::Recents;
use crate::serving::Mounting;
use crate::timeouts::{ATTRIBUTES, Names, VIEWS};
use crate::wire::Asked;
use crate::worker::Worker;

/// `PATH_MAX` of Linux: the most bytes of a path, with its NUL byte.
const PATH_BYTES_MAX: usize = 4096;
/// Attribute of a view's directory: its question, as words of find.
const QUESTION: &str = "user.trawl.question";
/// Attribute of the root: why the asking user's last question was refused.
const REFUSED: &str = "user.trawl.refused";
/// Most users whose last refused question is kept.
const REFUSED_MAX: usize = 1024;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) mounting: Mounting,
    pub(crate) nodes: Nodes,
    pub(crate) recents: Recents,
    pub(crate) crowd: Arc<Crowd>,
    names: Names,
    listings: Mutex<HashMap<u64, Arc<Mutex<Listing>>>>,
    handles: AtomicU64,
    refused: Mutex<HashMap<u32, String>>,
    /// Time of the mount, as the time of everything in it.
    made: SystemTime,
    owner: (u32, u32),
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn errno(code: Code) -> Errno {
    Errno::from_i32(code.raw_os_error())
}

impl Shared {
    pub(crate) fn new(mounting: Mounting) -> Shared {
        use trawl_sys::identity::{effective_gid, effective_uid};
        Shared {
            names: Names::of(mounting.visible, effective_uid()),
            mounting,
            nodes: Nodes::new(),
            recents: Recents::default(),
            crowd: Arc::default(),
            listings: Mutex::default(),
            handles: AtomicU64::new(1),
            refused: Mutex::default(),
            made: SystemTime::now(),
            owner: (effective_uid(), effective_gid()),
        }
    }

    /// Asks a view's question as this user. If the view has another question by now, the error ESTALE
    /// makes the kernel look its name up again.
    pub(crate) fn ask(&self, user: &User, view: &Node, narrowed: Narrowed) -> Result<Worker, Code> {
        let question = match &view.content {
            Content::View(question) => question.clone(),
            Content::Groups => Question {
                starts: self.mounting.starts.clone(),
                expression: Vec::new(),
            },
            _ => return Err(Code::NOTDIR),
        };
        if matches!(view.content, Content::View(_)) && !lookup::is_current(self, view, &question) {
            return Err(Code::STALE);
        }
        let permit = self.crowd.enter(user.uid).ok_or(Code::AGAIN)?;
        let asked = Asked {
            indexes: self.mounting.indexes.clone(),
            point: self.mounting.point.as_os_str().as_bytes().to_vec(),
            question,
            narrowed,
        };
        let started = Worker::start(&self.mounting.program, user, &asked, permit);
        started.map_err(|error| Code::from_io_error(&error).unwrap_or(Code::IO))
    }

    fn node(&self, number: INodeNo) -> Result<Arc<Node>, Code> {
        self.nodes.get(number.0).ok_or(Code::STALE)
    }

    fn attributes(&self, node: &Node) -> FileAttr {
        let kind = node.content.kind();
        let (perm, size) = match &node.content {
            Content::Root | Content::Groups | Content::View(_) => (0o555, 0),
            Content::Link(path) => (0o777, path.len()),
            Content::Note(text) => (0o444, text.len()),
        };
        FileAttr {
            ino: INodeNo(node.number),
            size: size as u64,
            blocks: 0,
            atime: self.made,
            mtime: self.made,
            ctime: self.made,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: if kind == FileType::Directory { 2 } else { 1 },
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    /// Drops the open directories, and with them the processes that answer.
    pub(crate) fn end(&self) {
        held(&self.listings).clear();
    }

    fn refuse(&self, uid: u32, why: String) {
        let mut refused = held(&self.refused);
        if refused.len() >= REFUSED_MAX {
            refused.clear();
        }
        refused.insert(uid, why);
    }

    /// Looks a name up in the root.
    fn look_in_root(&self, uid: u32, name: &[u8]) -> Option<Found> {
        if name == BY_GROUP.as_bytes() {
            return Some(Found {
                content: Content::Groups,
                answered: Instant::now(),
            });
        }
        let question = lookup::view(self, name).unwrap_or_else(|why| {
            self.refuse(uid, why);
            None
        });
        Some(Found {
            content: Content::View(question?),
            answered: Instant::now(),
        })
    }

    /// Returns how long the kernel may use a name.
    fn lasts(&self, parent: u64, content: &Content, answered: Instant) -> Duration {
        match content {
            Content::Root | Content::Groups => VIEWS,
            Content::View(_) if parent == ROOT => VIEWS,
            // Another user may not see the group.
            Content::View(_) | Content::Link(_) => self.names.last(Instant::now(), answered),
            // It tells of the last listing.
            Content::Note(_) => Duration::ZERO,
        }
    }

    fn entry(
        &self,
        parent: &Node,
        name: &[u8],
        found: Result<Option<Found>, Code>,
        reply: ReplyEntry,
    ) {
        match found {
            Ok(Some(found)) => {
                let node = self.nodes.found(parent.number, name, found.content);
                let lasts = self.lasts(parent.number, &node.content, found.answered);
                let attributes = self.attributes(&node);
                reply.entry_with_ttls(&ATTRIBUTES, &lasts, &attributes, Generation(0));
            }
            Ok(None) => reply.error(Errno::ENOENT),
            Err(code) => reply.error(errno(code)),
        }
    }

    /// Returns an attribute's value.
    fn attribute(&self, uid: u32, node: &Node, name: &OsStr) -> Option<Vec<u8>> {
        match (&node.content, name.to_str()?) {
            (Content::View(question), QUESTION) => Some(question.words().join(&b' ')),
            (Content::Root, REFUSED) => held(&self.refused).get(&uid).map(|why| why.clone().into()),
            _ => None,
        }
    }

    /// Reads on in a directory. `add` is given the directory's number and an entry, and returns true
    /// if there is no room for it.
    fn read_directory(
        &self,
        thread: u32,
        handle: u64,
        offset: u64,
        mut add: impl FnMut(u64, &Entry) -> bool,
    ) -> Result<(), Code> {
        let listing = held(&self.listings).get(&handle).cloned();
        let listing = listing.ok_or(Code::BADF)?;
        let mut listing = held(&listing);
        let directory = listing.number();
        listing.read(self, thread, offset, |entry| add(directory, entry))
    }

    /// Adds an entry together with what a look-up of its name would say. Returns true if there is no
    /// room for it.
    fn add_whole(&self, directory: u64, entry: &Entry, reply: &mut ReplyDirectoryPlus) -> bool {
        let name = OsStr::from_bytes(&entry.name);
        let Some(content) = &entry.content else {
            // The kernel takes nothing but the numbers of `.` and `..`.
            let node = self.nodes.get(entry.number);
            let Some(mut attributes) = node.map(|node| self.attributes(&node)) else {
                return false;
            };
            attributes.ino = INodeNo(entry.number);
            let (number, none) = (attributes.ino, Duration::ZERO);
            return reply.add(
                number,
                entry.offset,
                name,
                &none,
                &attributes,
                Generation(0),
            );
        };
        let node = self.nodes.found(directory, &entry.name, content.clone());
        let lasts = self.lasts(directory, &node.content, entry.answered);
        let attributes = self.attributes(&node);
        let is_full = reply.add(
            attributes.ino,
            entry.offset,
            name,
            &lasts,
            &attributes,
            Generation(0),
        );
        if is_full {
            // The kernel does not hear of it now.
            self.nodes.forget(node.number, 1);
        }
        is_full
    }
}

/// Returns the user who asks.
fn user(request: &Request) -> Result<User, Code> {
    let asked = asker(request.pid(), request.uid(), request.gid());
    asked.map_err(|Elsewhere| Code::ACCESS)
}

/// Does work in a thread of its own. If there can be none, the dropped reply is an error.
fn aside(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().name("request".into());
    let _ = thread.spawn(work);
}

fn value(size: u32, value: &[u8], reply: ReplyXattr) {
    let length = u32::try_from(value.len()).unwrap_or(u32::MAX);
    match size {
        0 => reply.size(length),
        size if size < length => reply.error(Errno::ERANGE),
        _ => reply.data(value),
    }
}

/// The file system that is mounted.
#[derive(Debug)]
pub(crate) struct Views(pub(crate) Arc<Shared>);

impl Filesystem for Views {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // An older kernel asks for one name of a directory after the other, and for each target.
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
        let _ = config.add_capabilities(InitFlags::FUSE_CACHE_SYMLINKS);
        if self.0.names == Names::Kept {
            let plus = InitFlags::FUSE_DO_READDIRPLUS | InitFlags::FUSE_READDIRPLUS_AUTO;
            let _ = config.add_capabilities(plus);
        }
        Ok(())
    }

    fn destroy(&mut self) {
        self.0.end();
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let shared = Arc::clone(&self.0);
        let parent = match shared.node(parent) {
            Ok(parent) => parent,
            Err(code) => return reply.error(errno(code)),
        };
        let name = name.as_bytes().to_vec();
        if parent.content == Content::Root {
            let found = shared.look_in_root(request.uid(), &name);
            return shared.entry(&parent, &name, Ok(found), reply);
        }
        let (user, thread) = match user(request) {
            Ok(user) => (user, request.pid()),
            Err(code) => return reply.error(errno(code)),
        };
        let known = Look {
            shared: &shared,
            view: &parent,
            user: &user,
            thread,
            name: &name,
        };
        if let Some(known) = known.known() {
            return shared.entry(&parent, &name, Ok(Some(known)), reply);
        }
        aside(move || {
            if is_answering(thread) {
                return reply.error(Errno::ELOOP);
            }
            let look = Look {
                shared: &shared,
                view: &parent,
                user: &user,
                thread,
                name: &name,
            };
            let found = look.find();
            shared.entry(&parent, &name, found, reply);
        });
    }

    fn forget(&self, _: &Request, node: INodeNo, lookups: u64) {
        self.0.nodes.forget(node.0, lookups);
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.0.node(node) {
            Ok(node) => reply.attr(&ATTRIBUTES, &self.0.attributes(&node)),
            Err(code) => reply.error(errno(code)),
        }
    }

    fn readlink(&self, _: &Request, node: INodeNo, reply: ReplyData) {
        match self.0.node(node).as_deref().map(|node| &node.content) {
            // The kernel takes no longer target, and no program could open it.
            Ok(Content::Link(path)) if path.len() >= PATH_BYTES_MAX => {
                reply.error(Errno::ENAMETOOLONG);
            }
            Ok(Content::Link(path)) => reply.data(path),
            Ok(_) => reply.error(Errno::EINVAL),
            Err(code) => reply.error(errno(*code)),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.0.node(node).as_deref().map(|node| &node.content) {
            Ok(Content::Note(text)) => {
                let from = usize::try_from(offset)
                    .unwrap_or(usize::MAX)
                    .min(text.len());
                let to = from.saturating_add(size as usize).min(text.len());
                reply.data(text.get(from..to).unwrap_or_default());
            }
            Ok(_) => reply.error(Errno::EINVAL),
            Err(code) => reply.error(errno(*code)),
        }
    }

    fn opendir(&self, request: &Request, node: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let shared = Arc::clone(&self.0);
        let (node, user) = match (shared.node(node), user(request)) {
            (Ok(node), Ok(user)) => (node, user),
            (Err(code), _) | (_, Err(code)) => return reply.error(errno(code)),
        };
        let thread = request.pid();
        aside(move || {
            if is_answering(thread) {
                return reply.error(Errno::ELOOP);
            }
            match Listing::open(&shared, node, user) {
                Ok(listing) => {
                    let handle = shared.handles.fetch_add(1, Ordering::Relaxed);
                    held(&shared.listings).insert(handle, Arc::new(Mutex::new(listing)));
                    reply.opened(FileHandle(handle), FopenFlags::empty());
                }
                Err(code) => reply.error(errno(code)),
            }
        });
    }

    fn readdir(
        &self,
        request: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let (shared, thread) = (Arc::clone(&self.0), request.pid());
        aside(move || {
            let add = |_, entry: &Entry| {
                let name = OsStr::from_bytes(&entry.name);
                reply.add(INodeNo(entry.number), entry.offset, entry.kind(), name)
            };
            match shared.read_directory(thread, handle.0, offset, add) {
                Ok(()) => reply.ok(),
                Err(code) => reply.error(errno(code)),
            }
        });
    }

    fn readdirplus(
        &self,
        request: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let (shared, thread) = (Arc::clone(&self.0), request.pid());
        aside(move || {
            let add = |directory, entry: &Entry| shared.add_whole(directory, entry, &mut reply);
            match shared.read_directory(thread, handle.0, offset, add) {
                Ok(()) => reply.ok(),
                Err(code) => reply.error(errno(code)),
            }
        });
    }

    fn releasedir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        reply: ReplyEmpty,
    ) {
        let listing = held(&self.0.listings).remove(&handle.0);
        reply.ok();
        drop(listing);
    }

    fn getxattr(
        &self,
        request: &Request,
        node: INodeNo,
        name: &OsStr,
        size: u32,
        reply: ReplyXattr,
    ) {
        let node = match self.0.node(node) {
            Ok(node) => node,
            Err(code) => return reply.error(errno(code)),
        };
        match self.0.attribute(request.uid(), &node, name) {
            Some(found) => value(size, &found, reply),
            None => reply.error(Errno::NO_XATTR),
        }
    }

    fn listxattr(&self, request: &Request, node: INodeNo, size: u32, reply: ReplyXattr) {
        let node = match self.0.node(node) {
            Ok(node) => node,
            Err(code) => return reply.error(errno(code)),
        };
        let mut names = Vec::new();
        for name in [QUESTION, REFUSED] {
            if self
                .0
                .attribute(request.uid(), &node, OsStr::new(name))
                .is_some()
            {
                names.extend_from_slice(name.as_bytes());
                names.push(0);
            }
        }
        value(size, &names, reply);
    }
}
