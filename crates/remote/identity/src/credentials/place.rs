//! Where credentials lie: a directory and a file that only their owner may open, replaced as a whole.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use trawl_sys::identity::effective_uid;
use trawl_sys::replaced::Replacing;

use super::lines::{Record, Table, encode};
use crate::error::IdentityError;

/// Name of the file in its directory.
pub const FILE: &str = "credentials";
/// Maximum length of the file in bytes.
pub const FILE_MAX_BYTES: u64 = 16 << 20;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// For the directories above, which are others' business.
const PARENT_MODE: u32 = 0o755;

/// The directory.
#[derive(Debug)]
pub(super) struct Place {
    directory: PathBuf,
    file: PathBuf,
}

/// A file that was read. It stays open: as long as it does, no other file can have its inode number.
#[derive(Debug)]
pub(super) struct Seen {
    _file: File,
    stamp: Stamp,
}

/// What changes if the file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: (u64, u64),
    mtime: (i64, i64),
    /// Changes with owner and permissions.
    ctime: (i64, i64),
    length: u64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Stamp {
        Stamp {
            inode: (metadata.dev(), metadata.ino()),
            mtime: (metadata.mtime(), metadata.mtime_nsec()),
            ctime: (metadata.ctime(), metadata.ctime_nsec()),
            length: metadata.len(),
        }
    }
}

impl Place {
    /// Checks the directory; makes it first if it is missing.
    pub(super) fn make(directory: &Path) -> Result<Place, IdentityError> {
        if let Some(parent) = directory.parent() {
            let mut parents = DirBuilder::new();
            let made = parents.recursive(true).mode(PARENT_MODE).create(parent);
            made.map_err(|source| failed("make", parent, source))?;
        }
        match DirBuilder::new().mode(DIRECTORY_MODE).create(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(failed("make", directory, error))
            }
            _ => Place::existing(directory),
        }
    }

    /// Checks the directory.
    pub(super) fn existing(directory: &Path) -> Result<Place, IdentityError> {
        let place = Place {
            directory: directory.to_owned(),
            file: directory.join(FILE),
        };
        place.check_directory().map(|()| place)
    }

    fn check_directory(&self) -> Result<(), IdentityError> {
        let path = &self.directory;
        let metadata = fs::metadata(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => IdentityError::Missing { path: path.clone() },
            _ => failed("open", path, source),
        })?;
        if !metadata.is_dir() {
            return Err(IdentityError::Type {
                path: path.clone(),
                expected: "directory",
            });
        }
        check_owner(path, &metadata)?;
        check_mode(path, &metadata, DIRECTORY_MODE)
    }

    /// Returns whether the file is the one that was seen (`None`: it was missing).
    pub(super) fn is_unchanged(&self, seen: Option<&Seen>) -> Result<bool, IdentityError> {
        let stamp = match fs::symlink_metadata(&self.file) {
            Ok(metadata) => Some(Stamp::of(&metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed("open", &self.file, error)),
        };
        Ok(stamp == seen.map(|seen| seen.stamp))
    }

    /// Reads the file; a missing one holds nothing.
    pub(super) fn read(&self) -> Result<(Option<Seen>, Table), IdentityError> {
        self.check_directory()?;
        let path = &self.file;
        let mut options = OpenOptions::new();
        // A pipe must not make the server wait.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        let options = options.read(true).custom_flags(flags.cast_signed());
        let file = match options.open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((None, Table::default()));
            }
            Err(error) => return Err(failed("read", path, error)),
        };
        let metadata = file.metadata();
        let metadata = metadata.map_err(|source| failed("read", path, source))?;
        if !metadata.is_file() {
            return Err(IdentityError::Type {
                path: path.clone(),
                expected: "file",
            });
        }
        check_owner(path, &metadata)?;
        check_mode(path, &metadata, FILE_MODE)?;
        let mut bytes = Vec::new();
        let mut limited = (&file).take(FILE_MAX_BYTES + 1);
        let read = limited.read_to_end(&mut bytes);
        read.map_err(|source| failed("read", path, source))?;
        self.check_length(&bytes)?;
        let seen = Seen {
            stamp: Stamp::of(&metadata),
            _file: file,
        };
        Ok((Some(seen), Table::parse(path, &bytes)?))
    }

    /// Changes the records while no other process does. If `change` returns `None`, nothing is
    /// written. The change is on the disk when this returns.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<Record>) -> Result<Option<T>, IdentityError>,
    ) -> Result<Option<T>, IdentityError> {
        self.check_directory()?;
        let replacing = Replacing::begin(&self.directory, DIRECTORY_MODE);
        let replacing = replacing.map_err(|source| failed("lock", &self.directory, source))?;
        let mut records = self.read()?.1.into_records();
        let Some(done) = change(&mut records)? else {
            return Ok(None);
        };
        let bytes = encode(&records);
        let bytes = bytes.map_err(|source| failed("write", &self.file, source.into()))?;
        self.check_length(&bytes)?;
        let written = replacing.replace(OsStr::new(FILE), FILE_MODE, &bytes);
        written.map_err(|source| failed("write", &self.file, source))?;
        Ok(Some(done))
    }

    fn check_length(&self, bytes: &[u8]) -> Result<(), IdentityError> {
        match bytes.len() as u64 > FILE_MAX_BYTES {
            true => Err(IdentityError::TooLong {
                path: self.file.clone(),
                max_bytes: FILE_MAX_BYTES,
            }),
            false => Ok(()),
        }
    }
}

fn check_owner(path: &Path, metadata: &Metadata) -> Result<(), IdentityError> {
    let (owner, expected) = (metadata.uid(), effective_uid());
    match owner == 0 || owner == expected {
        true => Ok(()),
        false => Err(IdentityError::Owner {
            path: path.to_owned(),
            owner,
            expected,
        }),
    }
}

/// The owner may have fewer rights than expected, others none.
fn check_mode(path: &Path, metadata: &Metadata, expected: u32) -> Result<(), IdentityError> {
    let mode = metadata.mode() & 0o7777;
    match mode & 0o077 {
        0 => Ok(()),
        _ => Err(IdentityError::Mode {
            path: path.to_owned(),
            mode,
            expected,
        }),
    }
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> IdentityError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied => IdentityError::NotAllowed { path },
        _ => IdentityError::File {
            action,
            path,
            source,
        },
    }
}
