//! Files that were opened, and which version of each the kernel keeps pages and attributes of.
//!
//! Invariants: before the kernel is told another version of a file, or is given bytes of one, what
//! it keeps of the one before is no longer taken for it: its pages are dropped before it hears of
//! new attributes, and its attributes before it gets bytes that are of others. Pages that a program
//! has mapped are looked after as well, without anybody asking. As long as somebody has a file open
//! its number is that file's, and nothing that is said of a name is taken for it that may be of
//! another file.
//!
//! Dropping pages waits for reads of them that are under way. So a thread of its own does it, which
//! answers no request, and then gives the answer that waits for it. Forgetting a name waits for all
//! that is looked up in its directory: a thread of its own does that, too, and no answer waits for it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fuser::{INodeNo, Notifier};
use trawl_call::Attributes;
use trawl_model::relative_path::split;
use trawl_sys::Errno;
use trawl_sys::stat::Time;

use crate::nodes::{Nodes, Stale};
use crate::tree::{Content, Held, Known, MAPPED_LEAST, Seen, Tree, Version};

/// Opened files of which it is known what the kernel keeps; at so many those that nobody has open
/// are forgotten.
const OPENED_MAX: usize = 16 << 10;
/// Small files whose contents are kept when nobody has them open; at so many all are forgotten.
const KEPT_MAX: usize = 1024;
/// So many open files are asked about at once.
const LOOKS: usize = 4;

/// The kernel keeps no contents for read(2) of what changed more lately: while it learns of a
/// file's new size, others who read what it keeps of the file may be given zeros.
const STABLE: Duration = Duration::from_secs(60);
/// So often bytes are read once more because the kernel knows of a later version.
const TRIES: usize = 3;

/// How bytes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As they were read before, if the file has not changed.
    Kept,
    /// As they are now.
    Now,
}

/// Which version the kernel's pages of a file are of.
#[derive(Clone, Copy)]
enum Pages {
    None,
    Of(Seen),
    Mixed,
}

struct Kernel {
    /// How often it is open.
    handles: usize,
    /// How many are about to open it.
    opening: usize,
    /// The version whose attributes the kernel was told last, and when that was asked for.
    told: Option<(Version, Instant)>,
    pages: Pages,
    /// Pages are about to be dropped so often.
    drops: usize,
}

/// A file that was opened.
pub(crate) struct File {
    number: u64,
    held: Held,
    kernel: Mutex<Kernel>,
}

/// How a file was opened.
pub(crate) struct Opened {
    pub(crate) handle: Handle,
    /// What the kernel keeps of it is what is in it.
    pub(crate) is_kept: bool,
    /// Its size says nothing of what is in it, as in `/proc`.
    pub(crate) is_made_up: bool,
    /// It has not changed for a while.
    pub(crate) is_stable: bool,
}

/// A file as one of those who have it open.
#[derive(Clone)]
pub(crate) struct Handle {
    file: Arc<File>,
    pub(crate) content: Content,
}

struct Job {
    file: Arc<File>,
    then: Box<dyn FnOnce() + Send>,
}

/// The way to the kernel.
struct Way {
    notifier: Notifier,
    jobs: Mutex<Sender<Job>>,
    names: Mutex<Sender<Stale>>,
}

/// Files by number.
pub(crate) struct Files {
    tree: Tree,
    nodes: Arc<Nodes>,
    known: Mutex<HashMap<u64, Arc<File>>>,
    /// What is in small files that nobody has open.
    kept: Mutex<HashMap<u64, Content>>,
    way: OnceLock<Way>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl File {
    fn kernel(&self) -> MutexGuard<'_, Kernel> {
        lock(&self.kernel)
    }

    /// Whether the kernel keeps what was read of it.
    fn is_kept(&self) -> bool {
        let last = self.held.last();
        last.is_some_and(|last| is_stable(last.attributes.ctime))
            && matches!(self.kernel().pages, Pages::Of(_))
    }
}

impl Kernel {
    /// Whether it is of this one file and no other, whatever has its number.
    fn is_used(&self) -> bool {
        self.handles > 0 || self.opening > 0
    }

    /// Whether the kernel knows of a later version than this one: with bytes of this one it would
    /// show zeros at their end.
    fn is_past(&self, seen: &Seen) -> bool {
        self.told
            .is_some_and(|(told, asked)| told != seen.version() && asked > seen.asked)
    }

    /// Whether pages that the kernel keeps are not those of a file with these attributes.
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

    /// Begins to tell the kernel what to forget, before it asks anything.
    pub(crate) fn start(self: &Arc<Self>, notifier: Notifier) -> io::Result<()> {
        let (jobs, ours) = channel::<Job>();
        let drops = notifier.clone();
        let thread = std::thread::Builder::new().name("pages".into());
        thread.spawn(move || {
            for Job { file, then } in ours {
                // Reads that are answered meanwhile count.
                file.kernel().pages = Pages::None;
                // What the kernel does not know any more it need not forget.
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
        let _ = self.way.set(Way {
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

    /// Whether it was opened.
    pub(crate) fn is_known(&self, number: u64) -> bool {
        lock(&self.known).contains_key(&number)
    }

    /// A file that is about to be opened.
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

    /// Opens a file: the server is asked, unless it would have said that something has changed.
    pub(crate) fn open(&self, number: u64, path: &[u8]) -> Result<Opened, Errno> {
        let file = self.file(number, path);
        let content = self.take_kept(&file);
        let found = match file.held.watched() {
            _ if !file.is_kept() && !content.is_begun() => content.begin(),
            Some(seen) => Ok((seen, 0)),
            None => file.held.look().map(|seen| (seen, 0)),
        };
        let is_it = |seen: &Seen| self.nodes.is_of(number, path, &seen.attributes);
        let is_opened = found.as_ref().is_ok_and(|(seen, _)| is_it(seen));
        let is_opened = self.end_opening(&file, is_opened);
        let (seen, count) = match found {
            Ok(found) if is_opened => found,
            Err(errno) if !is_elsewhere(errno) => return Err(errno),
            Ok(_) | Err(_) => return Err(self.lose(&file, path)),
        };
        let is_kept = !file.kernel().has_others(&seen.attributes);
        // It may believe earlier ones, also if it was told of these a moment ago.
        self.forget_attributes(number);
        Ok(Opened {
            handle: Handle { file, content },
            is_kept,
            is_made_up: seen.attributes.size == 0 && count > 0,
            is_stable: is_stable(seen.attributes.ctime),
        })
    }

    /// Whether a file was opened: nobody has lost it meanwhile.
    fn end_opening(&self, file: &Arc<File>, is_opened: bool) -> bool {
        let known = lock(&self.known);
        let is_opened = is_opened && is_known(&known, file);
        let mut kernel = file.kernel();
        kernel.opening -= 1;
        kernel.handles += usize::from(is_opened);
        is_opened
    }

    /// The name leads to another file by now, or to none: the kernel is to look once more. Another
    /// one may have the number of the one before, which somebody has open still and keeps.
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

    /// Contents as whoever had the file open before has left them.
    fn take_kept(&self, file: &File) -> Content {
        let kept = lock(&self.kept).remove(&file.number);
        let ours = kept.filter(|content| content.is_of(&file.held));
        ours.unwrap_or_else(|| Content::new(file.held.clone()))
    }

    /// Somebody has closed it. What is in a small file is kept for whoever opens it next.
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

    /// The kernel asks for attributes before it believes any. This waits for nothing.
    pub(crate) fn forget_attributes(&self, number: u64) {
        if let Some(way) = self.way.get() {
            let _ = way.notifier.inval_inode(INodeNo(number), -1, 0);
        }
    }

    /// Has the kernel forget a name whose number is another one's by now.
    pub(crate) fn part(&self, stale: Stale) {
        let unsent = match self.way.get() {
            Some(way) => lock(&way.names).send(stale).err().map(|unsent| unsent.0),
            None => Some(stale),
        };
        // Nobody takes it when the mount is gone.
        if let Some(stale) = unsent {
            self.nodes.parted(&stale);
        }
    }

    fn forget_name(&self, stale: &Stale) {
        let (dir, name) = split(&stale.path);
        // Whoever looks for it next is told what is there now. If the server cannot be asked, what
        // is known gets old.
        let _ = self.tree.look_again(&stale.path);
        if let (Some(way), Some(dir)) = (self.way.get(), self.nodes.number_at(dir)) {
            let name = OsStr::from_bytes(name);
            let _ = way.notifier.inval_entry(INodeNo(dir), name);
        }
        self.nodes.parted(stale);
    }

    /// Bytes of an open file, which the kernel is about to be given.
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

    /// The kernel is about to be given bytes of this version; false if it knows of a later one.
    fn give(&self, handle: &Handle, seen: &Seen) -> bool {
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
            // Bytes of one version that might be two are of the first moment.
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
            // Nobody takes it when the mount is gone.
            Some(way) => drop(lock(&way.jobs).send(job)),
            None => {
                job.file.kernel().drops -= 1;
                (job.then)();
            }
        }
    }

    /// Has the kernel told that a file is open once it has forgotten what it keeps of it.
    pub(crate) fn opened(&self, handle: &Handle, then: Box<dyn FnOnce() + Send>) {
        self.drop_pages(Arc::clone(&handle.file), then);
    }

    /// What is told of an open file: what was said of it last.
    pub(crate) fn of_handle(
        &self,
        handle: &Handle,
        path: &[u8],
    ) -> Result<Known<Attributes>, Errno> {
        self.of_file(&handle.file, path)
    }

    fn of_file(&self, file: &Arc<File>, path: &[u8]) -> Result<Known<Attributes>, Errno> {
        file.held.may_be_at(path);
        match file.held.attributes() {
            Ok(seen) => Ok(seen.known()),
            Err(Errno::STALE) => Err(self.lose(file, path)),
            Err(errno) => Err(errno),
        }
    }

    /// The same of a number, if it is open.
    pub(crate) fn of_open(
        &self,
        number: u64,
        path: &[u8],
    ) -> Option<Result<Known<Attributes>, Errno>> {
        let file = self.get(number)?;
        let is_open = file.kernel().handles > 0;
        is_open.then(|| self.of_file(&file, path))
    }

    /// What the kernel is told of a file, which is the newer one of this and what was said when the
    /// file was opened or read, and whether it may be told that at once; otherwise [`Files::tell`]
    /// is to. From now on it is given no bytes of an earlier version. `None` if this may be of
    /// another file than the one that is open: see [`Files::of_open`].
    pub(crate) fn to_tell(
        &self,
        number: u64,
        known: Known<Attributes>,
    ) -> Option<(Known<Attributes>, bool)> {
        let Some(file) = self.get(number) else {
            return Some((known, true));
        };
        let mut kernel = file.kernel();
        let known = match file.held.newer(known) {
            Some(known) => known,
            None if kernel.is_used() => return None,
            // Whoever opens it opens what is there then.
            None => {
                file.held.forget();
                known
            }
        };
        kernel.told = Some((Version::of(&known.what), known.asked));
        Some((known, !kernel.has_others(&known.what)))
    }

    /// Has the kernel told once it has forgotten the pages that it keeps of another version.
    pub(crate) fn tell(&self, number: u64, then: Box<dyn FnOnce() + Send>) {
        match self.get(number) {
            Some(file) => self.drop_pages(file, then),
            None => then(),
        }
    }

    /// Looks whether open files of which the kernel keeps pages have changed.
    fn look_after(&self, age: Duration) {
        let is_due = |file: &Arc<File>| {
            let kernel = file.kernel();
            let is_used = kernel.handles > 0 && !matches!(kernel.pages, Pages::None);
            drop(kernel);
            let is_new = |seen: &Seen| seen.asked.elapsed() < age;
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
            // What is mapped of it stays: nothing can come in its place.
            Err(Errno::STALE) => {
                self.forget_attributes(file.number);
            }
            Err(_) => {}
        }
    }
}

/// Whether what is known of its number is known of this file.
fn is_known(known: &HashMap<u64, Arc<File>>, file: &Arc<File>) -> bool {
    let now = known.get(&file.number);
    now.is_some_and(|now| Arc::ptr_eq(now, file))
}

/// Until nobody needs the files any more.
fn look_after(files: &Weak<Files>, pause: Duration) {
    loop {
        std::thread::sleep(pause);
        let Some(files) = files.upgrade() else {
            return;
        };
        files.look_after(pause);
    }
}

/// Whether what changed then has not changed for a while.
fn is_stable(changed: Time) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_secs();
    now.saturating_sub(STABLE.as_secs()).cast_signed() > changed.secs
}

/// Whether a name leads elsewhere, or nowhere.
fn is_elsewhere(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::STALE | Errno::INVAL
    )
}
