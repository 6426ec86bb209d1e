//! Choice of a change source for a tree: marks on its file system for the superuser, marks on its
//! directories for other users, polling where neither reports every change.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trawl_live::{
    ChangeSource, Crossing, Directories, Fanotify, FileSystemId, LiveError, Mounted, Polling,
    QueueSize, Searched,
};
use trawl_serve::{Level, Opened};

use crate::watch::journal::Journal;
use trawl_session::now;

/// Settings for watching a tree.
#[derive(Clone, Debug)]
pub(crate) struct How {
    /// Root of the tree.
    pub(crate) root: PathBuf,
    /// Whether to poll, even if another source could report more.
    pub(crate) is_polled: bool,
    /// Interval of polling.
    pub(crate) interval: Duration,
    /// Whether file systems mounted below belong to the tree.
    pub(crate) crossing: Crossing,
    /// Paths below which changes are not reported.
    pub(crate) without: Vec<Vec<u8>>,
    /// Log for a fallback to another source.
    pub(crate) journal: Journal,
}

/// A change source, and whether it continues with the queue of a previous daemon.
pub(crate) struct Chosen {
    pub(crate) opened: Opened,
    pub(crate) is_taken_over: bool,
}

impl How {
    /// Opens the source that fits; `queue` is the queue that a previous daemon had open.
    ///
    /// # Errors
    /// Fails if no source can watch the tree.
    pub(crate) fn open(&self, queue: Option<OwnedFd>) -> Result<Chosen, LiveError> {
        if self.is_polled {
            return self.poll();
        }
        let marked = match self.mark(queue) {
            Err(LiveError::Privilege { .. }) => self.mark_directories(),
            other => other,
        };
        match marked {
            Err(error @ (LiveError::Unwatchable { .. } | LiveError::TooManyMarks { .. })) => {
                let every = self.interval.as_secs_f32();
                let text = format!("{error}; looking at its directories every {every} s instead");
                self.journal.say(Level::Warning, &text);
                self.poll()
            }
            other => other,
        }
    }

    fn mark(&self, queue: Option<OwnedFd>) -> Result<Chosen, LiveError> {
        let over = queue.map(|queue| Fanotify::take_over(&self.root, queue));
        // A kept queue may not fit the present file system; then a new one is opened.
        let over = over.and_then(|over| over.ok().flatten());
        let is_taken_over = over.is_some();
        let source = match over {
            Some(source) => source,
            None => Fanotify::open(&self.root, QueueSize::Unlimited)?,
        };
        let queue = source.as_fd().try_clone_to_owned().ok();
        let file_system = source.file_system();
        let source = self.with_mounts(source)?;
        let source = match is_taken_over {
            true => source.with_all_due(),
            false => source,
        };
        Ok(Chosen {
            opened: self.opened(source, Some(file_system), queue),
            is_taken_over,
        })
    }

    fn mark_directories(&self) -> Result<Chosen, LiveError> {
        let source = Directories::open(&self.root)?;
        let file_system = source.file_system();
        Ok(Chosen {
            opened: self.opened(self.with_mounts(source)?, Some(file_system), None),
            is_taken_over: false,
        })
    }

    fn poll(&self) -> Result<Chosen, LiveError> {
        let source = Polling::open(&self.root, self.interval, now)?;
        Ok(Chosen {
            opened: self.opened(self.with_mounts(source)?, None, None),
            is_taken_over: false,
        })
    }

    fn with_mounts<S: ChangeSource>(&self, source: S) -> Result<Mounted<S>, LiveError> {
        let source = Mounted::new(source, &self.root, self.crossing)?;
        Ok(source.without(self.without.clone()))
    }

    fn opened(
        &self,
        source: impl ChangeSource + Send + 'static,
        file_system: Option<FileSystemId>,
        queue: Option<OwnedFd>,
    ) -> Opened {
        let device = device_and_inode(&self.root);
        let searched = file_system.map(|file_system| Searched {
            file_system,
            device: device.0,
        });
        let id = file_system.unwrap_or_default().0;
        let id = u64::from_be_bytes(id);
        Opened {
            mounts: source.mounts(),
            source: Box::new(source),
            searched: searched.into_iter().collect(),
            identity: format!("{id:016x} {:x}:{:x}", device.0, device.1),
            queue,
        }
    }
}

/// Returns the device and inode of the root, or zeroes if it has disappeared: the source notices
/// that itself.
fn device_and_inode(root: &Path) -> (u64, u64) {
    root.metadata()
        .map_or((0, 0), |found| (found.dev(), found.ino()))
}
