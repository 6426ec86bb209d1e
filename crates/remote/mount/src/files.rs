//! Opened files, and the version of each whose pages and attributes the kernel caches.
//!
//! Invariants: before the kernel gets attributes of another version of a file, its cached pages of
//! the previous version are dropped; before it gets bytes of another version, its cached attributes
//! are. Mapped pages are checked without any request from a program. While a file is open, its
//! inode number stands for that file only, and an answer about a name that may belong to another
//! file is not used for it.
//!
//! Dropping pages waits for running reads of them. So a separate thread does it, which answers no
//! requests, and which then sends the reply that waits for it. Forgetting a name waits for all
//! lookups in its directory: another separate thread does that, and no reply waits for it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fuser::{INodeNo, Notifier};
use trawl_call::Attributes;
use trawl_model::relative_path::split;
use trawl_model::sync::lock;
use trawl_sys::Errno;
use trawl_sys::stat::Time;

use crate::nodes::{Nodes, Stale};
use crate::tree::{Content, FileAnswer, MAPPED_LEAST, OpenFile, Timed, Tree, Version};

/// Maximum number of opened files whose cached versions are remembered; at this number, files that
/// are not open are forgotten.
const OPENED_MAX: usize = 16 << 10;
/// Maximum number of small files whose contents are kept after closing; at this number, all are
/// dropped.
const KEPT_MAX: usize = 1024;
/// Number of open files that are checked in parallel.
const LOOKS: usize = 4;

/// A file that changed within this time is not cached by the kernel for read(2): while the kernel
/// learns of a new size, concurrent readers of its cache may get zeros.
const STABLE: Duration = Duration::from_secs(60);
/// Number of attempts to read bytes while the kernel knows a later version.
const TRIES: usize = 3;

/// How bytes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// From memory, if the file has not changed.
    Kept,
    /// From the server, each time.
    Now,
}

/// The version of the kernel's cached pages of a file.
#[derive(Clone, Copy)]
enum Pages {
    None,
    Of(FileAnswer),
    Mixed,
}

struct Kernel {
    /// Number of open handles.
    handles: usize,
    /// Number of opens in progress.
    opening: usize,
    /// The version whose attributes the kernel was last told, and when they were requested.
    told: Option<(Version, Instant)>,
    pages: Pages,
    /// Number of pending drops of pages.
    drops: usize,
}

/// An opened file.
pub(crate) struct File {
    number: u64,
    held: OpenFile,
    kernel: Mutex<Kernel>,
}

/// The result of opening a file.
pub(crate) struct Opened {
    pub(crate) handle: Handle,
    /// Whether the kernel's cached pages have the file's current contents.
    pub(crate) is_kept: bool,
    /// Whether the size says nothing about the contents, as in `/proc`.
    pub(crate) is_made_up: bool,
    /// Whether the file has not changed for a while.
    pub(crate) is_stable: bool,
}

/// An open handle of a file.
#[derive(Clone)]
pub(crate) struct Handle {
    file: Arc<File>,
    pub(crate) content: Content,
}

struct Job {
    file: Arc<File>,
    then: Box<dyn FnOnce() + Send>,
}

/// The channels to the kernel.
struct Channels {
    notifier: Notifier,
    jobs: Mutex<Sender<Job>>,
    names: Mutex<Sender<Stale>>,
}

/// Opened files by inode number.
pub(crate) struct Files {
    tree: Tree,
    nodes: Arc<Nodes>,
    known: Mutex<HashMap<u64, Arc<File>>>,
    /// Contents of small files that are not open.
    kept: Mutex<HashMap<u64, Content>>,
    way: OnceLock<Channels>,
}

impl File {
    fn kernel(&self) -> MutexGuard<'_, Kernel> {
        lock(&self.kernel)
    }

    /// Returns whether the kernel caches what was read of it.
    fn is_kept(&self) -> bool {
        let last = self.held.last();
        last.is_some_and(|last| is_stable(last.attributes.ctime))
            && matches!(self.kernel().pages, Pages::Of(_))
    }
}

impl Kernel {
    /// Returns whether the number stands for this file only, because the file is open or being
    /// opened.
    fn is_used(&self) -> bool {
        self.handles > 0 || self.opening > 0
    }

    /// Returns whether the kernel knows a later version than this one. Bytes of this one would then
    /// appear to end in zeros.
    fn is_past(&self, seen: &FileAnswer) -> bool {
        self.told
            .is_some_and(|(told, asked)| told != seen.version() && asked > seen.asked)
    }

    /// Returns whether the kernel caches pages that are not those of a file with these attributes.
    fn has_others(&self, now: &Attributes) -> bool {
        match &self.pages {
            _ if self.drops > 0 => true,
            Pages::None => false,
            Pages::Of(seen) => !seen.is_of(now),
            Pages::Mixed => true,
        }
    }
}

impl Files {
    pub(crate) fn new(tree: Tree, nodes: Arc<Nodes>) -> Arc<Files> {
        Arc::new(Files {
            tree,
            nodes,
            known: Mutex::default(),
            kept: Mutex::default(),
            way: OnceLock::new(),
        })
    }

    /// Starts the threads that tell the kernel what to forget, before its first request.
    pub(crate) fn start(self: &Arc<Self>, notifier: Notifier) -> io::Result<()> {
        let (jobs, ours) = channel::<Job>();
        let drops = notifier.clone();
        let thread = std::thread::Builder::new().name("pages".into());
        thread.spawn(move || {
            for Job { file, then } in ours {
                // Set before the drop, so that reads answered meanwhile count.
                file.kernel().pages = Pages::None;
                // An error only says that the kernel does not know the file any more.
                let _ = drops.inval_inode(INodeNo(file.number), 0, 0);
                file.kernel().drops -= 1;
                then();
            }
        })?;
        let (names, stale) = channel::<Stale>();
        let files = Arc::downgrade(self);
        let thread = std::thread::Builder::new().name("names".into());
        thread.spawn(move || {
            for name in stale {
                let Some(files) = files.upgrade() else {
                    return;
                };
                files.forget_name(&name);
            }
        })?;
        let (jobs, names) = (Mutex::new(jobs), Mutex::new(names));
        let _ = self.way.set(Channels {
            notifier,
            jobs,
            names,
        });
        let files = Arc::downgrade(self);
        let pause = self.tree.max_age().max(2 * MAPPED_LEAST) / 2;
        let thread = std::thread::Builder::new().name("open files".into());
        thread.spawn(move || look_after(&files, pause))?;
        Ok(())
    }

    fn get(&self, number: u64) -> Option<Arc<File>> {
        lock(&self.known).get(&number).cloned()
    }

    /// Returns whether the file was opened.
    pub(crate) fn is_known(&self, number: u64) -> bool {
        lock(&self.known).contains_key(&number)
    }

    /// Returns the file for a number and path that is about to be opened.
    fn file(&self, number: u64, path: &[u8]) -> Arc<File> {
        let mut known = lock(&self.known);
        if let Some(file) = known.get(&number) {
            let mut kernel = file.kernel();
            if kernel.is_used() || file.held.path() == path {
                kernel.opening += 1;
                return Arc::clone(file);
            }
        }
        if known.len() >= OPENED_MAX {
            known.retain(|_, file| file.kernel().is_used());
        }
        let file = Arc::new(File {
            number,
            held: self.tree.held(path),
            kernel: Mutex::new(Kernel {
                handles: 0,
                opening: 1,
                told: None,
                pages: Pages::Mixed,
                drops: 0,
            }),
        });
        known.insert(number, Arc::clone(&file));
        file
    }

    /// Opens a file. Asks the server, unless the server would already have reported a change.
    pub(crate) fn open(&self, number: u64, path: &[u8]) -> Result<Opened, Errno> {
        let file = self.file(number, path);
        let content = self.take_kept(&file);
        let found = match file.held.watched() {
            _ if !file.is_kept() && !content.is_begun() => content.begin(),
            Some(seen) => Ok((seen, 0)),
            None => file.held.look().map(|seen| (seen, 0)),
        };
        let is_it = |seen: &FileAnswer| self.nodes.is_of(number, path, &seen.attributes);
        let is_opened = found.as_ref().is_ok_and(|(seen, _)| is_it(seen));
        let is_opened = self.end_opening(&file, is_opened);
        let (seen, count) = match found {
            Ok(found) if is_opened => found,
            Err(errno) if !is_elsewhere(errno) => return Err(errno),
            Ok(_) | Err(_) => return Err(self.lose(&file, path)),
        };
        let is_kept = !file.kernel().has_others(&seen.attributes);
        // The kernel may still cache older attributes, even if it was told these a moment ago.
        self.forget_attributes(number);
        Ok(Opened {
            handle: Handle { file, content },
            is_kept,
            is_made_up: seen.attributes.size == 0 && count > 0,
            is_stable: is_stable(seen.attributes.ctime),
        })
    }

    /// Ends an opening; returns false if the number was taken from the file meanwhile.
    fn end_opening(&self, file: &Arc<File>, is_opened: bool) -> bool {
        let known = lock(&self.known);
        let is_opened = is_opened && is_known(&known, file);
        let mut kernel = file.kernel();
        kernel.opening -= 1;
        kernel.handles += usize::from(is_opened);
        is_opened
    }

    /// Handles a name that leads to another file by now, or to none, and makes the kernel look it
    /// up again. If the new file has the number of the old one, which is still open, the old file
    /// keeps the number.
    fn lose(&self, file: &Arc<File>, path: &[u8]) -> Errno {
        let other = self.tree.held(path);
        let there = other.look().ok().filter(|_| !other.is_of(&file.held));
        let there = there.map(|seen| seen.attributes);
        let mut known = lock(&self.known);
        if is_known(&known, file) {
            match there {
                _ if file.kernel().handles == 0 => {
                    known.remove(&file.number);
                }
                Some(there) if self.nodes.is_of(file.number, path, &there) => {
                    self.nodes.reuse(&there);
                }
                _ => {}
            }
        }
        drop(known);
        self.tree.look_again(path).err().unwrap_or(Errno::STALE)
    }

    /// Returns the contents that were kept when the file was last closed.
    fn take_kept(&self, file: &File) -> Content {
        let kept = lock(&self.kept).remove(&file.number);
        let ours = kept.filter(|content| content.is_of(&file.held));
        ours.unwrap_or_else(|| Content::new(file.held.clone()))
    }

    /// Closes a handle. Keeps the contents of a small file for the next open.
    pub(crate) fn close(&self, handle: &Handle) {
        let mut kernel = handle.file.kernel();
        kernel.handles = kernel.handles.saturating_sub(1);
        let is_last = kernel.handles == 0;
        drop(kernel);
        if is_last && handle.content.is_small() {
            let mut kept = lock(&self.kept);
            if kept.len() >= KEPT_MAX {
                kept.clear();
            }
            kept.insert(handle.file.number, handle.content.clone());
        }
    }

    /// Makes the kernel ask for the attributes again. Does not block.
    pub(crate) fn forget_attributes(&self, number: u64) {
        if let Some(way) = self.way.get() {
            let _ = way.notifier.inval_inode(INodeNo(number), -1, 0);
        }
    }

    /// Makes the kernel forget a name whose number now belongs to another name.
    pub(crate) fn part(&self, stale: Stale) {
        let unsent = match self.way.get() {
            Some(way) => lock(&way.names).send(stale).err().map(|unsent| unsent.0),
            None => Some(stale),
        };
        // The receiver is gone if the mount is.
        if let Some(stale) = unsent {
            self.nodes.parted(&stale);
        }
    }

    fn forget_name(&self, stale: &Stale) {
        let (dir, name) = split(&stale.path);
        // The next lookup must find what is there now. If the server cannot be asked, the known
        // answer expires.
        let _ = self.tree.look_again(&stale.path);
        if let (Some(way), Some(dir)) = (self.way.get(), self.nodes.number_at(dir)) {
            let name = OsStr::from_bytes(name);
            let _ = way.notifier.inval_entry(INodeNo(dir), name);
        }
        self.nodes.parted(stale);
    }

    /// Reads bytes of an open file, to be given to the kernel.
    pub(crate) fn read(
        &self,
        handle: &Handle,
        (offset, length): (u64, usize),
        way: Reading,
    ) -> Result<Vec<u8>, Errno> {
        let mut tries = TRIES;
        loop {
            let (bytes, seen) = match way {
                Reading::Kept => handle.content.read(offset, length)?,
                Reading::Now => handle.content.read_now(offset, length)?,
            };
            tries -= 1;
            if self.give(handle, &seen) || tries == 0 {
                return Ok(bytes);
            }
        }
    }

    /// Records that the kernel is about to get bytes of this version; false if it knows a later
    /// version.
    fn give(&self, handle: &Handle, seen: &FileAnswer) -> bool {
        let file = &handle.file;
        let mut kernel = file.kernel();
        if kernel.is_past(seen) {
            return false;
        }
        if kernel.told.is_some_and(|(told, _)| told != seen.version()) {
            self.forget_attributes(file.number);
        }
        kernel.pages = match kernel.pages {
            Pages::None => Pages::Of(*seen),
            Pages::Of(before) if before.is_of(&seen.attributes) => Pages::Of(before),
            // Bytes of a version that is not settled count as read at the first moment.
            Pages::Of(before) if before.version() == seen.version() => Pages::Of(before),
            _ => Pages::Mixed,
        };
        let is_mixed = matches!(kernel.pages, Pages::Mixed) && kernel.drops == 0;
        drop(kernel);
        if is_mixed {
            self.drop_pages(Arc::clone(file), Box::new(|| ()));
        }
        true
    }

    fn drop_pages(&self, file: Arc<File>, then: Box<dyn FnOnce() + Send>) {
        file.kernel().drops += 1;
        let job = Job { file, then };
        match self.way.get() {
            // The receiver is gone if the mount is.
            Some(way) => drop(lock(&way.jobs).send(job)),
            None => {
                job.file.kernel().drops -= 1;
                (job.then)();
            }
        }
    }

    /// Runs `then`, which replies to the open, once the kernel has dropped its pages of the file.
    pub(crate) fn opened(&self, handle: &Handle, then: Box<dyn FnOnce() + Send>) {
        self.drop_pages(Arc::clone(&handle.file), then);
    }

    /// Returns the last known attributes of an open file.
    pub(crate) fn of_handle(
        &self,
        handle: &Handle,
        path: &[u8],
    ) -> Result<Timed<Attributes>, Errno> {
        self.of_file(&handle.file, path)
    }

    fn of_file(&self, file: &Arc<File>, path: &[u8]) -> Result<Timed<Attributes>, Errno> {
        file.held.may_be_at(path);
        match file.held.attributes() {
            Ok(seen) => Ok(seen.known()),
            Err(Errno::STALE) => Err(self.lose(file, path)),
            Err(errno) => Err(errno),
        }
    }

    /// The same for an inode number, if it is open.
    pub(crate) fn of_open(
        &self,
        number: u64,
        path: &[u8],
    ) -> Option<Result<Timed<Attributes>, Errno>> {
        let file = self.get(number)?;
        let is_open = file.kernel().handles > 0;
        is_open.then(|| self.of_file(&file, path))
    }

    /// Returns the attributes to tell the kernel about a file: the newer of `known` and the
    /// attributes from its last opening or reading. The flag says whether they may be told at once;
    /// otherwise [`Files::tell`] must be used. From now on the kernel gets no bytes of an earlier
    /// version. `None` if `known` may belong to another file than the open one: see
    /// [`Files::of_open`].
    pub(crate) fn to_tell(
        &self,
        number: u64,
        known: Timed<Attributes>,
    ) -> Option<(Timed<Attributes>, bool)> {
        let Some(file) = self.get(number) else {
            return Some((known, true));
        };
        let mut kernel = file.kernel();
        let known = match file.held.newer(known) {
            Some(known) => known,
            None if kernel.is_used() => return None,
            // The next open opens whatever file is there then.
            None => {
                file.held.forget();
                known
            }
        };
        kernel.told = Some((Version::of(&known.what), known.asked));
        Some((known, !kernel.has_others(&known.what)))
    }

    /// Runs `then`, which replies, once the kernel has dropped its pages of another version.
    pub(crate) fn tell(&self, number: u64, then: Box<dyn FnOnce() + Send>) {
        match self.get(number) {
            Some(file) => self.drop_pages(file, then),
            None => then(),
        }
    }

    /// Checks whether open files with pages in the kernel's cache have changed.
    fn look_after(&self, age: Duration) {
        let is_due = |file: &Arc<File>| {
            let kernel = file.kernel();
            let is_used = kernel.handles > 0 && !matches!(kernel.pages, Pages::None);
            drop(kernel);
            let is_new = |seen: &FileAnswer| seen.asked.elapsed() < age;
            is_used
                && file.held.watched().is_none()
                && !file.held.last().as_ref().is_some_and(is_new)
        };
        let due: Vec<_> = lock(&self.known).values().cloned().collect();
        let due: Vec<_> = due.into_iter().filter(is_due).collect();
        if due.is_empty() {
            return;
        }
        std::thread::scope(|scope| {
            for part in due.chunks(due.len().div_ceil(LOOKS)) {
                scope.spawn(|| part.iter().for_each(|file| self.look_at(file)));
            }
        });
    }

    fn look_at(&self, file: &Arc<File>) {
        match file.held.look() {
            Ok(seen) => {
                if !file.kernel().has_others(&seen.attributes) {
                    return;
                }
                self.forget_attributes(file.number);
                self.drop_pages(Arc::clone(file), Box::new(|| ()));
            }
            // Mapped pages of a file that is gone remain: nothing can replace them.
            Err(Errno::STALE) => {
                self.forget_attributes(file.number);
            }
            Err(_) => {}
        }
    }
}

/// Returns whether this file still owns its inode number.
fn is_known(known: &HashMap<u64, Arc<File>>, file: &Arc<File>) -> bool {
    let now = known.get(&file.number);
    now.is_some_and(|now| Arc::ptr_eq(now, file))
}

/// Checks open files periodically until the mount is gone.
fn look_after(files: &Weak<Files>, pause: Duration) {
    loop {
        std::thread::sleep(pause);
        let Some(files) = files.upgrade() else {
            return;
        };
        files.look_after(pause);
    }
}

/// Returns whether a file with this time of change has not changed for a while.
fn is_stable(changed: Time) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_secs();
    now.saturating_sub(STABLE.as_secs()).cast_signed() > changed.secs
}

/// Returns whether an error says that the name leads to another file, or to none.
fn is_elsewhere(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::STALE | Errno::INVAL
    )
}
