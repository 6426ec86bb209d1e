//! Opens the change source of a tree and hands it to an engine. `trawl-changes` has the table of
//! sources and when each is chosen.

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trawl_barrier::Opened;
use trawl_changes::{Crossing, LiveError, Searched, Tree, Watched, Wish};
use trawl_model::Timestamp;

use crate::notice::{Log, Notice};

/// Settings for watching a tree.
#[derive(Clone)]
pub(crate) struct How {
    /// Root of the tree.
    pub(crate) root: PathBuf,
    /// The kind of change source that the user wants.
    pub(crate) wish: Wish,
    /// Interval of polling.
    pub(crate) interval: Duration,
    /// Whether file systems mounted below belong to the tree.
    pub(crate) crossing: Crossing,
    /// Paths below which changes are not reported.
    pub(crate) without: Vec<Vec<u8>>,
    /// Returns the current time.
    pub(crate) clock: fn() -> Timestamp,
    /// Log for a fallback to another source.
    pub(crate) log: Log,
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
        let tree = Tree {
            root: &self.root,
            wish: self.wish,
            interval: self.interval,
            crossing: self.crossing,
            without: &self.without,
            clock: self.clock,
        };
        let Watched { begun, .. } = trawl_changes::open(&tree, queue, &mut |why, instead| {
            (self.log)(&Notice::Instead {
                why: why.to_string(),
                instead: instead.to_owned(),
            });
        })?;
        let device = device_and_inode(&self.root);
        let searched = begun.file_system.map(|file_system| Searched {
            file_system,
            device: device.0,
        });
        let id = u64::from_be_bytes(begun.file_system.unwrap_or_default().0);
        Ok(Chosen {
            opened: Opened {
                mounts: begun.source.mounts(),
                source: begun.source,
                searched: searched.into_iter().collect(),
                identity: format!("{id:016x} {:x}:{:x}", device.0, device.1),
                queue: begun.queue,
            },
            is_taken_over: begun.is_taken_over,
        })
    }
}

/// Returns the device and inode of the root, or zeroes if it has disappeared: the source notices
/// that itself.
fn device_and_inode(root: &Path) -> (u64, u64) {
    root.metadata()
        .map_or((0, 0), |found| (found.dev(), found.ino()))
}
