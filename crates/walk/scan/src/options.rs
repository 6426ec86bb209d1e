//! Options of a walk.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use trawl_model::KnownListings;
use trawl_sys::filesystem::magic;

use crate::excludes::Excludes;

/// Treatment of file systems mounted below the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mounts {
    /// Records the mount point's directory, as `find -xdev` does, and does not enter it.
    #[default]
    Stay,
    /// Enters it like any directory.
    Cross,
}

/// Whether extended attributes are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Xattrs {
    /// Yes: names and values of every entry.
    #[default]
    Read,
    /// No, except each directory's own access ACL, which is needed to decide who may see its
    /// content.
    Skip,
}

/// Default of [`WalkOptions::fragment_bytes`].
pub const FRAGMENT_BYTES: usize = 16 << 20;

/// The options of a walk.
#[derive(Debug)]
pub struct WalkOptions<'a> {
    /// Number of reading threads. With 1, everything runs on the caller's thread. 0 means the
    /// number of cores, at most 8. Fewer threads are used if there are too few descriptors.
    pub threads: usize,
    /// Treatment of mount points below the root.
    pub mounts: Mounts,
    /// Names and paths to exclude.
    pub excludes: Excludes,
    /// Whether extended attributes are read.
    pub xattrs: Xattrs,
    /// Knowledge about the tree from before. Extended attributes of a directory's entries are not
    /// read again if it knows the directory and [`trusts_ctime`] holds for its file system.
    pub known: Option<&'a dyn KnownListings>,
    /// Flag that ends the walk soon after it becomes true.
    pub cancel: &'a AtomicBool,
    /// Maximum number of open directories in all threads together. 0 means half of the process's
    /// limit, at most 1,024. Each thread uses at least 6; if there are fewer, the number of threads
    /// is reduced.
    pub descriptors: usize,
    /// Maximum bytes in memory, in all threads together, of the names of directories still to be
    /// read. Names beyond that are written to an unnamed temporary file.
    pub pending_bytes: usize,
    /// Directory of the temporary file.
    pub temporary: PathBuf,
    /// Bytes of names, link targets and extended attributes at which a batch ends; the next batch
    /// continues the directory.
    pub fragment_bytes: usize,
    /// Bytes of a batch at which the remaining extended attributes are left out, with an issue. A batch
    /// ends at [`WalkOptions::fragment_bytes`], so only an entry with very many attributes gets there.
    pub entry_bytes: usize,
}

/// Returns true for types of file systems (statfs(2)) that update an inode's ctime whenever one of
/// its attributes changes, and that are not layered on others: ext2 to ext4, XFS, Btrfs. Returns
/// false for network file systems, FUSE and overlays, whose times come from elsewhere, and for file
/// systems that have kept the ctime when an attribute was set (tmpfs before Linux 6.2).
pub fn trusts_ctime(number: u64) -> bool {
    matches!(number, magic::EXT | magic::XFS | magic::BTRFS)
}

impl<'a> WalkOptions<'a> {
    /// Returns the default options with a flag that ends the walk.
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
            fragment_bytes: FRAGMENT_BYTES,
            entry_bytes: 1 << 30,
        }
    }

    /// Returns the number of threads (by default one for each core, at most eight, and no more than
    /// the descriptors allow) and the descriptors for each.
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

/// Minimum number of descriptors that a thread needs: the directory being read, the previous one,
/// the parent directory, and further ones for reopening a directory.
const DESCRIPTORS_MIN: usize = 6;

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get().min(8))
}

/// Resources of a walk.
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
