//! Reads one directory's entries: names, attributes, link targets, extended attributes.
//!
//! A [`Lister`] belongs to one thread and reuses its buffers. For each directory it allocates only
//! the data that it delivers.

use std::ffi::CStr;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use trawl_model::operation::Operation;
use trawl_model::{
    Acl, Dev, DirAccess, DirBatch, Entry, Errno, Issue, Meta, Op, Span, Xattr, path,
};
use trawl_sys::directory::{ReadBuffer, Reader};
use trawl_sys::link::{TargetBuffer, read_link_at};
use trawl_sys::project::{self, Project};
use trawl_sys::stat::{Stat, stat_at};
use trawl_sys::{SysError, xattr};

use super::names::{End, Names};
use super::node::{Identity, Node};
use super::outlet::Fragment;
use crate::options::{Mounts, WalkOptions, Xattrs, trusts_ctime};
use crate::progress::Progress;

/// Number of entries from which attributes are read in inode order: that saves seeks on a cold
/// disk, but for a small directory it only costs a sort.
const INODE_ORDER_ENTRIES: usize = 512;
/// Maximum number of retries for a name that is a link in one call and not in the next.
const REPLACED_TRIES: usize = 100;
/// Size of the `getdents64` buffer: 2,000 to 4,000 entries a call.
const READ_BUFFER_BYTES: usize = 128 << 10;

/// Features that the file system of the current directory lacks; determined once a device.
#[derive(Clone, Copy, Debug, Default)]
struct Lacks {
    dev: Dev,
    xattrs: bool,
    project: bool,
    /// No ctime that is updated on every change of an attribute; see [`trusts_ctime`].
    times: bool,
}

/// When extended attributes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// Not at all.
    Never,
    /// With each entry.
    AtOnce,
    /// After all entries, unless [`WalkOptions::known`] knows the directory.
    IfUnknown,
}

/// An open directory that is about to be read.
pub(crate) struct Target<'a> {
    pub(crate) node: &'a Arc<Node>,
    pub(crate) fd: BorrowedFd<'a>,
    pub(crate) stat: Stat,
}

/// A fragment's batch and the directories found in it.
pub(crate) struct Listed {
    pub(crate) batch: Box<DirBatch>,
    /// Names of the subdirectories to read, each terminated by a NUL.
    pub(crate) children: Vec<u8>,
    pub(crate) child_count: usize,
    pub(crate) fragment: Fragment,
}

/// Reads directories for one thread.
pub(crate) struct Lister<'a> {
    options: &'a WalkOptions<'a>,
    buffer: ReadBuffer,
    scratch: Scratch,
}

/// Reusable buffers, except the one for directory entries.
struct Scratch {
    names: Names,
    stats: Vec<Option<Result<Stat, SysError>>>,
    target: TargetBuffer,
    xattrs: xattr::Reader,
    list: Vec<u8>,
    path: Vec<u8>,
    lacks: Lacks,
}

/// The state of reading one directory.
pub(crate) struct Listing<'a, 'l> {
    target: Target<'a>,
    reader: Reader<'l, BorrowedFd<'a>>,
    scratch: &'l mut Scratch,
    options: &'l WalkOptions<'l>,
    path: Vec<u8>,
    access: DirAccess,
    own: Meta,
    project: Option<Project>,
    issues: Vec<Issue>,
    number: u32,
    /// The names in `scratch` that no batch has yet.
    left: Range<usize>,
    /// Whether the directory has no more names than these.
    is_listed: bool,
    /// Whether the entries' attributes are known to be too large to be read after all entries.
    is_large: bool,
    counts: Progress,
}

/// Why attributes were not read.
struct TooLarge;

impl<'o> Lister<'o> {
    pub(crate) fn new(options: &'o WalkOptions<'o>, xattrs: xattr::Reader) -> Self {
        Lister {
            options,
            buffer: ReadBuffer::new(READ_BUFFER_BYTES),
            scratch: Scratch {
                names: Names::default(),
                stats: Vec::new(),
                target: TargetBuffer::default(),
                xattrs,
                list: Vec::new(),
                path: Vec::new(),
                lacks: Lacks::default(),
            },
        }
    }

    /// Starts reading a directory, with its own attributes and permissions.
    pub(crate) fn start<'a, 'l>(&'l mut self, target: Target<'a>) -> Listing<'a, 'l> {
        let scratch = &mut self.scratch;
        if scratch.lacks.dev != target.stat.dev {
            let system = trawl_sys::filesystem::of_fd(target.fd);
            scratch.lacks = Lacks {
                dev: target.stat.dev,
                times: !system.is_ok_and(|system| trusts_ctime(system.magic)),
                ..Lacks::default()
            };
        }
        let mut listing = Listing {
            reader: self.buffer.read(target.fd),
            path: target.node.path(),
            access: DirAccess::default(),
            own: target.stat.meta,
            project: None,
            issues: Vec::new(),
            number: 0,
            left: 0..0,
            is_listed: false,
            is_large: false,
            counts: Progress {
                directories: 1,
                ..Progress::default()
            },
            target,
            scratch,
            options: self.options,
        };
        listing.read_own();
        listing
    }
}

impl Listing<'_, '_> {
    /// Returns the directory's contribution to the counters since the last call.
    pub(crate) fn take_counts(&mut self) -> Progress {
        std::mem::take(&mut self.counts)
    }

    /// Reads the directory's permissions and project from its descriptor.
    fn read_own(&mut self) {
        let fd = self.target.fd;
        if !self.scratch.lacks.project {
            match project::of_fd(fd) {
                Ok(Some(project)) => self.project = Some(project),
                Ok(None) => self.scratch.lacks.project = true,
                Err(e) => self.own_issue(Op::Project, e),
            }
        }
        self.own.project = self.project.map(|p| p.id);
        let mut acl = None;
        if !self.scratch.lacks.xattrs {
            match self.scratch.xattrs.get_fd(fd, xattr::ACL_ACCESS) {
                Ok(value) => acl = value.and_then(Acl::parse),
                Err(e) if e.is_unsupported() => self.scratch.lacks.xattrs = true,
                Err(e) => self.own_issue(Op::GetXattr, e),
            }
        }
        self.access = access(&self.target.stat, acl);
    }

    fn own_issue(&mut self, op: Op, error: SysError) {
        self.issues.push(issue(self.path.clone(), op, error));
    }

    fn entry_issue(&mut self, name: &CStr, op: Op, error: SysError) {
        let path = path::join(&self.path, name.to_bytes());
        self.issues.push(issue(path, op, error));
    }

    /// Reads the next fragment; returns `None` after the last.
    pub(crate) fn next(&mut self) -> Option<Listed> {
        if self.left.is_empty() {
            if self.is_listed {
                return None;
            }
            self.list();
        }
        Some(self.gather())
    }

    /// Reads the next names.
    fn list(&mut self) {
        let span = Operation::ReadDirectory.span();
        let end = self.scratch.names.read(&mut self.reader);
        drop(span);
        match end {
            End::Full => {}
            End::Done => self.is_listed = true,
            End::Failed(error) => {
                self.is_listed = true;
                if error.is_vanished() {
                    self.counts.vanished += 1;
                } else {
                    self.own_issue(Op::ReadDir, error);
                }
            }
        }
        self.begin();
    }

    /// Examines these names instead of listing the directory; returns one fragment with those that
    /// exist. Returns `None` if they do not fit in a fragment.
    pub(crate) fn only<'n>(&mut self, names: impl Iterator<Item = &'n CStr>) -> Option<Listed> {
        self.scratch.names.set(names);
        self.is_listed = true;
        self.begin();
        let listed = self.gather();
        (listed.fragment == Fragment::Last).then_some(listed)
    }

    /// Prepares for gathering the names that were read.
    fn begin(&mut self) {
        self.left = 0..self.scratch.names.len();
        if self.when() == When::AtOnce {
            self.enter();
        }
    }

    fn enter(&mut self) {
        // If this fails (no search permission), each later call fails and reports it.
        let _ = self.scratch.xattrs.enter(self.target.fd);
    }

    /// Decides when the entries' extended attributes are read.
    fn when(&self) -> When {
        let is_whole = self.number == 0 && self.is_listed && self.issues.is_empty();
        if self.options.xattrs == Xattrs::Skip || self.scratch.lacks.xattrs {
            When::Never
        } else if self.options.known.is_some()
            && is_whole
            && !self.is_large
            && !self.scratch.lacks.times
        {
            When::IfUnknown
        } else {
            When::AtOnce
        }
    }

    /// Makes the next batch of the names that were read: of all that are left, unless their
    /// attributes and link targets are large.
    fn gather(&mut self) -> Listed {
        let _span = Operation::TakeEntries.span();
        if self.left.start == 0 {
            self.stat_ahead();
        }
        let names = std::mem::take(&mut self.scratch.names);
        let when = self.when();
        let before = self.counts;
        let mut found = self.take(&names, when);
        if when == When::IfUnknown
            && !(self.left.is_empty() && self.is_known(&mut found.batch))
            && self.read_all_xattrs(&mut found.batch, &names).is_err()
        {
            (self.counts, self.left, self.is_large) = (before, 0..names.len(), true);
            self.issues.clear();
            found = self.take(&names, When::AtOnce);
        }
        self.scratch.names = names;
        self.finish(found)
    }

    /// Takes the next names into a batch, until it is full.
    fn take(&mut self, names: &Names, when: When) -> PendingBatch {
        let mut found = match self.left.start {
            0 => PendingBatch::with_room(names.len(), names.name_bytes()),
            _ => PendingBatch::with_room(0, 0),
        };
        let takes_more = |batch: &DirBatch| {
            batch.entries.is_empty() || batch.heap.len() < self.options.fragment_bytes
        };
        while takes_more(&found.batch)
            && let Some(index) = self.left.next()
        {
            let Some(name) = names.get(index) else {
                continue;
            };
            if !self.options.excludes.is_empty() && self.is_excluded(name) {
                continue;
            }
            let ahead = self.scratch.stats.get_mut(index).and_then(Option::take);
            match ahead.unwrap_or_else(|| stat_at(self.target.fd, name)) {
                Ok(stat) => self.add(&mut found, name, stat, when),
                Err(e) if e.is_vanished() => self.counts.vanished += 1,
                Err(e) => self.entry_issue(name, Op::Stat, e),
            }
        }
        found
    }

    /// Returns true if nothing has changed since the directory was last read, and its entries had
    /// no attributes then.
    fn is_known(&mut self, batch: &mut DirBatch) -> bool {
        let Some(known) = self.options.known else {
            return false;
        };
        batch.own = self.own;
        batch.path = std::mem::take(&mut self.path);
        let is_known = self.issues.is_empty() && known.is_known(batch);
        self.path = std::mem::take(&mut batch.path);
        is_known
    }

    /// Reads the extended attributes of entries that were gathered without them. Fails if they do not
    /// fit in one batch.
    fn read_all_xattrs(&mut self, batch: &mut DirBatch, names: &Names) -> Result<(), TooLarge> {
        self.enter();
        let mut next = 0;
        for index in 0..batch.entries.len() {
            if batch.heap.len() >= self.options.fragment_bytes {
                return Err(TooLarge);
            }
            let mut entry = batch.entries[index];
            // Some names may have vanished or been excluded.
            let name = loop {
                let Some(name) = names.get(next) else {
                    return Ok(());
                };
                next += 1;
                if name.to_bytes() == batch.bytes(entry.name) {
                    break name;
                }
            };
            if self.scratch.lacks.xattrs {
                return Ok(());
            }
            self.read_xattrs(batch, name, &mut entry, index);
            batch.entries[index] = entry;
        }
        Ok(())
    }

    /// Calls statx for many names in inode order.
    fn stat_ahead(&mut self) {
        let names = &mut self.scratch.names;
        let stats = &mut self.scratch.stats;
        stats.clear();
        if names.len() < INODE_ORDER_ENTRIES || !self.options.excludes.is_empty() {
            return;
        }
        stats.resize_with(names.len(), || None);
        let order = names.take_inode_order();
        for index in &order {
            let index = *index as usize;
            if let (Some(name), Some(slot)) = (names.get(index), stats.get_mut(index)) {
                *slot = Some(stat_at(self.target.fd, name));
            }
        }
        names.keep_inode_order(order);
    }

    fn is_excluded(&mut self, name: &CStr) -> bool {
        self.options
            .excludes
            .excludes(&self.path, name, &mut self.scratch.path)
    }

    /// Adds one entry.
    fn add(&mut self, found: &mut PendingBatch, name: &CStr, mut stat: Stat, when: When) {
        let mut link_target = Span::EMPTY;
        if stat.is_symlink() {
            match self.read_target(&mut found.batch, name, &mut stat) {
                Some(span) => link_target = span,
                None => return,
            }
        }
        let mut entry = Entry {
            meta: stat.meta,
            name: found.batch.push_bytes(name.to_bytes()),
            link_target,
            ..Entry::default()
        };
        entry.meta.project = self.entry_project(name, &stat);
        if when == When::AtOnce && !self.scratch.lacks.xattrs {
            let index = found.batch.entries.len();
            self.read_xattrs(&mut found.batch, name, &mut entry, index);
        }
        if stat.is_file() {
            // For the progress only: sparse files may claim any size.
            self.counts.bytes = self.counts.bytes.saturating_add(stat.size);
        } else if stat.is_directory() && self.is_to_be_read(name, &stat) {
            found.children.extend_from_slice(name.to_bytes_with_nul());
            found.child_count += 1;
        }
        found.batch.entries.push(entry);
    }

    /// Returns a link's target; `None` if the link has vanished. The span is empty if the target
    /// cannot be read, or if the name is no longer a link; `stat` then holds its new attributes.
    fn read_target(&mut self, batch: &mut DirBatch, name: &CStr, stat: &mut Stat) -> Option<Span> {
        let mut tries = 0;
        let error = loop {
            let error = match read_link_at(self.target.fd, name, &mut self.scratch.target) {
                Ok(target) => return Some(batch.push_bytes(target)),
                Err(error) => error,
            };
            tries += 1;
            if error.errno != trawl_sys::Errno::INVAL || tries > REPLACED_TRIES {
                break error;
            }
            // It is no longer a link. Another statx shows its type, unless it keeps being swapped.
            match stat_at(self.target.fd, name) {
                Ok(now) if now.is_symlink() => {}
                Ok(now) => {
                    *stat = now;
                    return Some(Span::EMPTY);
                }
                Err(error) => break error,
            }
        };
        if error.is_vanished() {
            self.counts.vanished += 1;
            return None;
        }
        self.entry_issue(name, Op::ReadLink, error);
        Some(Span::EMPTY)
    }

    /// Returns the entry's project id; see [`trawl_sys::project`] for the rule.
    fn entry_project(&mut self, name: &CStr, stat: &Stat) -> Option<u32> {
        let own = self.project?;
        if !own.may_have_more() {
            return Some(0);
        }
        if !stat.is_file() && !stat.is_directory() {
            return Some(own.id);
        }
        match project::of_file_at(self.target.fd, name) {
            Ok(project) => project.map(|p| p.id),
            Err(e) if e.is_vanished() => None,
            Err(e) => {
                self.entry_issue(name, Op::Project, e);
                None
            }
        }
    }

    /// Returns whether there is room for more attributes of an entry. On some file systems a few files
    /// can have gigabytes of them.
    fn has_room(&mut self, batch: &DirBatch, name: &CStr) -> bool {
        let has_room = batch.heap.len() < self.options.entry_bytes;
        if !has_room {
            let error = SysError::new(trawl_sys::Op::Getxattr, trawl_sys::Errno::TOOBIG);
            self.entry_issue(name, Op::GetXattr, error);
        }
        has_room
    }

    fn read_xattrs(&mut self, batch: &mut DirBatch, name: &CStr, entry: &mut Entry, index: usize) {
        if !self.has_room(batch, name) {
            return;
        }
        let mut list = std::mem::take(&mut self.scratch.list);
        list.clear();
        match self.scratch.xattrs.list(self.target.fd, name) {
            Ok(names) => list.extend_from_slice(names),
            Err(e) if e.is_unsupported() => self.scratch.lacks.xattrs = true,
            Err(e) if e.is_vanished() => {}
            Err(e) => self.entry_issue(name, Op::ListXattr, e),
        }
        if !list.is_empty() {
            entry.xattr_names = batch.push_bytes(&list);
            self.read_values(batch, name, (entry, index), &list);
        }
        self.scratch.list = list;
    }

    /// Reads the value of each attribute in `list`; ACLs go to fields of their own.
    fn read_values(
        &mut self,
        batch: &mut DirBatch,
        name: &CStr,
        (entry, index): (&mut Entry, usize),
        list: &[u8],
    ) {
        let mut at = entry.xattr_names.start;
        for attribute in list.split_inclusive(|b| *b == 0) {
            let Ok(attribute) = CStr::from_bytes_with_nul(attribute) else {
                continue;
            };
            let len = attribute.to_bytes().len() as u32;
            let attribute_name = Span { start: at, len };
            at += len + 1;
            if !self.has_room(batch, name) {
                return;
            }
            let value = match self.scratch.xattrs.get(self.target.fd, name, attribute) {
                Ok(Some(value)) => batch.push_bytes(value),
                Ok(None) => continue,
                Err(e) if e.is_vanished() => continue,
                Err(e) => {
                    self.entry_issue(name, Op::GetXattr, e);
                    continue;
                }
            };
            if attribute == xattr::ACL_ACCESS {
                entry.acl = value;
            } else if attribute == xattr::ACL_DEFAULT {
                entry.acl_default = value;
            } else {
                // A batch has at most 65,536 entries.
                batch.xattrs.push(Xattr {
                    entry: index as u32,
                    name: attribute_name,
                    value,
                });
            }
        }
    }

    /// Returns true if the directory `name` must be read. It is not read if it is a mount point
    /// that must not be crossed, or one of its own ancestors, mounted below itself.
    fn is_to_be_read(&mut self, name: &CStr, stat: &Stat) -> bool {
        let here = self.target.node.identity;
        if self.options.mounts == Mounts::Stay && stat.dev != here.dev {
            return false;
        }
        let there = Identity::from(stat);
        if there.mnt_id == here.mnt_id || !is_own_ancestor(self.target.node, there) {
            return true;
        }
        self.entry_issue(
            name,
            Op::OpenDir,
            SysError::new(trawl_sys::Op::Openat, trawl_sys::Errno::LOOP),
        );
        false
    }

    /// Fills in the batch's data about the directory itself.
    fn finish(&mut self, mut found: PendingBatch) -> Listed {
        let batch = &mut found.batch;
        batch.dir = self.target.node.id;
        batch.parent = self.target.node.parent.as_ref().map(|parent| parent.id);
        batch.own = self.own;
        batch.fragment = self.number;
        batch.issues = std::mem::take(&mut self.issues);
        let is_over = self.is_listed && self.left.is_empty();
        if is_over {
            batch.path = std::mem::take(&mut self.path);
            batch.access = std::mem::take(&mut self.access);
        } else {
            batch.path.clone_from(&self.path);
            batch.access.clone_from(&self.access);
        }
        self.number += 1;
        self.counts.entries += batch.entries.len() as u64;
        self.counts.issues += batch.issues.len() as u64;
        let fragment = if is_over {
            Fragment::Last
        } else {
            Fragment::More
        };
        Listed {
            batch: found.batch,
            children: found.children,
            child_count: found.child_count,
            fragment,
        }
    }
}

/// A batch under construction.
struct PendingBatch {
    batch: Box<DirBatch>,
    children: Vec<u8>,
    child_count: usize,
}

impl PendingBatch {
    fn with_room(entries: usize, name_bytes: usize) -> Self {
        let batch = DirBatch {
            entries: Vec::with_capacity(entries),
            heap: Vec::with_capacity(name_bytes),
            ..DirBatch::default()
        };
        PendingBatch {
            batch: Box::new(batch),
            children: Vec::new(),
            child_count: 0,
        }
    }
}

/// Returns true if `identity` is the directory `node` or an ancestor of it.
fn is_own_ancestor(node: &Arc<Node>, identity: Identity) -> bool {
    node.ancestry()
        .any(|above| above.identity.dev == identity.dev && above.identity.ino == identity.ino)
}

pub(crate) fn issue(path: Vec<u8>, op: Op, error: SysError) -> Issue {
    Issue {
        path,
        op,
        errno: Errno(error.errno.0),
        detail: String::new(),
    }
}

/// Returns the issue for a directory that cannot be opened.
pub(crate) fn cannot_open(path: Vec<u8>, error: SysError) -> Issue {
    issue(path, Op::OpenDir, error)
}

/// Returns the permissions that determine who may search and list a directory.
pub(crate) fn access(stat: &Stat, acl: Option<Acl>) -> DirAccess {
    DirAccess {
        mode: stat.mode,
        uid: stat.uid,
        gid: stat.gid,
        acl,
    }
}
