//! Ids of files: the inode number, and what distinguishes the file from an earlier or later one with
//! the same number.

use trawl_model::{Meta, Timestamp};
use trawl_sys::stat::Stat;

/// The id of a file, made of columns that every row of an index has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    dev: u64,
    ino: u64,
    version: Version,
}

/// What distinguishes files with the same inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Version {
    /// The time at which the file was made.
    Born(Timestamp),
    /// The last change of the inode, where the file system does not keep the other: such an id ends
    /// with every change of the file.
    Changed(Timestamp),
}

impl FileId {
    /// Returns the id of the file with these attributes, of a row or from the file system.
    #[must_use]
    pub fn of(meta: &Meta) -> FileId {
        FileId {
            dev: meta.dev.as_u64(),
            ino: meta.ino,
            version: match meta.btime {
                Some(born) => Version::Born(born),
                None => Version::Changed(meta.ctime),
            },
        }
    }

    /// Returns the device as in `st_dev`.
    #[must_use]
    pub fn dev(&self) -> u64 {
        self.dev
    }

    /// Returns the inode number.
    #[must_use]
    pub fn ino(&self) -> u64 {
        self.ino
    }

    /// Returns whether an open object is the file of this id, and a regular file.
    pub(crate) fn is(&self, stat: &Stat) -> bool {
        let version = match (self.version, stat.btime) {
            (Version::Born(_), Some(born)) => Version::Born(born),
            // A row without the time, on a file system that keeps it by now.
            _ => Version::Changed(stat.ctime),
        };
        stat.is_file()
            && (self.dev, self.ino, self.version) == (stat.dev.as_u64(), stat.ino, version)
    }
}
