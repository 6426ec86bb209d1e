//! The kernel's table of mounts: what a file system must be asked for, and when the table is
//! another.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

use trawl_model::path;
use trawl_sys::mount_table::{Mount, PATH, parse};
use trawl_sys::wait::has_news;

use crate::error::{About, LiveError, Result};

/// How often a table that changes while it is read is read again.
const TRIES: usize = 16;

/// The mount with this id, as `statx` tells it.
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

/// The table of this process, which tells when it is another.
#[derive(Debug)]
pub(crate) struct Table {
    /// Asked whether the table is another, which it says once.
    asked: File,
    /// The same for who waits.
    waited: File,
}

impl Table {
    /// Opens it. What is mounted from now on is news.
    pub(crate) fn open() -> Result<Table> {
        let open = || File::open(PATH).map_err(unread);
        Ok(Table {
            asked: open()?,
            waited: open()?,
        })
    }

    /// Whether anything was mounted, unmounted or moved since this was asked.
    pub(crate) fn has_changed(&self) -> Result<bool> {
        has_news(&self.asked).about("ask for news of", PATH.as_bytes())
    }

    /// All mounts, in the order in which they were made, as they were at one moment.
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

/// Has news ([`has_news`]) when the table is another, of which it tells whoever waits.
impl AsFd for Table {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waited.as_fd()
    }
}

/// Where something is mounted below a directory, which is absolute without a trailing slash.
///
/// # Errors
/// Where the table cannot be read.
pub fn mounts_below(root: &[u8]) -> Result<Vec<Vec<u8>>> {
    let table = fs::read(PATH).map_err(unread)?;
    let points = parse(&table).map(|mount| mount.point);
    let is_below = |point: &Vec<u8>| point != b"/" && point != root && path::is_within(point, root);
    Ok(points.filter(is_below).collect())
}
