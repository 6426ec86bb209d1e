//! Directories and files of an index, reached relative to descriptors.
//!
//! Nothing here follows a symbolic link, and everything created is exactly
//! 0700 or 0600 whatever the umask. Paths kept beside descriptors are for
//! messages only.

use crate::crash;
use crate::error::{IndexError, Result};
use rustix::fs::{self, AtFlags, CWD, FlockOperation, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

const DIR_MODE: Mode = Mode::RWXU;
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
/// No small file of an index is larger (a manifest of 100,000 segments).
const SMALL_FILE_BYTES: u64 = 256 << 20;

/// An open directory of an index.
#[derive(Debug)]
pub(crate) struct Dir {
    fd: OwnedFd,
    path: PathBuf,
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
    /// Opens the index directory itself, whose path may hold links.
    pub(crate) fn open_top(path: &Path) -> Result<Dir> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = fs::openat(CWD, path, flags, Mode::empty())
            .map_err(|error| IndexError::io("open directory", path, error))?;
        Ok(Dir {
            fd,
            path: path.to_owned(),
        })
    }

    /// Makes the index directory (not those above it) if it is not there,
    /// and opens it.
    pub(crate) fn create_top(path: &Path) -> Result<Dir> {
        crash::point("make index directory");
        match fs::mkdirat(CWD, path, DIR_MODE) {
            Ok(()) => {
                let dir = Dir::open_top(path)?;
                dir.set_private()?;
                Ok(dir)
            }
            Err(Errno::EXIST) => Dir::open_top(path),
            Err(error) => Err(IndexError::io("create directory", path, error)),
        }
    }

    fn set_private(&self) -> Result<()> {
        fs::fchmod(&self.fd, DIR_MODE)
            .map_err(|error| IndexError::io("set permissions of", &self.path, error))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A second descriptor for the same directory.
    pub(crate) fn try_clone(&self) -> Result<Dir> {
        let fd = self
            .fd
            .try_clone()
            .map_err(|error| IndexError::io("open directory", &self.path, error))?;
        Ok(Dir {
            fd,
            path: self.path.clone(),
        })
    }

    pub(crate) fn open_dir(&self, name: &str) -> Result<Dir> {
        let path = self.join(name);
        match fs::openat(&self.fd, name, dir_flags(), Mode::empty()) {
            Ok(fd) => Ok(Dir { fd, path }),
            Err(error) => Err(IndexError::io("open directory", path, error)),
        }
    }

    /// Opens a directory some names below this one, however long the path.
    /// Those on the way need only be searchable.
    pub(crate) fn open_below(&self, names: &[String]) -> Result<Dir> {
        let relative: PathBuf = names.iter().collect();
        if names.is_empty() {
            return self.try_clone();
        }
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match fs::openat2(&self.fd, &relative, dir_flags(), Mode::empty(), resolve) {
            Ok(fd) => Ok(Dir {
                fd,
                path: self.path.join(relative),
            }),
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
                Ok(fd) => Dir { fd, path },
                Err(error) => return Err(IndexError::io("open directory", path, error)),
            };
        }
        Ok(at)
    }

    /// Opens the directory `name`, made if it is not there.
    pub(crate) fn make_dir(&self, name: &str) -> Result<Dir> {
        match fs::mkdirat(&self.fd, name, DIR_MODE) {
            Ok(()) => {
                crash::point("made a directory");
                let dir = self.open_dir(name)?;
                dir.set_private()?;
                Ok(dir)
            }
            Err(Errno::EXIST) => self.open_dir(name),
            Err(error) => Err(IndexError::io("create directory", self.join(name), error)),
        }
    }

    /// Creates the file `name`, which must not exist.
    pub(crate) fn create_file(&self, name: &str) -> Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        crash::point("create a file");
        let fd = fs::openat(&self.fd, name, flags, FILE_MODE)
            .map_err(|error| IndexError::io("create", self.join(name), error))?;
        fs::fchmod(&fd, FILE_MODE)
            .map_err(|error| IndexError::io("set permissions of", self.join(name), error))?;
        Ok(File::from(fd))
    }

    /// Opens or creates the lock file `name` for reading and writing.
    pub(crate) fn open_lock(&self, name: &str) -> Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = fs::openat(&self.fd, name, flags, FILE_MODE)
            .map_err(|error| IndexError::io("open", self.join(name), error))?;
        fs::fchmod(&fd, FILE_MODE)
            .map_err(|error| IndexError::io("set permissions of", self.join(name), error))?;
        Ok(File::from(fd))
    }

    pub(crate) fn open_file(&self, name: &str) -> Result<File> {
        // Not blocking, so that a FIFO in the place of a file cannot hang us.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
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

    /// A small file's bytes.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>> {
        let file = self.open_file(name)?;
        let mut bytes = Vec::new();
        file.take(SMALL_FILE_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| IndexError::io("read", self.join(name), error))?;
        if bytes.len() as u64 > SMALL_FILE_BYTES {
            return Err(IndexError::damaged(&self.join(name), "it is far too large"));
        }
        Ok(bytes)
    }

    /// Writes a new file (not synced).
    pub(crate) fn write_new(&self, name: &str, bytes: &[u8]) -> Result<File> {
        let mut file = self.create_file(name)?;
        file.write_all(bytes)
            .map_err(|error| IndexError::io("write", self.join(name), error))?;
        Ok(file)
    }

    /// Writes a file durably under a temporary name and renames it to
    /// `name`, replacing what was there; syncs this directory.
    pub(crate) fn replace(&self, name: &str, temporary: &str, bytes: &[u8]) -> Result<()> {
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

    pub(crate) fn rename(&self, old: &str, new: &str) -> Result<()> {
        crash::point("rename");
        fs::renameat(&self.fd, old, &self.fd, new)
            .map_err(|error| IndexError::io("rename a file to", self.join(new), error))?;
        crash::point("renamed");
        Ok(())
    }

    pub(crate) fn remove_file(&self, name: &str) -> Result<()> {
        crash::point("remove a file");
        fs::unlinkat(&self.fd, name, AtFlags::empty())
            .map_err(|error| IndexError::io("remove", self.join(name), error))
    }

    pub(crate) fn remove_dir(&self, name: &str) -> Result<()> {
        crash::point("remove a directory");
        fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)
            .map_err(|error| IndexError::io("remove directory", self.join(name), error))
    }

    /// Waits for and takes the lock on the directory itself, until the
    /// result is dropped.
    pub(crate) fn lock_alone(&self) -> Result<Dir> {
        // A descriptor of its own, so that dropping it unlocks.
        let dir = Dir::open_top(&self.path)?;
        fs::flock(&dir.fd, FlockOperation::LockExclusive)
            .map_err(|error| IndexError::io("lock", &self.path, error))?;
        Ok(dir)
    }

    /// Makes the directory's entries durable.
    pub(crate) fn sync(&self) -> Result<()> {
        crash::point("sync a directory");
        fs::fsync(&self.fd).map_err(|error| IndexError::io("sync", &self.path, error))
    }

    /// Makes everything on the directory's file system durable.
    pub(crate) fn sync_filesystem(&self) -> Result<()> {
        crash::point("sync the file system");
        fs::syncfs(&self.fd).map_err(|error| IndexError::io("sync", &self.path, error))?;
        crash::point("synced the file system");
        Ok(())
    }

    /// The names in the directory, sorted; names that are not UTF-8 (which
    /// the format does not use) as lossy text.
    pub(crate) fn list(&self) -> Result<Vec<String>> {
        let failed = |error| IndexError::io("list", &self.path, error);
        let entries = fs::Dir::read_from(&self.fd).map_err(failed)?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(String::from_utf8_lossy(name).into_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }
}

/// Makes a file durable.
pub(crate) fn sync_file(file: &File, path: &Path) -> Result<()> {
    crash::point("sync a file");
    file.sync_all()
        .map_err(|error| IndexError::io("sync", path, error))
}

/// Nothing there is not an error.
pub(crate) fn if_there<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}
