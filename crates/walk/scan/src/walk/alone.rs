//! Reads a single entry of any type without listing the directory that contains it, for users who
//! may pass that directory but not list it.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use trawl_model::sink::SourceRoot;
use trawl_model::{DirAccess, DirBatch, DirId, Entry, Issue, Op, Sink, Span, Xattr, path};
use trawl_sys::directory::{Purpose, open_at, open_root};
use trawl_sys::link::{TargetBuffer, read_link_at};
use trawl_sys::stat::{Stat, stat_at, stat_fd};
use trawl_sys::{Errno, SysError, xattr};

use super::lister::{cannot_open, issue};
use super::stack::LIST;
use crate::error::ScanError;
use crate::options::Xattrs;

/// Reads the entry at `path`. The path must be absolute, normalised and not `/`, and only its last
/// component may be a link. The sink gets the parent directory as the source's root, with this one
/// entry in it. If the entry is a directory that may not be listed, that is an issue.
///
/// # Errors
/// Fails with [`ScanError::Root`] if the entry does not exist or cannot be reached, and with
/// [`ScanError::Sink`].
pub fn look<S: Sink>(path: &[u8], xattrs: Xattrs, sink: &mut S) -> Result<(), ScanError<S::Error>> {
    let failed = |source| ScanError::Root {
        path: path.to_vec(),
        source,
    };
    let (dir, name) = path::split(path).unwrap_or_default();
    let parent = open_dir(dir).map_err(failed)?;
    let name = c_string(name).map_err(failed)?;
    let mut batch = DirBatch {
        dir: DirId(0),
        path: dir.to_vec(),
        // The result is used by this process only.
        access: DirAccess {
            mode: 0o755,
            ..DirAccess::default()
        },
        own: stat_fd(&parent).map_err(failed)?.meta,
        ..DirBatch::default()
    };
    let root = root_of(&batch);
    EntryLook {
        parent: &parent,
        name: &name,
        path,
        batch: &mut batch,
    }
    .read(xattrs)
    .map_err(failed)?;
    sink.root(root)
        .and_then(|()| sink.batch(batch))
        .and_then(|()| sink.subtree_done(DirId(0)))
        .map_err(ScanError::Sink)
}

fn c_string(name: &[u8]) -> Result<CString, SysError> {
    CString::new(name).map_err(|_| SysError::new(trawl_sys::Op::Openat, Errno::INVAL))
}

/// Opens a directory name by name, following no link, as a starting point for its entries.
fn open_dir(path: &[u8]) -> Result<OwnedFd, SysError> {
    let mut at = open_root(Purpose::Pass)?;
    for name in path.split(|b| *b == b'/').filter(|name| !name.is_empty()) {
        at = open_at(&at, &c_string(name)?, Purpose::Pass)?;
    }
    Ok(at)
}

/// Returns the batch's directory as a source's root.
fn root_of(batch: &DirBatch) -> SourceRoot {
    let mut heap = DirBatch::default();
    let name = path::split(&batch.path).map_or(&b""[..], |(_, name)| name);
    let entry = Entry {
        meta: batch.own,
        name: heap.push_bytes(name),
        ..Entry::default()
    };
    SourceRoot {
        path: batch.path.clone(),
        above: Vec::new(),
        above_on_device: 0,
        entry,
        xattrs: Vec::new(),
        heap: heap.heap,
    }
}

/// The entry being read.
struct EntryLook<'a> {
    parent: &'a OwnedFd,
    name: &'a CStr,
    path: &'a [u8],
    batch: &'a mut DirBatch,
}

impl EntryLook<'_> {
    fn read(mut self, xattrs: Xattrs) -> Result<(), SysError> {
        let stat = stat_at(self.parent, self.name)?;
        let mut entry = Entry {
            meta: stat.meta,
            name: self.batch.push_bytes(self.name.to_bytes()),
            ..Entry::default()
        };
        if stat.is_symlink() {
            entry.link_target = self.target();
        }
        if xattrs == Xattrs::Read {
            self.attributes(&mut entry);
        }
        self.try_to_open(&stat);
        self.batch.entries.push(entry);
        Ok(())
    }

    fn target(&mut self) -> Span {
        let mut buffer = TargetBuffer::default();
        match read_link_at(self.parent, self.name, &mut buffer) {
            Ok(target) => self.batch.push_bytes(target),
            Err(error) => {
                self.note(issue(self.path.to_vec(), Op::ReadLink, error));
                Span::EMPTY
            }
        }
    }

    fn try_to_open(&mut self, stat: &Stat) {
        if stat.is_directory()
            && let Err(error) = open_at(self.parent, self.name, LIST)
        {
            self.note(cannot_open(self.path.to_vec(), error));
        }
    }

    fn note(&mut self, issue: Issue) {
        self.batch.issues.push(issue);
    }

    fn attributes(&mut self, entry: &mut Entry) {
        let mut reader = xattr::Reader::for_any_thread();
        let list = match reader.list(self.parent, self.name) {
            Ok(list) => list.to_vec(),
            Err(error) if error.is_unsupported() => return,
            Err(error) => return self.note(issue(self.path.to_vec(), Op::ListXattr, error)),
        };
        entry.xattr_names = self.batch.push_bytes(&list);
        let mut at = entry.xattr_names.start;
        for attribute in list.split_inclusive(|b| *b == 0) {
            let Ok(attribute) = CStr::from_bytes_with_nul(attribute) else {
                continue;
            };
            let len = attribute.to_bytes().len() as u32;
            let name = Span { start: at, len };
            at += len + 1;
            match reader.get(self.parent, self.name, attribute) {
                Ok(Some(value)) => {
                    let value = self.batch.push_bytes(value);
                    self.keep(entry, attribute, name, value);
                }
                Ok(None) => {}
                Err(error) => self.note(issue(self.path.to_vec(), Op::GetXattr, error)),
            }
        }
    }

    /// Stores a value; ACLs have fields of their own.
    fn keep(&mut self, entry: &mut Entry, attribute: &CStr, name: Span, value: Span) {
        if attribute == xattr::ACL_ACCESS {
            entry.acl = value;
        } else if attribute == xattr::ACL_DEFAULT {
            entry.acl_default = value;
        } else {
            self.batch.xattrs.push(Xattr {
                entry: 0,
                name,
                value,
            });
        }
    }
}
