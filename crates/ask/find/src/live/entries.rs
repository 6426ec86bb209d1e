//! The entries of a directory, in the order in which GNU find takes them: that
//! of the directory or, if there are many, by inode number where that is the
//! order on the disk.

use std::os::fd::BorrowedFd;

use trawl_model::operation::Operation;
use trawl_model::rows::{Row, RowBatch};
use trawl_sys::directory::ReadBuffer;
use trawl_sys::filesystem::{self, magic};
use trawl_sys::{Errno, SysError};

/// Maximum number of entries taken from a directory at once. The rest is read
/// when these are done.
const CHUNK_ENTRIES: usize = 100_000;
/// Directories with more entries than this are sorted.
const SORTED_FROM: usize = 10_000;
/// Types of file systems whose inode numbers do not reflect the order on the
/// disk.
const UNSORTED: [u64; 3] = [magic::TMPFS, magic::NFS, magic::CIFS];

/// A chunk of a directory's entries.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// Names, inode numbers, and types as mode bits (0 if unknown).
    batch: RowBatch,
    /// The order in which to take the entries; empty if it is that of the
    /// batch.
    order: Vec<u32>,
    /// Entries of the next chunk that were read together with this one.
    ahead: RowBatch,
}

/// Whether a directory has more entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum More {
    /// There are no more entries.
    No,
    /// There may be more entries.
    Yes,
    /// Reading failed.
    Failed(SysError),
}

impl Entries {
    /// Reads the next chunk of a directory.
    pub(crate) fn read(&mut self, dir: BorrowedFd<'_>, buffer: &mut ReadBuffer) -> More {
        let _span = Operation::ReadDirectory.span();
        std::mem::swap(&mut self.batch, &mut self.ahead);
        forget(&mut self.ahead);
        self.order.clear();
        let more = self.fill(dir, buffer);
        self.batch.len = self.batch.ino.len();
        if self.batch.len > SORTED_FROM && is_worth_sorting(dir) {
            self.order.extend(0..self.batch.len as u32);
            let inodes = &self.batch.ino;
            self.order
                .sort_by_key(|at| inodes.get(*at as usize).copied());
        }
        more
    }

    fn fill(&mut self, dir: BorrowedFd<'_>, buffer: &mut ReadBuffer) -> More {
        let mut reader = buffer.read(dir);
        // Entries in the buffer would be lost with the reader.
        while self.batch.ino.len() < CHUNK_ENTRIES || !reader.is_buffer_empty() {
            match reader.next() {
                None if self.ahead.ino.is_empty() => return More::No,
                // The next call reaches the end again.
                None => return More::Yes,
                Some(Err(error)) if error.errno == Errno::INTR => {}
                // A directory that was removed has no entries: readdir(3).
                Some(Err(error)) if error.errno == Errno::NOENT => return More::No,
                Some(Err(_)) if !self.ahead.ino.is_empty() => return More::Yes,
                Some(Err(error)) => return More::Failed(error),
                Some(Ok(entry)) if entry.is_dot() => {}
                Some(Ok(entry)) => {
                    let batch = match self.batch.ino.len() < CHUNK_ENTRIES {
                        true => &mut self.batch,
                        false => &mut self.ahead,
                    };
                    batch.name.push(entry.name().to_bytes());
                    batch.ino.push(entry.ino());
                    batch.mode.push(entry.type_bits().unwrap_or(0));
                }
            }
        }
        More::Yes
    }

    /// Takes the entries that were read ahead, for [`Entries::go_on_with`].
    pub(crate) fn take_ahead(&mut self) -> RowBatch {
        std::mem::take(&mut self.ahead)
    }

    /// Sets the entries that the next chunk begins with; none at the beginning
    /// of a directory.
    pub(crate) fn go_on_with(&mut self, ahead: RowBatch) {
        self.ahead = ahead;
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.batch.len
    }

    /// Returns the entry at this position, with the facts that the directory
    /// reports.
    pub(crate) fn row(&self, position: usize) -> Row<'_> {
        let at = self.order.get(position).map_or(position, |at| *at as usize);
        Row {
            batch: &self.batch,
            at,
            dir: b"",
        }
    }
}

fn forget(batch: &mut RowBatch) {
    batch.name.clear();
    batch.ino.clear();
    batch.mode.clear();
    batch.len = 0;
}

fn is_worth_sorting(dir: BorrowedFd<'_>) -> bool {
    let file_system = filesystem::of_fd(dir);
    file_system.is_ok_and(|found| !UNSORTED.contains(&found.magic))
}
