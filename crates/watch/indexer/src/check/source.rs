//! What the source file system shows: asks the kernel, as the calling user.
//!
//! Directories are reached name by name from `/`, through no symbolic link, as the scan reached
//! them.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, CString};

use trawl_model::{Acl, DirAccess, Timestamp, path};
use trawl_sys::directory::{AccessTime, Purpose, ReadBuffer, open_at, open_root};
use trawl_sys::link::{TargetBuffer, read_link_at};
use trawl_sys::stat::{Stat, stat_at, stat_fd};
use trawl_sys::{Errno, OwnedFd, SysError, xattr};

use super::facts::{Entries, Facts};

const LIST: Purpose = Purpose::List(AccessTime::Keep);
const BUFFER_BYTES: usize = 64 << 10;

/// What can be seen of a directory whose path is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// The directory's entries.
    Listing(Entries),
    /// Names without attributes: the directory may be listed but not searched.
    NamesOnly,
    /// Nothing: permission is denied.
    Refused,
    /// Nothing: the path does not exist, or is not a directory.
    Gone,
}

/// Whether extended attributes are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attributes {
    Compared,
    /// The snapshot has no extended attributes.
    Ignored,
}

/// A thread's view of the source.
pub(super) struct Eyes {
    buffer: ReadBuffer,
    targets: TargetBuffer,
    reader: xattr::Reader,
    attributes: Attributes,
    /// Whether a directory and all directories above it, down from a root, may be listed.
    listed: HashMap<Vec<u8>, bool>,
}

impl Eyes {
    pub(super) fn new(attributes: Attributes) -> Eyes {
        Eyes {
            buffer: ReadBuffer::new(BUFFER_BYTES),
            targets: TargetBuffer::default(),
            reader: xattr::Reader::for_any_thread(),
            attributes,
            listed: HashMap::new(),
        }
    }

    /// Lists a directory.
    ///
    /// # Errors
    /// Fails with any error that is neither a refusal nor an absence.
    pub(super) fn list(&mut self, dir: &[u8]) -> Result<Seen, SysError> {
        match self.try_list(dir) {
            Err(error) if is_refusal(error) => Ok(Seen::Refused),
            Err(error) if is_absence(error) => Ok(Seen::Gone),
            other => other,
        }
    }

    fn try_list(&mut self, dir: &[u8]) -> Result<Seen, SysError> {
        let fd = open_dir(dir, LIST)?;
        let mut names: Vec<CString> = Vec::new();
        let mut reader = self.buffer.read(&fd);
        while let Some(entry) = reader.next() {
            let entry = entry?;
            if !entry.is_dot() {
                names.push(entry.name().to_owned());
            }
        }
        let mut entries = BTreeMap::new();
        for name in names {
            match self.facts(&fd, &name) {
                Ok(facts) => drop(entries.insert(name.into_bytes(), facts)),
                Err(error) if is_refusal(error) => return Ok(Seen::NamesOnly),
                // The entry has disappeared meanwhile.
                Err(error) if is_absence(error) => {}
                Err(error) => return Err(error),
            }
        }
        // An empty directory has no entry that would show whether it may be searched.
        match entries.is_empty() && stat_at(&fd, c".").is_err_and(is_refusal) {
            true => Ok(Seen::NamesOnly),
            false => Ok(Seen::Listing(entries)),
        }
    }

    fn facts(&mut self, dir: &OwnedFd, name: &CStr) -> Result<Facts, SysError> {
        let stat = stat_at(dir, name)?;
        let mut facts = of_stat(&stat);
        if stat.is_symlink() {
            facts.target = read_link_at(dir, name, &mut self.targets)?.to_vec();
        }
        if self.attributes == Attributes::Compared {
            facts.attributes = self.attributes(dir, name)?;
        }
        Ok(facts)
    }

    fn attributes(
        &mut self,
        dir: &OwnedFd,
        name: &CStr,
    ) -> Result<BTreeMap<Vec<u8>, Option<Vec<u8>>>, SysError> {
        let names = match self.reader.list(dir, name) {
            Ok(names) => names.to_vec(),
            Err(error) if error.is_unsupported() => return Ok(BTreeMap::new()),
            Err(error) => return Err(error),
        };
        let mut found = BTreeMap::new();
        for attribute in names.split_inclusive(|byte| *byte == 0) {
            let Ok(attribute) = CStr::from_bytes_with_nul(attribute) else {
                continue;
            };
            let value = match self.reader.get(dir, name, attribute) {
                Ok(Some(value)) => Some(value.to_vec()),
                Ok(None) => continue,
                Err(error) if is_refusal(error) => None,
                Err(error) => return Err(error),
            };
            found.insert(attribute.to_bytes().to_vec(), value);
        }
        Ok(found)
    }

    /// Returns true if a walk from `root` that lists directories reaches `dir`.
    pub(super) fn comes_to(&mut self, root: &[u8], dir: &[u8]) -> bool {
        if let Some(known) = self.listed.get(dir) {
            return *known;
        }
        let above = match dir == root {
            true => true,
            false => path::split(dir).is_some_and(|(above, _)| self.comes_to(root, above)),
        };
        let may = above && may_list_and_search(dir);
        self.listed.insert(dir.to_vec(), may);
        may
    }
}

fn may_list_and_search(dir: &[u8]) -> bool {
    open_dir(dir, LIST).is_ok_and(|fd| stat_at(&fd, c".").is_ok())
}

/// Returns the permissions of a directory, and its change time: the latest time at which they may
/// have changed.
pub(super) fn access_of(dir: &[u8]) -> Result<(DirAccess, Timestamp), SysError> {
    let fd = open_dir(dir, Purpose::Pass)?;
    let stat = stat_fd(&fd)?;
    let mut reader = xattr::Reader::for_any_thread();
    let acl = match reader.get(&fd, c".", xattr::ACL_ACCESS) {
        Ok(value) => value.and_then(Acl::parse),
        Err(error) if error.is_unsupported() => None,
        Err(error) => return Err(error),
    };
    let access = DirAccess {
        mode: stat.mode,
        uid: stat.uid,
        gid: stat.gid,
        acl,
    };
    Ok((access, stat.ctime))
}

fn open_dir(dir: &[u8], purpose: Purpose) -> Result<OwnedFd, SysError> {
    let mut names = dir.split(|byte| *byte == b'/').filter(|n| !n.is_empty());
    let Some(mut next) = names.next() else {
        return open_root(purpose);
    };
    let mut at = open_root(Purpose::Pass)?;
    for after in names {
        at = open_at(&at, &c_string(next)?, Purpose::Pass)?;
        next = after;
    }
    open_at(&at, &c_string(next)?, purpose)
}

fn c_string(name: &[u8]) -> Result<CString, SysError> {
    CString::new(name).map_err(|_| SysError::new(trawl_sys::Op::Openat, Errno::INVAL))
}

fn is_refusal(error: SysError) -> bool {
    matches!(error.errno, Errno::ACCES | Errno::PERM)
}

fn is_absence(error: SysError) -> bool {
    error.is_vanished() || matches!(error.errno, Errno::NOTDIR | Errno::LOOP)
}

fn of_stat(stat: &Stat) -> Facts {
    Facts {
        ino: stat.ino,
        mode: stat.mode,
        nlink: stat.nlink,
        uid: stat.uid.0,
        gid: stat.gid.0,
        size: stat.size,
        mtime: stat.mtime,
        ctime: stat.ctime,
        ..Facts::default()
    }
}
