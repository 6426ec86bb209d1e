//! Reads parts of a tree that was read before: listings of single directories, and subtrees.
//!
//! The directories on the path to the current part stay open and are reused for the next part, so
//! parts are best read in path order.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use trawl_model::sink::{PartSink, SourceRoot};
use trawl_model::{Acl, Dev, DirAccess, DirId, path};
use trawl_sys::directory::{Purpose, open_at};
use trawl_sys::stat::{Stat, stat_fd};
use trawl_sys::{Errno, SysError, xattr};

use super::lister::{Lister, Target, access, cannot_open};
use super::node::Node;
use super::stack::LIST;
use super::{Top, root, walk_from};
use crate::error::ScanError;
use crate::options::{Mounts, WalkOptions};
use crate::progress::ScanProgress;

/// How much of a part is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The entries of the directory.
    Listing,
    /// The entries of the directory and of all directories below.
    Subtree,
}

/// Result of reading a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartRead {
    /// The part was delivered to the sink.
    Done,
    /// The directory does not exist at this moment.
    Absent,
    /// The directory does not belong to the source: another file system is mounted on it or above
    /// it.
    Beyond,
    /// The directory cannot be opened; the sink got an issue.
    Closed,
    /// Another directory exists at the path; nothing of it was read.
    Another,
    /// The names with their extended attributes do not fit in a batch; the sink got nothing of them.
    TooLarge,
}

/// A selection of names in a directory.
#[derive(Clone, Copy, Debug)]
pub struct SomeNames<'n> {
    /// The names; at most as many as fit in a batch.
    pub names: &'n [CString],
    /// Device and inode number of the directory.
    pub of: (Dev, u64),
}

/// The selection to read from the directory at a path.
#[derive(Clone, Copy)]
enum Selection<'n> {
    Part(Extent),
    Names(SomeNames<'n>),
}

/// A reader of parts of a tree.
pub struct Parts<'o> {
    options: &'o WalkOptions<'o>,
    lister: Lister<'o>,
    reader: xattr::Reader,
    /// The directories from the source's root to the current one.
    way: Vec<Step>,
    next_id: u64,
    progress: ScanProgress,
}

/// A directory on the way to the current one.
struct Step {
    node: Arc<Node>,
    stat: Stat,
    /// Descriptor; closed beyond [`OPEN_MOST`] directories.
    fd: Option<Arc<OwnedFd>>,
    /// Whether the sink knows the directory.
    told: bool,
}

/// Result of opening a name.
enum Next {
    Here(Step),
    /// There is no directory to read.
    Not(PartRead),
}

/// Maximum number of directories on the way that stay open.
const OPEN_MOST: usize = 64;

impl<'o> Parts<'o> {
    /// Opens the tree at `path` and returns the current state of its root.
    ///
    /// # Errors
    /// Fails if the root cannot be opened.
    pub fn open<E>(
        path: &[u8],
        options: &'o WalkOptions<'o>,
    ) -> Result<(Parts<'o>, SourceRoot), ScanError<E>> {
        let opened = root::open(path, options.xattrs)?;
        let top = Step {
            node: Node::root(DirId(0), opened.path, &opened.stat),
            stat: opened.stat,
            fd: Some(Arc::new(opened.fd)),
            told: false,
        };
        let parts = Parts {
            options,
            lister: Lister::new(options, xattr::Reader::for_any_thread()),
            reader: xattr::Reader::for_any_thread(),
            way: vec![top],
            next_id: 1,
            progress: ScanProgress::default(),
        };
        Ok((parts, opened.source))
    }

    /// Returns the counts of everything read so far.
    pub fn progress(&self) -> &ScanProgress {
        &self.progress
    }

    /// Reads the directory at `path` (absolute, normalised, within the tree) into `sink`.
    ///
    /// # Errors
    /// Fails if the scan must end: the cancel flag is set, or the sink fails.
    pub fn read<S: PartSink>(
        &mut self,
        path: &[u8],
        extent: Extent,
        sink: &mut S,
    ) -> Result<PartRead, ScanError<S::Error>> {
        self.read_wanted(path, Selection::Part(extent), sink)
    }

    /// Reads some entries of the directory at `path` in one batch if they fit in one, with the data about the
    /// directory itself; names that do not exist are left out. The caller may give the sink further
    /// batches of that directory before it reads anything else.
    ///
    /// # Errors
    /// Returns the errors of [`Parts::read`].
    pub fn read_names<S: PartSink>(
        &mut self,
        path: &[u8],
        names: SomeNames<'_>,
        sink: &mut S,
    ) -> Result<PartRead, ScanError<S::Error>> {
        self.read_wanted(path, Selection::Names(names), sink)
    }

    fn read_wanted<S: PartSink>(
        &mut self,
        path: &[u8],
        wanted: Selection<'_>,
        sink: &mut S,
    ) -> Result<PartRead, ScanError<S::Error>> {
        let Some(names) = self.names_to(path) else {
            return Ok(PartRead::Absent);
        };
        let shared = self.shared_with(&names);
        self.leave(shared, sink)?;
        let parents = names.len().saturating_sub(1);
        // The sink gets the root first, even if nothing in it is read.
        self.tell(sink)?;
        for name in names.get(shared..parents).unwrap_or_default() {
            match self.open_next(name, Purpose::Pass) {
                Ok(Next::Here(step)) => self.way.push(step),
                Ok(Next::Not(why)) => return Ok(why),
                Err(error) => return self.closed(path, error, sink),
            }
            self.tell(sink)?;
        }
        match self.target(&names, shared) {
            Ok(Next::Here(step)) => self.read_step(step, wanted, sink),
            Ok(Next::Not(why)) => Ok(why),
            Err(error) => self.closed(path, error, sink),
        }
    }

    /// Tells the sink that nothing more follows.
    ///
    /// # Errors
    /// Returns the sink's error.
    pub fn finish<S: PartSink>(&mut self, sink: &mut S) -> Result<(), ScanError<S::Error>> {
        self.leave(0, sink)?;
        if let Some(top) = self.way.first_mut().filter(|top| top.told) {
            top.told = false;
            sink.subtree_done(top.node.id).map_err(ScanError::Sink)?;
        }
        Ok(())
    }

    /// Returns the names from the root to `path`, none for the root itself; `None` if `path` is not
    /// in the tree.
    fn names_to(&self, path: &[u8]) -> Option<Vec<CString>> {
        let root = self.way.first()?.node.path();
        if !path::is_within(path, &root) {
            return None;
        }
        let below = path.get(root.len()..)?;
        let names = below.split(|byte| *byte == b'/').filter(|n| !n.is_empty());
        names.map(|name| CString::new(name).ok()).collect()
    }

    /// Returns how many of these names the current way begins with; the last name is always opened
    /// anew.
    fn shared_with(&self, names: &[CString]) -> usize {
        let steps = self.way.iter().skip(1);
        let parents = names.iter().take(names.len().saturating_sub(1));
        let same = steps
            .zip(parents)
            .take_while(|(step, name)| step.node.name() == name.as_c_str());
        same.count()
    }

    /// Goes back until the way has this number of names.
    fn leave<S: PartSink>(
        &mut self,
        names: usize,
        sink: &mut S,
    ) -> Result<(), ScanError<S::Error>> {
        while self.way.len() > names + 1 {
            if let Some(step) = self.way.pop().filter(|step| step.told) {
                sink.subtree_done(step.node.id).map_err(ScanError::Sink)?;
            }
        }
        Ok(())
    }

    /// Opens the directory to read: the root, or a name in the directory at the end of the way.
    fn target(&mut self, names: &[CString], shared: usize) -> Result<Next, SysError> {
        let Some(name) = names.last() else {
            debug_assert_eq!(shared, 0);
            let fd = self.fd_of(0)?;
            let stat = stat_fd(&fd)?;
            let list = open_at(&fd, c".", LIST)?;
            let node = self.way.first().map(|top| Arc::clone(&top.node));
            let step = node.map(|node| Step {
                node,
                stat,
                fd: Some(Arc::new(list)),
                told: false,
            });
            return Ok(step.map_or(Next::Not(PartRead::Absent), Next::Here));
        };
        self.open_next(name, LIST)
    }

    /// Opens a name in the directory at the end of the way.
    fn open_next(&mut self, name: &CStr, purpose: Purpose) -> Result<Next, SysError> {
        let at = self.way.len().saturating_sub(1);
        let above = self.fd_of(at)?;
        let fd = match open_at(&above, name, purpose) {
            Ok(fd) => fd,
            Err(error) if is_no_directory(error) => return Ok(Next::Not(PartRead::Absent)),
            Err(error) => return Err(error),
        };
        let stat = stat_fd(&fd)?;
        let Some(parent) = self.way.last().filter(|_| stat.is_directory()) else {
            return Ok(Next::Not(PartRead::Absent));
        };
        let is_mount = stat.dev != parent.node.identity.dev;
        if is_mount && self.options.mounts == Mounts::Stay {
            return Ok(Next::Not(PartRead::Beyond));
        }
        let id = DirId(self.next_id);
        self.next_id += 1;
        Ok(Next::Here(Step {
            node: Node::child(&parent.node, id, name.into(), &stat),
            stat,
            fd: Some(Arc::new(fd)),
            told: false,
        }))
    }

    /// Returns the descriptor of a step, opened again if necessary.
    fn fd_of(&mut self, at: usize) -> Result<Arc<OwnedFd>, SysError> {
        let gone = SysError::new(trawl_sys::Op::Openat, Errno::NOENT);
        let open = (0..=at).rev().find_map(|step| {
            let fd = self.way.get(step)?.fd.clone()?;
            Some((step, fd))
        });
        let (from, mut fd) = open.ok_or(gone)?;
        for step in self.way.get(from + 1..=at).unwrap_or_default() {
            let next = open_at(&fd, step.node.name(), Purpose::Pass)?;
            let stat = stat_fd(&next)?;
            if (stat.dev, stat.ino) != (step.stat.dev, step.stat.ino) {
                return Err(SysError::new(trawl_sys::Op::Openat, Errno::STALE));
            }
            fd = Arc::new(next);
        }
        if let Some(step) = self.way.get_mut(at).filter(|_| at < OPEN_MOST) {
            step.fd = Some(Arc::clone(&fd));
        }
        Ok(fd)
    }

    /// Tells the sink about the directory at the end of the way, unless it knows it.
    fn tell<S: PartSink>(&mut self, sink: &mut S) -> Result<(), ScanError<S::Error>> {
        let at = self.way.len().saturating_sub(1);
        let Some(step) = self.way.last().filter(|step| !step.told) else {
            return Ok(());
        };
        let (node, stat) = (Arc::clone(&step.node), step.stat);
        // Attributes cannot be read from an `O_PATH` descriptor, but through a path below it.
        let value = match &step.fd {
            Some(fd) => self.reader.get(fd, c".", xattr::ACL_ACCESS),
            None => Ok(None),
        };
        let access = match value {
            Ok(value) => access(&stat, value.and_then(Acl::parse)),
            Err(e) if e.is_unsupported() => access(&stat, None),
            // The permissions are unknown: only the superuser may pass.
            Err(_) => DirAccess::default(),
        };
        let parent = node.parent.as_ref().map(|parent| parent.id);
        sink.passed(node.id, parent, &node.path(), &access)
            .map_err(ScanError::Sink)?;
        if let Some(step) = self.way.last_mut() {
            step.told = true;
            if at >= OPEN_MOST {
                step.fd = None;
            }
        }
        Ok(())
    }

    /// Reads an open directory. It becomes the end of the way, unless its whole subtree was read.
    fn read_step<S: PartSink>(
        &mut self,
        step: Step,
        wanted: Selection<'_>,
        sink: &mut S,
    ) -> Result<PartRead, ScanError<S::Error>> {
        let Some(fd) = step.fd.clone() else {
            return Ok(PartRead::Absent);
        };
        if let Selection::Part(Extent::Subtree) = wanted {
            let (node, stat) = (step.node, step.stat);
            let top = Top { fd, stat, node };
            self.next_id = walk_from(&top, self.next_id, self.options, &self.progress, sink)?;
            return Ok(PartRead::Done);
        }
        if let Selection::Names(SomeNames { of, .. }) = wanted
            && of != (step.stat.dev, step.stat.ino)
        {
            return Ok(PartRead::Another);
        }
        let mut listing = self.lister.start(Target {
            node: &step.node,
            fd: fd.as_fd(),
            stat: step.stat,
        });
        if let Selection::Names(SomeNames { names, .. }) = wanted {
            let Some(listed) = listing.only(names.iter().map(CString::as_c_str)) else {
                return Ok(PartRead::TooLarge);
            };
            self.progress.add(listing.take_counts());
            sink.batch(*listed.batch).map_err(ScanError::Sink)?;
        } else {
            while let Some(listed) = listing.next() {
                self.progress.add(listing.take_counts());
                sink.batch(*listed.batch).map_err(ScanError::Sink)?;
            }
        }
        drop(listing);
        match step.node.parent {
            Some(_) => self.way.push(Step { told: true, ..step }),
            None => {
                if let Some(top) = self.way.first_mut() {
                    top.told = true;
                }
            }
        }
        Ok(PartRead::Done)
    }

    fn closed<S: PartSink>(
        &mut self,
        path: &[u8],
        error: SysError,
        sink: &mut S,
    ) -> Result<PartRead, ScanError<S::Error>> {
        let above = self.way.last().map(|step| step.node.id);
        sink.issue(above, cannot_open(path.to_vec(), error))
            .map_err(ScanError::Sink)?;
        Ok(PartRead::Closed)
    }
}

/// Returns true if no directory with the opened name exists.
fn is_no_directory(error: SysError) -> bool {
    error.is_vanished() || matches!(error.errno, Errno::NOTDIR | Errno::LOOP | Errno::STALE)
}
