//! The kernel's mount table: lookup of a mount, and detection of changes.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

use trawl_model::path;
use trawl_sys::mount_table::{Mount, PATH, parse};
use trawl_sys::wait::has_news;

use crate::error::{About, LiveError, Result};

/// Maximum number of reads of a table that changes while it is read.
const TRIES: usize = 16;

/// Returns the mount with this id, as reported by `statx`.
///
/// Source: <https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html>
pub(crate) fn find(mount_id: u64) -> Result<Option<Mount>> {
    let table = fs::read(PATH).map_err(unread)?;
    Ok(parse(&table).find(|mount| mount.id == mount_id))
}

fn unread(source: std::io::Error) -> LiveError {
    LiveError::Read {
        path: PathBuf::from(PATH).into_os_string().into_encoded_bytes(),
        source,
    }
}

/// This process's mount table, which can be checked for changes.
#[derive(Debug)]
pub(crate) struct Table {
    /// Checked for changes, each of which it reports once.
    asked: File,
    /// A second open file, for waiting for changes.
    waited: File,
}

impl Table {
    /// Opens the table. Later changes are reported.
    pub(crate) fn open() -> Result<Table> {
        let open = || File::open(PATH).map_err(unread);
        Ok(Table {
            asked: open()?,
            waited: open()?,
        })
    }

    /// Returns true if anything was mounted, unmounted or moved since the last call.
    pub(crate) fn has_changed(&self) -> Result<bool> {
        has_news(&self.asked).about("check for changes of", PATH.as_bytes())
    }

    /// Returns all mounts in the order in which they were made, as they were at one moment.
    pub(crate) fn read(&mut self) -> Result<Vec<Mount>> {
        let mut table = Vec::new();
        for _ in 0..TRIES {
            table.clear();
            self.asked.rewind().map_err(unread)?;
            self.asked.read_to_end(&mut table).map_err(unread)?;
            if !self.has_changed()? {
                break;
            }
        }
        Ok(parse(&table).collect())
    }
}

/// The descriptor has news ([`has_news`]) when the table has changed.
impl AsFd for Table {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waited.as_fd()
    }
}

/// Returns the mount points below a directory, whose path is absolute without a trailing slash.
///
/// # Errors
/// Fails if the table cannot be read.
pub fn mounts_below(root: &[u8]) -> Result<Vec<Vec<u8>>> {
    let table = fs::read(PATH).map_err(unread)?;
    let points = parse(&table).map(|mount| mount.point);
    let is_below = |point: &Vec<u8>| point != b"/" && point != root && path::is_within(point, root);
    Ok(points.filter(is_below).collect())
}
