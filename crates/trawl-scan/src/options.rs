//! What a walk may be told.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use trawl_model::KnownListings;
use trawl_sys::filesystem::magic;

use crate::excludes::Excludes;

/// What to do where another file system is mounted below the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mounts {
    /// Record the mount point's directory as `find -xdev` prints it, and don't enter it.
    #[default]
    Stay,
    /// Enter it like any directory.
    Cross,
}

/// Whether extended attributes are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Xattrs {
    /// Names and values of every entry.
    #[default]
    Read,
    /// None but each directory's own access ACL, which decides who may see what is below it.
    Skip,
}

/// How to walk.
#[derive(Debug)]
pub struct WalkOptions<'a> {
    /// Reading threads; with 1 everything runs on the caller's. 0 means as many as is sensible
    /// on this machine (see [`WalkOptions::threads`]).
    pub threads: usize,
    /// Mount points below the root.
    pub mounts: Mounts,
    /// Names and paths to leave out.
    pub excludes: Excludes,
    /// Extended attributes.
    pub xattrs: Xattrs,
    /// What is known of the tree: extended attributes of a directory's entries are not read again
    /// where this knows the directory and [`trusts_ctime`] its file system.
    pub known: Option<&'a dyn KnownListings>,
    /// Ends the walk soon after it becomes true.
    pub cancel: &'a AtomicBool,
    /// Open directories at any time, over all threads. 0 means half of the process's limit, at
    /// most 1,024. No fewer than 6 a thread are used; threads are given up before that.
    pub descriptors: usize,
    /// Bytes of names of directories still to be read that are kept in memory, over all threads;
    /// what is beyond goes to an unnamed temporary file.
    pub pending_bytes: usize,
    /// Where that file is made.
    pub temporary: PathBuf,
}

/// True for file systems of this type (statfs(2)) that set an inode's time of change whenever one
/// of its attributes changes, and lie under no others: ext2 to ext4, XFS, Btrfs. Not for network
/// file systems, FUSE and overlays, whose times are somebody else's word, nor for those that have
/// kept the time when an attribute was set (tmpfs before Linux 6.2).
pub fn trusts_ctime(number: u64) -> bool {
    matches!(number, magic::EXT | magic::XFS | magic::BTRFS)
}

impl<'a> WalkOptions<'a> {
    /// The defaults, with a flag that ends the walk.
    #[must_use]
    pub fn new(cancel: &'a AtomicBool) -> Self {
        WalkOptions {
            threads: 0,
            mounts: Mounts::default(),
            excludes: Excludes::default(),
            xattrs: Xattrs::default(),
            known: None,
            cancel,
            descriptors: 0,
            pending_bytes: 32 << 20,
            temporary: std::env::temp_dir(),
        }
    }

    /// Descriptors and threads to use: a thread for each core but one at most eight, as many as
    /// the descriptors allow.
    pub(crate) fn resources(&self) -> Resources {
        let limit = usize::try_from(trawl_sys::process::descriptor_limit()).unwrap_or(usize::MAX);
        let descriptors = if self.descriptors == 0 {
            (limit / 2).min(1024)
        } else {
            self.descriptors
        };
        let wanted = if self.threads == 0 {
            default_threads()
        } else {
            self.threads
        };
        let threads = wanted.clamp(1, (descriptors / DESCRIPTORS_MIN).max(1));
        Resources {
            threads,
            descriptors_each: (descriptors / threads).max(DESCRIPTORS_MIN),
        }
    }
}

/// The fewest descriptors that a thread can work with: the directory it reads, the one before,
/// the one that holds it, and two to find one again.
const DESCRIPTORS_MIN: usize = 6;

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get().min(8))
}

/// What a walk has to work with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resources {
    pub(crate) threads: usize,
    pub(crate) descriptors_each: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_give_way_to_descriptors() {
        let cancel = AtomicBool::new(false);
        let mut options = WalkOptions::new(&cancel);
        options.threads = 8;
        options.descriptors = 16;
        assert_eq!(
            options.resources(),
            Resources {
                threads: 2,
                descriptors_each: 8
            }
        );
        options.descriptors = 1;
        assert_eq!(
            options.resources(),
            Resources {
                threads: 1,
                descriptors_each: 6
            }
        );
    }
}
