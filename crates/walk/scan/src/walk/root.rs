//! Opens the root name by name from `/`, and reads the permissions of every directory on the way.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use trawl_model::sink::SourceRoot;
use trawl_model::{Acl, DirAccess, DirBatch, Entry, Span, Xattr};
use trawl_sys::device::DeviceNumber;
use trawl_sys::directory::{Purpose, open_at, open_root};
use trawl_sys::stat::{Stat, stat_fd};
use trawl_sys::{AsFd, Errno, SysError, project, xattr};

use super::lister::access;
use super::stack::LIST;
use crate::error::ScanError;
use crate::options::Xattrs;

/// An open root.
pub(crate) struct OpenRoot {
    pub(crate) fd: OwnedFd,
    pub(crate) stat: Stat,
    /// Absolute path, empty for `/`.
    pub(crate) path: CString,
    pub(crate) source: SourceRoot,
}

/// Resolves and opens the root at `path`. Symbolic links in this path are followed once; after
/// that, no links are followed.
pub(crate) fn open<E>(path: &[u8], xattrs: Xattrs) -> Result<OpenRoot, ScanError<E>> {
    let given = Path::new(std::ffi::OsStr::from_bytes(path));
    let resolved = std::fs::canonicalize(given)
        .map_err(|source| ScanError::Resolve {
            path: path.to_vec(),
            source,
        })?
        .into_os_string()
        .into_vec();
    let path = if resolved == b"/" {
        Vec::new()
    } else {
        resolved
    };
    Descent::go(&path, xattrs).map_err(|source| match source.errno {
        Errno::NOTDIR => ScanError::NotADirectory { path: path.clone() },
        _ => ScanError::Root {
            path: path.clone(),
            source,
        },
    })
}

/// The current position on the way down to the root.
struct Descent {
    fd: OwnedFd,
    reader: xattr::Reader,
    above: Vec<DirAccess>,
    /// Device numbers of these directories.
    devices: Vec<DeviceNumber>,
}

impl Descent {
    fn go(path: &[u8], xattrs: Xattrs) -> Result<OpenRoot, SysError> {
        let mut way = Descent {
            fd: open_root(Purpose::Pass)?,
            reader: xattr::Reader::for_any_thread(),
            above: Vec::new(),
            devices: Vec::new(),
        };
        let mut names: Vec<CString> = Vec::new();
        for name in path.split(|b| *b == b'/').filter(|n| !n.is_empty()) {
            names.push(
                CString::new(name)
                    .map_err(|_| SysError::new(trawl_sys::Op::Openat, Errno::INVAL))?,
            );
        }
        let Some(last) = names.pop() else {
            let fd = open_root(LIST)?;
            return way.arrive(fd, c"/".into(), CString::default(), xattrs);
        };
        let mut name: CString = c"/".into();
        for next in names {
            way.pass(&name)?;
            way.fd = open_at(&way.fd, &next, Purpose::Pass)?;
            name = next;
        }
        way.pass(&name)?;
        let fd = open_at(&way.fd, &last, LIST)?;
        let path =
            CString::new(path).map_err(|_| SysError::new(trawl_sys::Op::Openat, Errno::INVAL))?;
        way.arrive(fd, last, path, xattrs)
    }

    /// Records the permissions of the directory `name`, which `self.fd` refers to.
    fn pass(&mut self, name: &CStr) -> Result<(), SysError> {
        let stat = stat_fd(&self.fd)?;
        // Attributes cannot be read from an `O_PATH` descriptor, but through a path below it.
        let acl = match self.reader.get(&self.fd, c".", xattr::ACL_ACCESS) {
            Ok(value) => value.and_then(Acl::parse),
            Err(e) if e.is_unsupported() => None,
            // `.` requires search permission on the directory; a caller without it cannot pass.
            Err(e) => return Err(e),
        };
        let _ = name;
        self.above.push(access(&stat, acl));
        self.devices.push(stat.dev);
        Ok(())
    }

    fn arrive(
        self,
        fd: OwnedFd,
        name: CString,
        path: CString,
        xattrs: Xattrs,
    ) -> Result<OpenRoot, SysError> {
        let stat = stat_fd(&fd)?;
        let mut heap = DirBatch::default();
        let mut entry = Entry {
            meta: stat.meta,
            ..Entry::default()
        };
        if !path.is_empty() {
            entry.name = heap.push_bytes(name.to_bytes());
        }
        entry.meta.project = project::of_fd(&fd).ok().flatten().map(|p| p.id);
        if xattrs == Xattrs::Read {
            read_attributes(self.reader, &fd, &mut heap, &mut entry)?;
        }
        let devices = self.devices.iter().rev();
        let source = SourceRoot {
            path: path.to_bytes().to_vec(),
            above_on_device: devices.take_while(|dev| **dev == stat.dev).count(),
            above: self.above,
            entry,
            xattrs: heap.xattrs,
            heap: heap.heap,
        };
        Ok(OpenRoot {
            fd,
            stat,
            path,
            source,
        })
    }
}

/// Reads the root's own attributes. If a value may not be read, only the attribute's name is kept.
fn read_attributes(
    mut reader: xattr::Reader,
    fd: impl AsFd,
    heap: &mut DirBatch,
    entry: &mut Entry,
) -> Result<(), SysError> {
    let fd = fd.as_fd();
    let names = match reader.list(fd, c".") {
        Ok(list) => list.to_vec(),
        Err(e) if e.is_unsupported() => return Ok(()),
        Err(e) => return Err(e),
    };
    entry.xattr_names = heap.push_bytes(&names);
    let mut start = entry.xattr_names.start;
    for name in names.split_inclusive(|byte| *byte == 0) {
        let len = name.len() as u32 - 1;
        let span = Span { start, len };
        start += len + 1;
        if let Ok(name) = CStr::from_bytes_with_nul(name) {
            read_value(&mut reader, fd, (name, span), heap, entry)?;
        }
    }
    Ok(())
}

/// Reads the value of the attribute `name`, whose name lies at `span`; ACLs go to fields of their
/// own.
fn read_value(
    reader: &mut xattr::Reader,
    fd: impl AsFd,
    (name, span): (&CStr, Span),
    heap: &mut DirBatch,
    entry: &mut Entry,
) -> Result<(), SysError> {
    let value = match reader.get_fd(fd, name) {
        Ok(Some(value)) => heap.push_bytes(value),
        Ok(None) => return Ok(()),
        Err(e) if matches!(e.errno, Errno::ACCES | Errno::PERM) => return Ok(()),
        Err(e) => return Err(e),
    };
    if name == xattr::ACL_ACCESS {
        entry.acl = value;
    } else if name == xattr::ACL_DEFAULT {
        entry.acl_default = value;
    } else {
        let (entry, name) = (0, span);
        heap.xattrs.push(Xattr { entry, name, value });
    }
    Ok(())
}
