//! Opens and creates directories and files of an index relative to descriptors.
//!
//! Nothing here follows a symbolic link, except at the end of the index directory's own path.
//! Everything created has exactly its intended permissions, whatever the umask, the parent's
//! set-group-id bit or default ACL: a directory is created for its owner alone and gets its
//! permissions before it gets any content. Paths stored with descriptors are for messages only.

use crate::crash;
use crate::error::{IndexError, Result};
use crate::layout;
use rustix::fs::{
    self, AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, RawDir, ResolveFlags, XattrFlags,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use trawl_model::{Acl, DirAccess, Gid, Timestamp, Uid};

const DIR_MODE: Mode = Mode::RWXU;
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
const ACL_ACCESS: &str = "system.posix_acl_access";
const ACL_DEFAULT: &str = "system.posix_acl_default";
/// Maximum size of an extended attribute's value in bytes, xattr(7).
const XATTR_BYTES: usize = 65536;
/// Enough for an ACL of about thirty entries.
const ACL_BYTES_USUAL: usize = 256;
/// Buffer size in bytes for small files and directory listings.
const READ_BYTES: usize = 16 * 1024;
/// Maximum size in bytes of a small file of an index (a manifest of 100,000 segments).
const SMALL_FILE_BYTES: u64 = 256 << 20;

/// The users who may read an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Its owner alone: all modes are 0700 or 0600.
    Owner,
    /// Everyone, as far as the permissions of the source let them. Only the superuser can make such
    /// an index.
    Everyone,
}

impl Readers {
    /// Mode of a directory that is not a guard directory.
    fn dir_mode(self) -> u32 {
        match self {
            Readers::Owner => 0o700,
            Readers::Everyone => 0o755,
        }
    }

    fn file_mode(self) -> Mode {
        match self {
            Readers::Owner => FILE_MODE,
            Readers::Everyone => FILE_MODE | Mode::RGRP | Mode::ROTH,
        }
    }
}

/// An open directory of an index.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
    readers: Readers,
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn dir_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

impl Dir {
    /// Opens the index directory itself, whose path may contain symbolic links.
    pub fn open_top(path: &Path) -> Result<Dir> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = fs::openat(CWD, path, flags, Mode::empty())
            .map_err(|error| IndexError::io("open directory", path, error))?;
        Ok(Dir {
            fd,
            path: path.to_owned(),
            readers: Readers::Owner,
        })
    }

    /// Makes the index directory for its owner alone, or opens an existing one. Does not make the
    /// directories above it. An existing directory keeps its permissions: [`Found`] tells the cases
    /// apart.
    pub fn create_top(path: &Path) -> Result<(Dir, Found)> {
        // With a trailing slash the kernel would follow a symbolic link.
        let path = path.components().as_path();
        crash::point("make index directory");
        match fs::mkdirat(CWD, path, DIR_MODE) {
            Ok(()) => {
                let dir = Dir::open_itself(path)?;
                dir.set_plain(0o700)?;
                Ok((dir, Found::Made))
            }
            Err(Errno::EXIST) => match Dir::open_itself(path) {
                Err(IndexError::Io { cause, .. }) if cause.is_link() => {
                    Ok((Dir::open_top(path)?, Found::ThroughLink))
                }
                dir => Ok((dir?, Found::There)),
            },
            Err(error) => Err(IndexError::io("create directory", path, error)),
        }
    }

    /// Opens the index directory, but follows no symbolic link at the end of its path.
    fn open_itself(path: &Path) -> Result<Dir> {
        let fd = fs::openat(CWD, path, dir_flags(), Mode::empty())
            .map_err(|error| IndexError::io("open directory", path, error))?;
        Ok(Dir {
            fd,
            path: path.to_owned(),
            readers: Readers::Owner,
        })
    }

    /// Sets the readers of everything made in this directory from now on.
    pub fn for_readers(mut self, readers: Readers) -> Dir {
        self.readers = readers;
        self
    }

    /// Returns the readers of everything made in this directory.
    pub fn readers(&self) -> Readers {
        self.readers
    }

    /// Returns the user that owns the directory.
    pub fn owner(&self) -> Result<Uid> {
        Ok(Uid(self.stat()?.st_uid))
    }

    fn stat(&self) -> Result<fs::Stat> {
        fs::fstat(&self.fd).map_err(|error| IndexError::io("stat", &self.path, error))
    }

    /// Gives the directory the mode for the index's readers.
    pub fn set_readable(&self) -> Result<()> {
        self.set_plain(self.readers.dir_mode())
    }

    fn set_plain(&self, mode: u32) -> Result<()> {
        let stat = self.stat()?;
        self.set_access(&DirAccess {
            mode,
            uid: Uid(stat.st_uid),
            gid: match self.readers {
                Readers::Everyone => Gid(0),
                Readers::Owner => Gid(stat.st_gid),
            },
            acl: None,
        })
    }

    /// Returns the directory's permissions: mode bits, owner, group and ACL.
    pub fn access(&self) -> Result<DirAccess> {
        let stat = self.stat()?;
        let acl = match self.attribute(ACL_ACCESS)? {
            None => None,
            Some(value) => Some(Acl::parse(&value).ok_or_else(|| {
                IndexError::damaged(&self.path, "its access control list is invalid")
            })?),
        };
        Ok(DirAccess {
            mode: stat.st_mode & 0o7777,
            uid: Uid(stat.st_uid),
            gid: Gid(stat.st_gid),
            acl,
        })
    }

    /// Sets the directory's permissions and removes its default ACL. At no time does anyone have
    /// more access than before or after.
    pub(crate) fn set_access(&self, access: &DirAccess) -> Result<()> {
        let failed = |error| IndexError::io("set permissions of", &self.path, error);
        if self.attribute(ACL_DEFAULT)?.is_some() {
            fs::fremovexattr(&self.fd, ACL_DEFAULT).map_err(failed)?;
        }
        let before = self.access()?;
        if before == *access {
            return Ok(());
        }
        if before.mode != 0o700 || before.acl.is_some() {
            fs::fchmod(&self.fd, DIR_MODE).map_err(failed)?;
            if before.acl.is_some() {
                fs::fremovexattr(&self.fd, ACL_ACCESS).map_err(failed)?;
            }
        }
        if before.gid != access.gid {
            let gid = rustix::process::Gid::from_raw(access.gid.0);
            fs::fchown(&self.fd, None, Some(gid)).map_err(failed)?;
        }
        match &access.acl {
            // Setting the ACL also sets the mode.
            Some(acl) => self.set_acl(acl),
            None => fs::fchmod(&self.fd, Mode::from_raw_mode(access.mode)).map_err(failed),
        }
    }

    fn set_acl(&self, acl: &Acl) -> Result<()> {
        match fs::fsetxattr(&self.fd, ACL_ACCESS, &acl.to_bytes(), XattrFlags::empty()) {
            Ok(()) => Ok(()),
            Err(Errno::OPNOTSUPP) => Err(IndexError::NoAcls {
                path: self.path.clone(),
            }),
            Err(error) => Err(IndexError::io("set permissions of", &self.path, error)),
        }
    }

    fn attribute(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let mut value = vec![0; ACL_BYTES_USUAL];
        loop {
            match fs::fgetxattr(&self.fd, name, &mut value[..]) {
                Ok(length) => {
                    value.truncate(length);
                    return Ok(Some(value));
                }
                Err(Errno::RANGE) if value.len() < XATTR_BYTES => value.resize(XATTR_BYTES, 0),
                Err(Errno::NODATA | Errno::OPNOTSUPP) => return Ok(None),
                Err(error) => {
                    return Err(IndexError::io("read permissions of", &self.path, error));
                }
            }
        }
    }

    /// Sets the access and modification times to a value that all directories of this kind share,
    /// to hide when the entries changed.
    pub fn set_time(&self, time: Timestamp) -> Result<()> {
        let time = fs::Timespec {
            tv_sec: time.secs,
            tv_nsec: time.nanos.into(),
        };
        let times = fs::Timestamps {
            last_access: time,
            last_modification: time,
        };
        fs::futimens(&self.fd, &times)
            .map_err(|error| IndexError::io("set the times of", &self.path, error))
    }

    /// Returns the directory's path, for messages only.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the entry `name`, for messages only.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns a second descriptor for the same directory.
    pub fn try_clone(&self) -> Result<Dir> {
        let fd = self
            .fd
            .try_clone()
            .map_err(|error| IndexError::io("open directory", &self.path, error))?;
        Ok(Dir {
            fd,
            path: self.path.clone(),
            readers: self.readers,
        })
    }

    fn below(&self, fd: OwnedFd, path: PathBuf) -> Dir {
        Dir {
            fd,
            path,
            readers: self.readers,
        }
    }

    /// Opens the directory `name`.
    pub fn open_dir(&self, name: &str) -> Result<Dir> {
        let path = self.join(name);
        match fs::openat(&self.fd, name, dir_flags(), Mode::empty()) {
            Ok(fd) => Ok(self.below(fd, path)),
            Err(error) => Err(IndexError::io("open directory", path, error)),
        }
    }

    /// Opens a directory several levels below this one, however long the path is. The directories
    /// on the way need only be searchable.
    pub fn open_below(&self, names: &[String]) -> Result<Dir> {
        let relative: PathBuf = names.iter().collect();
        if names.is_empty() {
            // Not a duplicate of the descriptor, which would share its read position when listed.
            let fd = fs::openat(&self.fd, ".", dir_flags(), Mode::empty());
            let fd = fd.map_err(|error| IndexError::io("open directory", &self.path, error))?;
            return Ok(self.below(fd, self.path.clone()));
        }
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match fs::openat2(&self.fd, &relative, dir_flags(), Mode::empty(), resolve) {
            Ok(fd) => Ok(self.below(fd, self.path.join(relative))),
            // An old kernel, or a path that is too long for one call.
            Err(Errno::NOSYS | Errno::NAMETOOLONG) => self.open_step_by_step(names),
            Err(error) => {
                let path = self.path.join(relative);
                Err(IndexError::io("open directory", path, error))
            }
        }
    }

    fn open_step_by_step(&self, names: &[String]) -> Result<Dir> {
        let mut at = self.try_clone()?;
        for (nth, name) in names.iter().enumerate() {
            let flags = match nth + 1 == names.len() {
                true => dir_flags(),
                false => dir_flags() | OFlags::PATH,
            };
            let path = at.join(name);
            at = match fs::openat(&at.fd, name.as_str(), flags, Mode::empty()) {
                Ok(fd) => self.below(fd, path),
                Err(error) => return Err(IndexError::io("open directory", path, error)),
            };
        }
        Ok(at)
    }

    /// Opens the directory `name`, and makes it for the index's readers if it does not exist.
    pub fn make_dir(&self, name: &str) -> Result<Dir> {
        match self.mkdir(name)? {
            Made::New(dir) => {
                dir.set_readable()?;
                Ok(dir)
            }
            Made::Before(dir) => Ok(dir),
        }
    }

    /// Opens the directory `name`, and makes it if it does not exist. The directory and everything
    /// made in it are for the index's owner alone.
    pub fn make_private(&self, name: &str) -> Result<Dir> {
        let (Made::New(dir) | Made::Before(dir)) = self.mkdir(name)?;
        let dir = dir.for_readers(Readers::Owner);
        dir.set_readable()?;
        Ok(dir)
    }

    /// Opens a source's directory of files for the owner alone. Its parent contains nothing else
    /// and is closed to other users, so they see none of its attributes.
    pub fn open_private(&self) -> Result<Dir> {
        let private = self.open_dir(layout::PRIVATE)?;
        private.for_readers(Readers::Owner).open_dir(layout::DATA)
    }

    /// Opens the directory `name`, and makes it if it does not exist. In an index for everyone it
    /// gets the permissions `access`, also if it exists with others.
    pub fn make_guarded(&self, name: &str, access: &DirAccess) -> Result<Dir> {
        let (Made::New(dir) | Made::Before(dir)) = self.mkdir(name)?;
        match self.readers {
            Readers::Everyone => dir.set_access(access)?,
            Readers::Owner => dir.set_readable()?,
        }
        Ok(dir)
    }

    fn mkdir(&self, name: &str) -> Result<Made> {
        match fs::mkdirat(&self.fd, name, DIR_MODE) {
            Ok(()) => {
                crash::point("made a directory");
                self.open_dir(name).map(Made::New)
            }
            Err(Errno::EXIST) => self.open_dir(name).map(Made::Before),
            Err(error) => Err(IndexError::io("create directory", self.join(name), error)),
        }
    }

    /// Creates the file `name`, which must not exist, for the index's readers.
    pub fn create_file(&self, name: &str) -> Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        crash::point("create a file");
        let fd = fs::openat(&self.fd, name, flags, FILE_MODE)
            .map_err(|error| IndexError::io("create", self.join(name), error))?;
        fs::fchmod(&fd, self.readers.file_mode())
            .map_err(|error| IndexError::io("set permissions of", self.join(name), error))?;
        Ok(File::from(fd))
    }

    /// Opens or creates the lock file `name` for reading and writing.
    pub fn open_lock(&self, name: &str) -> Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let new = fs::openat(&self.fd, name, flags | OFlags::EXCL, FILE_MODE);
        let fd = match new {
            Ok(fd) => {
                // Only a new file: the umask or a default ACL may have changed its mode.
                fs::fchmod(&fd, FILE_MODE).map_err(|error| {
                    IndexError::io("set permissions of", self.join(name), error)
                })?;
                fd
            }
            Err(Errno::EXIST) => fs::openat(&self.fd, name, flags, FILE_MODE)
                .map_err(|error| IndexError::io("open", self.join(name), error))?,
            Err(error) => return Err(IndexError::io("open", self.join(name), error)),
        };
        Ok(File::from(fd))
    }

    /// Opens the regular file `name` for reading.
    pub fn open_file(&self, name: &str) -> Result<File> {
        self.open_file_to(name, OFlags::RDONLY)
    }

    /// Opens a file for reading and writing, which an exclusive lock against readers requires.
    pub fn open_to_lock(&self, name: &str) -> Result<File> {
        self.open_file_to(name, OFlags::RDWR)
    }

    fn open_file_to(&self, name: &str, access: OFlags) -> Result<File> {
        // Nonblocking, so that opening a FIFO in place of a file does not hang.
        let flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let fd = fs::openat(&self.fd, name, flags, Mode::empty())
            .map_err(|error| IndexError::io("open", self.join(name), error))?;
        let file = File::from(fd);
        let kind = file
            .metadata()
            .map_err(|error| IndexError::io("stat", self.join(name), error))?;
        if !kind.is_file() {
            return Err(IndexError::damaged(&self.join(name), "it is not a file"));
        }
        Ok(file)
    }

    /// Returns a file's length in bytes.
    pub(crate) fn length_of(&self, name: &str) -> Result<u64> {
        let stat = fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| IndexError::io("stat", self.join(name), error))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(stat.st_size as u64),
            _ => Err(IndexError::damaged(&self.join(name), "it is not a file")),
        }
    }

    /// Reads a small file.
    pub fn read(&self, name: &str) -> Result<Vec<u8>> {
        read_file(&self.open_file(name)?, &self.join(name))
    }

    /// Writes a new file without syncing it.
    pub fn write_new(&self, name: &str, bytes: &[u8]) -> Result<File> {
        let mut file = self.create_file(name)?;
        file.write_all(bytes)
            .map_err(|error| IndexError::io("write", self.join(name), error))?;
        Ok(file)
    }

    /// Writes and syncs a file under a temporary name, renames it to `name`, replacing an existing
    /// file, and syncs this directory.
    pub fn replace(&self, name: &str, temporary: &str, bytes: &[u8]) -> Result<()> {
        let written = self.write_new(temporary, bytes).and_then(|file| {
            sync_file(&file, &self.join(temporary))?;
            self.rename(temporary, name)
        });
        if written.is_err() {
            let _ = self.remove_file(temporary);
        }
        written?;
        self.sync()
    }

    /// Moves the entry `name` to another directory.
    pub fn rename_to(&self, name: &str, other: &Dir) -> Result<()> {
        crash::point("move a directory");
        fs::renameat(&self.fd, name, &other.fd, name)
            .map_err(|error| IndexError::io("move to", other.join(name), error))
    }

    /// Makes a hard link to a file of this directory.
    pub fn link(&self, old: &str, new: &str) -> Result<()> {
        crash::point("link a file");
        fs::linkat(&self.fd, old, &self.fd, new, AtFlags::empty())
            .map_err(|error| IndexError::io("link a file to", self.join(new), error))
    }

    /// Renames an entry within the directory.
    pub fn rename(&self, old: &str, new: &str) -> Result<()> {
        crash::point("rename");
        fs::renameat(&self.fd, old, &self.fd, new)
            .map_err(|error| IndexError::io("rename a file to", self.join(new), error))?;
        crash::point("renamed");
        Ok(())
    }

    /// Removes the file `name`.
    pub fn remove_file(&self, name: &str) -> Result<()> {
        crash::point("remove a file");
        fs::unlinkat(&self.fd, name, AtFlags::empty())
            .map_err(|error| IndexError::io("remove", self.join(name), error))
    }

    /// Removes the empty directory `name`.
    pub fn remove_dir(&self, name: &str) -> Result<()> {
        crash::point("remove a directory");
        fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)
            .map_err(|error| IndexError::io("remove directory", self.join(name), error))
    }

    /// Waits for the exclusive lock on the directory itself and holds it until the result is
    /// dropped.
    pub fn lock_alone(&self) -> Result<Dir> {
        // A separate open file description, so that dropping it releases the lock.
        let dir = self.open_below(&[])?;
        fs::flock(&dir.fd, FlockOperation::LockExclusive)
            .map_err(|error| IndexError::io("lock", &self.path, error))?;
        Ok(dir)
    }

    /// Syncs the directory's entries.
    pub fn sync(&self) -> Result<()> {
        crash::point("sync a directory");
        fs::fsync(&self.fd).map_err(|error| IndexError::io("sync", &self.path, error))
    }

    /// Syncs everything on the directory's file system.
    pub fn sync_filesystem(&self) -> Result<()> {
        crash::point("sync the file system");
        fs::syncfs(&self.fd).map_err(|error| IndexError::io("sync", &self.path, error))?;
        crash::point("synced the file system");
        Ok(())
    }

    /// Returns the names in the directory, sorted. Names that are not UTF-8, which the format does
    /// not use, are converted to lossy text. Empty if the directory itself has been removed.
    pub fn list(&self) -> Result<Vec<String>> {
        let failed = |error| IndexError::io("list", &self.path, error);
        fs::seek(&self.fd, fs::SeekFrom::Start(0)).map_err(failed)?;
        let mut buffer = [const { MaybeUninit::uninit() }; READ_BYTES];
        let mut entries = RawDir::new(&self.fd, &mut buffer);
        let mut names = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = match entry {
                // The directory was removed after it was opened, so it is empty.
                Err(Errno::NOENT) => break,
                entry => entry.map_err(failed)?,
            };
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(String::from_utf8_lossy(name).into_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }
}

/// Whether the index directory existed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It was created just now.
    Made,
    /// It existed.
    There,
    /// It existed and was reached through a symbolic link.
    ThroughLink,
}

/// A directory that was created just now or existed before.
enum Made {
    New(Dir),
    Before(Dir),
}

/// Reads a small file; fails if it is larger than [`SMALL_FILE_BYTES`].
pub(crate) fn read_file(file: &File, path: &Path) -> Result<Vec<u8>> {
    // With this capacity one call usually reads the whole file and a second one finds its end.
    let length = file.metadata().map_or(0, |meta| meta.len());
    let length = usize::try_from(length.min(SMALL_FILE_BYTES)).unwrap_or(0);
    let mut bytes = Vec::with_capacity(READ_BYTES.max(length + 1));
    file.take(SMALL_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| IndexError::io("read", path, error))?;
    match bytes.len() as u64 > SMALL_FILE_BYTES {
        true => Err(IndexError::damaged(path, "it is far too large")),
        false => Ok(bytes),
    }
}

/// Syncs a file.
pub fn sync_file(file: &File, path: &Path) -> Result<()> {
    crash::point("sync a file");
    file.sync_all()
        .map_err(|error| IndexError::io("sync", path, error))
}

/// Turns the error for a missing file or directory into `None`.
pub fn if_there<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::Dir;

    #[test]
    fn a_directory_removed_while_open_has_nothing_in_it() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("removed");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("file"), b"").unwrap();
        let dir = Dir::open_top(&path).unwrap();
        assert_eq!(dir.list().unwrap(), ["file"]);
        std::fs::remove_dir_all(&path).unwrap();
        assert!(dir.list().unwrap().is_empty());
    }
}
