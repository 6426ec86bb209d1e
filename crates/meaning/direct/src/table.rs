//! A table of files, and how one is opened.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use trawl_sys::file::{locate_without_links, open_for_reading};
use trawl_sys::handle::{self, FileHandle, Use};
use trawl_sys::identity::effective_uid;
use trawl_sys::stat::stat_fd;
use trawl_sys::{Errno, SysError};

use crate::error::DirectError;
use crate::id::FileId;
use crate::mounts::{Mount, Mounts};

type Result<T> = std::result::Result<T, DirectError>;

/// How a file was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By its handle, without a look at a directory.
    Handle,
    /// By its path, all of whose directories the kernel checked.
    Path,
}

/// The files of a group, a directory or a search result.
#[derive(Debug, Default)]
pub struct Table {
    files: HashMap<FileId, Known>,
    mounts: Mounts,
    /// The user to whom the kernel has refused handles.
    refused: RefusedUser,
}

/// The user to whom the kernel has refused handles. It only saves further attempts, since a table may
/// be shared by threads that act for different users.
#[derive(Debug)]
struct RefusedUser(AtomicU64);

impl Default for RefusedUser {
    fn default() -> RefusedUser {
        RefusedUser(AtomicU64::new(u64::MAX))
    }
}

impl RefusedUser {
    fn is_this(&self) -> bool {
        let user = self.0.load(Ordering::Relaxed);
        user != u64::MAX && user == u64::from(effective_uid())
    }

    fn note(&self) {
        let user = u64::from(effective_uid());
        self.0.store(user, Ordering::Relaxed);
    }
}

/// What is known of a file.
#[derive(Debug, Default)]
struct Known {
    /// Absolute paths, at least one.
    paths: Vec<CString>,
    /// Its handle with the generation, once it is known.
    handle: OnceLock<FileHandle>,
}

impl Known {
    fn path(&self) -> PathBuf {
        self.paths
            .first()
            .map(|path| shown(path))
            .unwrap_or_default()
    }

    fn gone(&self) -> DirectError {
        DirectError::Gone { path: self.path() }
    }

    fn refused(&self, source: SysError) -> DirectError {
        let path = self.path();
        DirectError::Refused { path, source }
    }
}

fn shown(path: &CStr) -> PathBuf {
    OsStr::from_bytes(path.to_bytes()).into()
}

/// Returns an absolute path for the kernel.
fn absolute(path: &[u8]) -> Result<CString> {
    let is_absolute = path.first() == Some(&b'/');
    let copied = CString::new(path).ok().filter(|_| is_absolute);
    copied.ok_or_else(|| DirectError::Path {
        path: OsStr::from_bytes(path).into(),
    })
}

impl Table {
    /// Returns an empty table.
    #[must_use]
    pub fn new() -> Table {
        Table::default()
    }

    /// Returns the number of files.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns whether there are no files.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Adds the file of a row of an index: its absolute path and its id. Nothing is looked at. A
    /// file may be added with several paths.
    ///
    /// # Errors
    /// [`DirectError::Path`]
    pub fn add(&mut self, path: &[u8], id: FileId) -> Result<()> {
        let path = absolute(path)?;
        let known = self.files.entry(id).or_default();
        if !known.paths.contains(&path) {
            known.paths.push(path);
        }
        Ok(())
    }

    /// Adds the file at an absolute path as it is now, and returns its id. Its handle has the
    /// generation, which no other file ever has.
    ///
    /// # Errors
    /// If the kernel does not let this process reach the path, a component of it is a symbolic link,
    /// or the object is not a regular file.
    pub fn enrol(&mut self, path: &[u8]) -> Result<FileId> {
        let at = absolute(path)?;
        let refused = |source| DirectError::Refused {
            path: shown(&at),
            source,
        };
        let place = locate_without_links(&at).map_err(refused)?;
        let stat = stat_fd(&place).map_err(refused)?;
        if !stat.is_file() {
            return Err(DirectError::NotRegular { path: shown(&at) });
        }
        let id = FileId::of(&stat.meta);
        self.add(path, id)?;
        if let (Some(known), Ok(handle)) = (self.files.get(&id), handle::of_fd(&place, Use::Open)) {
            let _ = known.handle.set(handle);
        }
        Ok(id)
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// [`DirectError::Unknown`] if the table does not have it; [`DirectError::Gone`] if it was
    /// removed, or, without handles, is at none of its paths; [`DirectError::Refused`] with the
    /// kernel's error.
    pub fn open(&self, id: &FileId) -> Result<File> {
        self.open_and_tell(id).map(|(file, _)| file)
    }

    /// Like [`Table::open`], and says how the file was opened.
    ///
    /// # Errors
    /// As of [`Table::open`].
    pub fn open_and_tell(&self, id: &FileId) -> Result<(File, Way)> {
        let known = self
            .files
            .get(id)
            .ok_or(DirectError::Unknown { ino: id.ino() })?;
        let may_ask = !self.refused.is_this();
        if may_ask && let Some(file) = self.open_by_handle(id, known)? {
            return Ok((file, Way::Handle));
        }
        let file = open_by_path(id, known)?;
        // The next time there is a handle. Where handles are refused it is never asked for.
        if may_ask
            && known.handle.get().is_none()
            && let Ok(handle) = handle::of_fd(&file, Use::Open)
        {
            let _ = known.handle.set(handle);
        }
        Ok((file, Way::Path))
    }

    /// Returns `None` if there is no handle, or this process may not use it.
    fn open_by_handle(&self, id: &FileId, known: &Known) -> Result<Option<File>> {
        let path = known.paths.first();
        let Some(mount) = path.and_then(|path| self.mounts.of(id.dev(), path)) else {
            return Ok(None);
        };
        let opened = match known.handle.get() {
            Some(handle) => handle::open_content(&mount.directory, handle),
            None => match learn(&mount, id, known) {
                Ok(Some(handle)) => handle::open_content(&mount.directory, &handle),
                Ok(None) => return Ok(None),
                Err(error) => Err(error),
            },
        };
        match opened {
            Ok(file) => match stat_fd(&file) {
                Ok(stat) if id.is(&stat) => Ok(Some(file)),
                Ok(_) => Err(known.gone()),
                Err(error) => Err(known.refused(error)),
            },
            Err(error) if error.errno == Errno::STALE => Err(known.gone()),
            Err(error) if error.errno == Errno::PERM || error.is_unsupported() => {
                if error.errno == Errno::PERM {
                    self.refused.note();
                }
                Ok(None)
            }
            Err(error) => Err(known.refused(error)),
        }
    }
}

/// Finds the handle of a file by its inode number, where the file system can do that. The object is
/// not opened before it is known to be the file: it may be a device by now.
fn learn(
    mount: &Mount,
    id: &FileId,
    known: &Known,
) -> std::result::Result<Option<FileHandle>, SysError> {
    let Some(any) = mount.any_generation(id.ino()) else {
        return Ok(None);
    };
    let place = handle::open(&mount.directory, &any)?;
    if !id.is(&stat_fd(&place)?) {
        return Err(SysError::new(trawl_sys::Op::OpenByHandleAt, Errno::STALE));
    }
    let exact = handle::of_fd(&place, Use::Open)?;
    Ok(Some(*known.handle.get_or_init(|| exact)))
}

/// Opens the first path at which the file is. The kernel checks every directory of each.
fn open_by_path(id: &FileId, known: &Known) -> Result<File> {
    let mut refused = None;
    for path in &known.paths {
        let opened =
            open_for_reading(path).and_then(|file| stat_fd(&file).map(|stat| (file, stat)));
        match opened {
            Ok((file, stat)) if id.is(&stat) => return Ok(file),
            Ok(_) => {}
            // A link or a file has the place of a directory, or of the file.
            Err(error) if error.is_vanished() => {}
            Err(error) if [Errno::LOOP, Errno::NOTDIR].contains(&error.errno) => {}
            Err(source) => {
                let path = shown(path);
                refused.get_or_insert(DirectError::Refused { path, source });
            }
        }
    }
    Err(refused.unwrap_or_else(|| known.gone()))
}
