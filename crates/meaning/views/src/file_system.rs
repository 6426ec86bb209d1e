//! The kernel's requests (FUSE).
//!
//! Names and attributes are cached by the kernel for no time at all: a name that one user looked up
//! would otherwise be there for the next one, who may not see it. Requests that need a question are
//! answered by threads of their own, so that nobody waits for another user's question.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyXattr, Request,
};
use rustix::io::Errno as Code;
use trawl_sys::become_user::User;

use crate::asker::{Refusal, asker};
use crate::crowd::Crowd;
use crate::listing::Listing;
use crate::lookup::{self, Look};
use crate::nodes::{Content, Node, Nodes};
use crate::question::{Narrowed, Question};
use crate::recent::Recents;
use crate::serving::Mounting;
use crate::wire::Asked;
use crate::worker::Worker;

/// `PATH_MAX` of Linux: the most bytes of a path, with its NUL byte.
const PATH_BYTES_MAX: usize = 4096;
/// For how long the kernel uses names and attributes without asking again.
const CACHE: Duration = Duration::ZERO;
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

    /// Asks a question as this user.
    pub(crate) fn ask(
        &self,
        user: &User,
        question: Question,
        narrowed: Narrowed,
    ) -> Result<Worker, Code> {
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
        let (kind, perm, size) = match &node.content {
            Content::Root | Content::View(_) => (FileType::Directory, 0o555, 0),
            Content::Link(path) => (FileType::Symlink, 0o777, path.len()),
            Content::Note(text) => (FileType::RegularFile, 0o444, text.len()),
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
    fn look_in_root(&self, uid: u32, name: &[u8]) -> Result<Option<Content>, Code> {
        match lookup::view(self, name) {
            Ok(found) => Ok(found.map(Content::View)),
            Err(why) => {
                self.refuse(uid, why);
                Ok(None)
            }
        }
    }

    fn entry(
        &self,
        parent: &Node,
        name: &[u8],
        found: Result<Option<Content>, Code>,
        reply: ReplyEntry,
    ) {
        match found {
            Ok(Some(content)) => {
                let node = lookup::node(self, parent, name, content);
                reply.entry(&CACHE, &self.attributes(&node), Generation(0));
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

    fn read_directory(&self, thread: u32, handle: u64, offset: u64, mut reply: ReplyDirectory) {
        let listing = held(&self.listings).get(&handle).cloned();
        let Some(listing) = listing else {
            return reply.error(Errno::EBADF);
        };
        let read = held(&listing).read(self, thread, offset, |entry| {
            let name = OsStr::from_bytes(&entry.name);
            reply.add(INodeNo(entry.number), entry.offset, entry.kind, name)
        });
        match read {
            Ok(()) => reply.ok(),
            Err(code) => reply.error(errno(code)),
        }
    }
}

/// Returns the user who asks.
fn user(request: &Request) -> Result<User, Code> {
    let asked = asker(request.pid(), request.uid(), request.gid());
    asked.map_err(|refusal| match refusal {
        Refusal::Elsewhere => Code::ACCESS,
        Refusal::Loop => Code::LOOP,
    })
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
        // An older kernel asks for one name of a directory after the other.
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
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
            return shared.entry(&parent, &name, found, reply);
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
            Ok(node) => reply.attr(&CACHE, &self.0.attributes(&node)),
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
        aside(move || match Listing::open(&shared, node, user) {
            Ok(listing) => {
                let handle = shared.handles.fetch_add(1, Ordering::Relaxed);
                held(&shared.listings).insert(handle, Arc::new(Mutex::new(listing)));
                reply.opened(FileHandle(handle), FopenFlags::empty());
            }
            Err(code) => reply.error(errno(code)),
        });
    }

    fn readdir(
        &self,
        request: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        reply: ReplyDirectory,
    ) {
        let (shared, thread) = (Arc::clone(&self.0), request.pid());
        aside(move || shared.read_directory(thread, handle.0, offset, reply));
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
