//! The files of a pack as Tantivy reads them. Nothing can be written.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    DirectoryLock, FileHandle, Lock, OwnedBytes, WatchCallback, WatchHandle, WritePtr,
};
use tantivy::{Directory, HasLen};

use crate::pack::{Pack, Part};

/// Maximum size of a file that Tantivy reads as a whole, in bytes.
const META_MAX: u64 = 1 << 20;

/// The files of a pack.
#[derive(Clone)]
pub(crate) struct PackFiles(pub(crate) Pack);

impl fmt::Debug for PackFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PackFiles")
    }
}

impl PackFiles {
    fn part(&self, path: &Path) -> Result<&Part, OpenReadError> {
        let found = path.to_str().and_then(|name| self.0.part(name));
        found.ok_or_else(|| OpenReadError::FileDoesNotExist(path.to_owned()))
    }
}

/// One file of a pack.
struct PackFile {
    pack: Pack,
    part: Part,
}

impl fmt::Debug for PackFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PackFile({})", self.part.name)
    }
}

impl HasLen for PackFile {
    fn len(&self) -> usize {
        self.part.size_bytes as usize
    }
}

impl FileHandle for PackFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        let (start, end) = (range.start as u64, range.end as u64);
        if end > self.part.size_bytes || start > end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let at = self.part.at;
        self.pack.read(at + start..at + end).map(OwnedBytes::new)
    }
}

fn read_only() -> io::Error {
    io::ErrorKind::ReadOnlyFilesystem.into()
}

impl Directory for PackFiles {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        Ok(Arc::new(PackFile {
            part: self.part(path)?.clone(),
            pack: self.0.clone(),
        }))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError {
            io_error: Arc::new(read_only()),
            filepath: path.to_owned(),
        })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        Ok(self.part(path).is_ok())
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(read_only(), path.to_owned()))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let part = self.part(path)?;
        let read = match part.size_bytes <= META_MAX {
            true => self.0.read(part.at..part.at + part.size_bytes),
            false => Err(io::ErrorKind::InvalidData.into()),
        };
        read.map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()))
    }

    fn atomic_write(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        Err(read_only())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, _: &Lock) -> Result<DirectoryLock, LockError> {
        // A pack never changes.
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}
