//! Implements the writer's lock on a source.
//!
//! The lock is an exclusive flock(2) on the source's `lock` file. The kernel releases it when the
//! process ends, however it ends. While a writer runs, the file contains its process id. If the
//! file is not empty when the lock is taken, the last writer was killed.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trawl_format::error::{IndexError, Result};
use trawl_format::layout;
use trawl_format::store::Dir;

/// The lock on a source; dropping it releases it.
#[derive(Debug)]
pub(crate) struct SourceLock {
    file: File,
    path: PathBuf,
    /// True if the last holder did not finish its work.
    pub(crate) was_interrupted: bool,
}

/// The lock as held by a snapshot's writer.
#[derive(Debug)]
pub(crate) enum Held {
    /// Taken by the writer itself.
    Own(SourceLock),
    /// Lent by a writer of generations, which keeps writing the source afterwards.
    Lent {
        /// The lock; its file stays signed.
        lock: Arc<SourceLock>,
        /// True if the leftovers of the last holder may not have been removed yet.
        was_interrupted: bool,
    },
}

impl Held {
    /// True if the last holder did not finish its work.
    pub(crate) fn was_interrupted(&self) -> bool {
        match self {
            Held::Own(lock) => lock.was_interrupted,
            Held::Lent {
                was_interrupted, ..
            } => *was_interrupted,
        }
    }

    /// Records that the snapshot is complete or removed.
    pub(crate) fn clear(&self) -> Result<()> {
        match self {
            Held::Own(lock) => lock.clear(),
            Held::Lent { lock, .. } => lock.sign(),
        }
    }
}

impl SourceLock {
    /// Takes the lock of the source in `dir` without waiting.
    ///
    /// # Errors
    /// [`IndexError::Busy`] if another process holds it.
    pub(crate) fn take(dir: &Dir) -> Result<SourceLock> {
        let path = dir.join(layout::LOCK_FILE);
        let mut file = dir.open_lock(layout::LOCK_FILE)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(IndexError::Busy {
                    pid: read_pid(&mut file),
                    path,
                });
            }
            Err(error) => return Err(IndexError::io("lock", path, error)),
        }
        let meta = file
            .metadata()
            .map_err(|error| IndexError::io("stat", &path, error))?;
        if meta.nlink() == 0 {
            // The source was removed after the file was opened and before it was locked.
            return Err(IndexError::Busy { path, pid: None });
        }
        Ok(SourceLock {
            was_interrupted: meta.size() > 0,
            file,
            path,
        })
    }

    /// Writes our process id to the lock file.
    pub(crate) fn sign(&self) -> Result<()> {
        self.replace(&format!("{}\n", std::process::id()))
    }

    /// Empties the lock file, since the work is finished or undone.
    pub(crate) fn clear(&self) -> Result<()> {
        self.replace("")
    }

    fn replace(&self, text: &str) -> Result<()> {
        let mut file = &self.file;
        let written = file.set_len(0).and_then(|()| {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(text.as_bytes())
        });
        written.map_err(|error| IndexError::io("write", Path::new(&self.path), error))
    }
}

impl Drop for SourceLock {
    /// Unlocks explicitly, since a child that was just forked may hold a copy of the descriptor for
    /// a moment.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim_end().parse().ok()
}
